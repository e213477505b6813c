"""Training that is stopped anywhere resumes, and ends as if it had not been stopped."""

import itertools
import multiprocessing
import os
import pickle
import random
import signal
import time

import pytest
import torch
from conftest import tiny_net
from test_training import CPU, LOSS, same, toy_data, weights
from torch import nn
from torch.utils.data import DataLoader

from d2lmini import training
from d2lmini.speed.checkpoints import Checkpoint, read_whole, write_whole
from d2lmini.speed.training import train

# The parent has imported PyTorch, and a child that begins at once can be killed at once.
FORK = multiprocessing.get_context("fork")


def run(
    path=None, every=1, loss=LOSS, num_epochs=3, seed=0, change=None, prepare=None,
    dropout=0.3, **settings,
):  # fmt: skip
    """Train with dropout and random order; return the net and the history."""
    torch.manual_seed(seed)
    net = tiny_net(10, 10, dropout=dropout)
    data = toy_data(batch_size=2)
    if change is not None:
        data = change([*data])
    if prepare is not None:
        prepare(net, data)
    checkpoint = None if path is None else Checkpoint(path, every)
    settings = {"warmup_steps": 4, "val_batches": data, "keep_best": True} | settings
    if settings["val_batches"] is None:
        settings["keep_best"] = False
    how = loss, 0.01, num_epochs, CPU
    return net, train(net, data, *how, checkpoint=checkpoint, **settings)


class Stopped(Exception):
    """What a stop raises in these tests."""


def stop_before(step):
    """A loss that stops the training before its nth step."""
    left = itertools.count(step - 1, -1)

    def loss(net, batch):
        if net.training and next(left) == 0:
            raise Stopped
        return LOSS(net, batch)

    return loss


@pytest.mark.parametrize("every", [None, 1, 2])
@pytest.mark.parametrize("step", range(1, 10))
def test_a_training_that_was_stopped_ends_as_one_that_was_not(tmp_path, step, every):
    whole, rows = run()
    with pytest.raises(Stopped):
        run(tmp_path / "run.pt", every, stop_before(step))
    resumed, again = run(tmp_path / "run.pt", every)
    assert same(weights(whole), weights(resumed))
    for name in ("loss", "val_loss"):
        assert again[name].tolist() == rows[name].tolist()
    assert os.listdir(tmp_path) == ["run.pt"]


def test_a_training_that_has_ended_is_not_done_again(tmp_path):
    first, rows = run(tmp_path / "run.pt")
    again, same_rows = run(tmp_path / "run.pt", loss=stop_before(1))
    assert same(weights(first), weights(again)) and len(same_rows) == len(rows) == 3
    longer, more = run(tmp_path / "run.pt", num_epochs=4)
    assert len(more) == 4 and same(weights(longer), weights(run(num_epochs=4)[0]))


def test_what_is_not_finite_is_not_kept(tmp_path):
    def explodes(net, batch):
        mean, count = LOSS(net, batch)
        if not net.training:
            return mean, count
        return mean * (float("nan") if explodes.left.__next__() < 0 else 1.0), count

    explodes.left = itertools.count(4, -1)
    with pytest.warns(RuntimeWarning, match="training stopped"):
        run(tmp_path / "run.pt", loss=explodes, val_batches=None)
    kept = read_whole(tmp_path / "run.pt")
    assert all(p.isfinite().all() for p in kept["net"].values())


def finish(path, begun):
    """In a process of its own: train, and leave the weights in a file."""
    torch.set_num_threads(1)
    begun.set()
    net, _ = run(path, num_epochs=6)
    write_whole({"weights": net.state_dict()}, path.with_suffix(".end"))
    os._exit(0)


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_a_checkpoint_that_goes_on(tmp_path):
    """SIGKILL at twenty moments, many of them during a write."""
    torch.set_num_threads(1)
    start = time.monotonic()
    whole, _ = run(tmp_path / "unused.pt", num_epochs=6)
    seconds = time.monotonic() - start
    moments, path = random.Random(0), tmp_path / "run.pt"
    for _ in range(20):
        begun = FORK.Event()
        child = FORK.Process(target=finish, args=(path, begun))
        child.start()
        begun.wait()
        time.sleep(moments.uniform(0, seconds / 4))
        child.kill()
        child.join()
        assert child.exitcode in (-signal.SIGKILL, 0)
        if path.exists():
            read_whole(path)
        if moments.random() < 0.2:  # sometimes from the beginning
            path.unlink(missing_ok=True)
    child = FORK.Process(target=finish, args=(path, FORK.Event()))
    child.start()
    child.join()
    ended = torch.load(path.with_suffix(".end"), weights_only=True)["weights"]
    assert same(weights(whole), ended)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match=r"path \(.*/none/run.pt\) could not be written"):
        run(tmp_path / "none" / "run.pt")
    assert os.listdir(tmp_path) == []


def test_a_file_that_was_cut_short_is_refused_and_left_as_it_was(tmp_path):
    path = tmp_path / "run.pt"
    run(path)
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"path .*run.pt\) .*(truncated|damaged)"):
            run(path)
        assert path.read_bytes() == whole[:length]


