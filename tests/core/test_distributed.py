"""Several processes train as one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from torch.testing import assert_close

from d2lmini.speed.checkpoints import read_whole
from d2lmini.speed.distributed import Team

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def torchrun(size, *program, restarts=0, folder=None):
    """Run a program in size processes; return what they wrote to stderr."""
    several = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    several += [f"--nproc-per-node={size}", f"--max-restarts={restarts}"]
    paths = os.pathsep.join([str(HERE), str(HERE.parent), str(ROOT)])
    settings = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CI": "1"}
    settings |= {"GLOO_SOCKET_IFNAME": "lo", "D2LMINI_DEVICE": "cpu"}
    done = subprocess.run(
        [*(several if size > 1 else [sys.executable]), *map(str, program)],
        env=os.environ | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def run(size, folder, num_epochs, dropout=0.0, dies_at=0):
    """What each process left: weights, gradients, losses, rows of its steps, numbers drawn."""
    folder.mkdir()
    program = HERE / "distributed_program.py", folder, num_epochs, dropout, dies_at
    said = torchrun(size, *program, restarts=min(dies_at, 1))
    return [torch.load(folder / f"{rank}.pt") for rank in range(size)], said


@pytest.mark.parametrize("size", [2, 4])
def test_gradients_and_losses_are_those_of_one_process(tmp_path, size):
    """Each batch has rows of different length, and one has fewer rows than processes."""
    [(_, gradients, losses, *_)], _ = run(1, tmp_path / "one", 1)
    team, said = run(size, tmp_path / "team", 1)
    for weights, mine, my_losses, *_ in team:
        assert_close(my_losses, losses, rtol=1e-6, atol=1e-6)
        for name, gradient in gradients.items():
            assert_close(mine[name], gradient, rtol=0, atol=1e-6)
        for name, weight in team[0][0].items():
            assert torch.equal(weights[name], weight)
    rows = [sum(step) for step in zip(*(rows for *_, rows, _ in team), strict=True)]
    # A rank without rows runs the whole batch: 5 rows are shared out, and one runs on every rank.
    assert sorted(rows) == [size, 5]
    assert said.count("epoch 1: loss") == 1  # one of them reports


def test_processes_drop_different_units_and_stay_together(tmp_path):
    team, _ = run(2, tmp_path / "team", 3, dropout=0.3)
    for name, weight in team[0][0].items():
        assert torch.equal(team[1][0][name], weight)
    (mine, *_), (other, *_) = team[0][4], team[1][4]
    assert mine != other


def test_one_of_four_is_killed_and_all_go_on_from_the_checkpoint(tmp_path):
    """The last process is killed in its third epoch; torchrun starts all four again."""
    [(due, *_)], _ = run(1, tmp_path / "whole", 4)
    # Before its second batch: at the first, another may still write what epoch 2 left.
    team, _ = run(4, tmp_path / "team", 4, dies_at=6)
    for weights, _, losses, rows, _ in team:
        # two epochs of two batches were left
        assert len(losses) == 4 and len(rows) == 4
        for name, weight in due.items():
            assert_close(weights[name], weight, rtol=1e-4, atol=1e-4)


def test_the_program_of_chapter_13_runs_in_two_processes(tmp_path):
    chapter = ROOT / "book" / "making-it-fast.ipynb"
    text = "\n".join(c.source for c in nbformat.read(chapter, as_version=4).cells)
    (program,) = re.findall(r"```python\n(import functools\n.*?)```", text, flags=re.S)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    said = torchrun(2, "train.py", restarts=3, folder=tmp_path)
    (loss,) = re.findall(r"epoch 10: loss ([\d.]+)", said)  # one of them reports
    assert float(loss) < 2.5
    assert len(read_whole(tmp_path / "train.pt")["history"]) == 10


@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "LOCAL_RANK"])
def test_a_number_that_is_none_is_named(monkeypatch, name):
    monkeypatch.setenv(name, "two")
    with pytest.raises(ValueError, match=rf"{name} \('two'\) must be a whole number"):
        Team(torch.device("cpu"))


def test_a_rank_that_the_world_does_not_have_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "5")
    with pytest.raises(
        ValueError, match=r"RANK \(5\) must be less than WORLD_SIZE \(2\)"
    ):
        Team(torch.device("cpu"))