class Program:
    """An object that runs a program when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("hacked",)


REFUSED = {
    "of another version": ({"version": 1}, r"has version 1; this d2lmini reads 4"),
    "no checkpoint": ({"format": "photo"}, r"must be a checkpoint of d2lmini"),
    "of another learning rate": ({"settings": {"lr": 0.5, "warmup_steps": 4}},
        r"its lr \(0.5 there, 0.01 here\)"),
    "of another net": ({"net": {}}, r"is from another network: its .* has the shape None"),
    "with an object": ({"steps": [Program()]}, r"holds more than numbers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_another_file_is_refused_and_left_as_it_was(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, (changes, said) = tmp_path / "run.pt", REFUSED[kind]
    run(path)
    torch.save(torch.load(path, weights_only=True) | changes, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=said):
        run(path)
    assert path.read_bytes() == before and not os.path.exists("hacked")


def twice_the_loss(net, batch):
    mean, count = LOSS(net, batch)
    return 2 * mean, count


def other_targets(data):
    """The batches with one token changed in the second sentence of each."""
    for batch in data:
        batch[2][1, 0] = 3
    return data


ANOTHER_RUN = {
    "another seed": ({"seed": 1}, r"its random numbers \("),
    "other weights": ({"prepare": lambda net, _: nn.init.zeros_(next(net.parameters()))},
        r"its starting weights \("),
    "another order": ({"prepare": lambda *_: torch.rand(1)}, r"its random numbers \("),
    "another dropout": ({"dropout": 0.2}, r"its network \("),
    "a frozen layer": ({"prepare": lambda net, _: net.encoder.requires_grad_(False)},
        r"its network \("),
    "other data, later": ({"prepare": lambda _, data: data.dataset.tensors[0][-1].fill_(3)},
        r"its batches \("),
    "other data to validate": ({"val_batches": toy_data(batch_size=1)},
        r"its validation batches \("),
    "other data": ({"change": other_targets}, r"its batches \("),
    "another last batch": ({"change": lambda data: [*data[:-1], data[0]]}, r"its batches \("),
    "fewer batches": ({"change": lambda data: data[:-1]}, r"its batches \("),
    "another loss": ({"loss": twice_the_loss}, r"its loss of the first batch \("),
    "fewer epochs": ({"num_epochs": 2}, r"num_epochs \(2\) must be at least 3"),
    "no validation": ({"val_batches": None}, r"its validation \(True there, False here\)"),
    "the last epoch kept": ({"keep_best": False}, r"its keep_best \("),
}  # fmt: skip


@pytest.mark.parametrize("what", ANOTHER_RUN)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, what):
    changes, said = ANOTHER_RUN[what]
    # A list has one order; what is shuffled has another first batch.
    run(tmp_path / "run.pt", change=list if "change" in changes else None)
    before = (tmp_path / "run.pt").read_bytes()
    with pytest.raises(ValueError, match=said):
        run(tmp_path / "run.pt", **changes)
    assert (tmp_path / "run.pt").read_bytes() == before


def test_a_generator_of_the_data_is_not_drawn_from(tmp_path):
    """Saved or not, a training on data with a generator of its own sees the same batches."""

    def trained(path):
        torch.manual_seed(0)
        net, source = tiny_net(10, 10), torch.Generator().manual_seed(1)
        whole = toy_data(batch_size=2).dataset
        data = DataLoader(whole, 2, shuffle=True, generator=source)
        checkpoint = None if path is None else Checkpoint(path)
        train(net, data, LOSS, 0.01, 2, CPU, checkpoint=checkpoint)
        return weights(net)

    assert same(trained(None), trained(tmp_path / "run.pt"))


class Stream:
    """Batches of unknown number."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def test_a_stream_that_has_become_shorter_is_refused(tmp_path):
    with pytest.raises(Stopped):
        run(tmp_path / "run.pt", loss=stop_before(3), change=Stream)
    with pytest.raises(ValueError, match=r"batches \(1\) must be at least 2"):
        run(tmp_path / "run.pt", change=lambda data: Stream(data[:1]))


def test_a_training_that_is_taken_up_says_where(tmp_path, capsys):
    run(tmp_path / "run.pt")
    assert "taken up" not in capsys.readouterr().err
    run(tmp_path / "run.pt")
    assert "run.pt: taken up after epoch 3 of 3\n" in capsys.readouterr().err
    with pytest.raises(Stopped):
        run(tmp_path / "two.pt", loss=stop_before(6))
    run(tmp_path / "two.pt")
    assert "after epoch 1 of 3 and 2 more steps\n" in capsys.readouterr().err


def test_a_bare_pickle_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.pt").write_bytes(pickle.dumps(Program()))
    with pytest.raises(ValueError, match="truncated, or something else"):
        run(tmp_path / "run.pt")
    assert os.listdir(tmp_path) == ["run.pt"]
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "none.pt")


def test_one_process_trains_as_the_chapters_train_does():
    """Bit for bit: the same weights, the same losses, the best epoch kept."""
    resumable, rows = run()
    torch.manual_seed(0)
    net, data = tiny_net(10, 10, dropout=0.3), toy_data(batch_size=2)
    settings = {"warmup_steps": 4, "val_batches": data, "keep_best": True}
    plain = training.train(net, data, LOSS, 0.01, 3, CPU, **settings)
    assert same(weights(resumable), weights(net))
    for name in ("loss", "val_loss"):
        assert plain[name].tolist() == rows[name].tolist()
