"""Shared by the benchmarks: the setting of source chapter S1, runs over seeds, the ledger."""

import ast
import datetime
import functools
import json
import platform
import statistics
import subprocess
import time
from pathlib import Path

import nbformat
import pandas as pd
import pooch
import sacrebleu
import torch

import d2lmini
from d2lmini import (
    EncoderDecoder,
    TransformerDecoder,
    TransformerEncoder,
    bleu,
    load_data_nmt,
    normalise,
    predict_seq2seq,
    read_pairs,
    train_seq2seq,
    try_gpu,
)
from d2lmini.data.catalogue import EMBEDDED, REGISTRY
from d2lmini.data.registry import columns_of, find_paths, splits_of
from d2lmini.support.eight_bits import to_bytes
from d2lmini.support.files import write_tensors
from d2lmini.support.ledger import RESULTS

ROOT = Path(__file__).parents[2]
SEEDS = range(5)
BATCH_SIZE, NUM_STEPS, LR = 64, 10, 0.005
SIZES, DROPOUT = (32, 64, 4), 0.1  # width, feed-forward width, heads
# The constants of each experiment, recorded in the ledger next to the settings
RECIPE = {
    "batch_size": BATCH_SIZE,
    "num_steps": NUM_STEPS,
    "lr": LR,
    "sizes": [*SIZES],
    "dropout": DROPOUT,
}
WITHOUT_DATA = {
    "attention-cost",
    "changed",
    "copying",
    "deep-nets",
    "induction",
    "longer",
    "facts",
    "head-sizes",
    "mistakes",
    "padding",
    "parts",
    "pictures",
    "rates",
    "rates-shared",
    "readers",
    "recall",
    "reversing",
    "root",
    "root-slow",
    "tiny",
}  # random numbers only
S1_SENTENCES = {
    "go .": "va !",
    "i lost .": "j'ai perdu .",
    "he's calm .": "il est calme .",
    "i'm home .": "je suis chez moi .",
}


def from_chapter(chapter, *names):
    """Run a chapter's imports and the cells that define these names; return all they define."""
    notebook = nbformat.read(ROOT / "book" / f"{chapter.file}.ipynb", as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    scope = {}
    for source in sources[1:]:  # the first installs the package
        body = ast.parse(source).body
        defined = {getattr(node, "name", None) for node in body}
        assigned = [node.targets[0] for node in body if isinstance(node, ast.Assign)]
        defined |= {getattr(target, "id", None) for target in assigned}
        if defined & {*names} or source == sources[1]:
            exec(source, scope)
    if missing := {*names} - {*scope}:
        raise LookupError(f"{chapter.file} does not define {sorted(missing)}")
    return scope


def make_net(src_vocab, tgt_vocab, num_layers=2, num_heads=SIZES[2]):
    """Create the translator of chapter 9."""
    sizes = *SIZES[:2], num_heads, num_layers, DROPOUT
    encoder = TransformerEncoder(len(src_vocab), *sizes)
    decoder = TransformerDecoder(len(tgt_vocab), *sizes)
    return EncoderDecoder(encoder, decoder)


def held_out_bleu(net, vocabs, pairs):
    """Compute sacreBLEU on held-out pairs of eng-fra-mini, with the tokens of the book.

    Returns: the score, its signature, and the translations.
    """
    device = next(net.parameters()).device
    # more than the longest sentence; padding changes nothing
    num_steps = 2 * NUM_STEPS
    predictions = [
        predict_seq2seq(net, e, *vocabs, num_steps, device)[0] for e, _ in pairs
    ]
    references = [normalise(french) for _, french in pairs]
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    score = metric.corpus_score(predictions, [references]).score
    return score, str(metric.get_signature()), predictions


def share_right(net, vocabs, pairs):
    """Share of pairs whose translation by greedy search is the reference, word for word."""
    device, num_steps = next(net.parameters()).device, 2 * NUM_STEPS
    right = [
        predict_seq2seq(net, source, *vocabs, num_steps, device)[0] == normalise(target)
        for source, target in pairs
    ]
    return sum(right) / len(right)


def s1_bleu(net, vocabs):
    """Mean BLEU (k = 2) of the four sentences of the source chapter."""
    device = next(net.parameters()).device
    translations = [
        predict_seq2seq(net, e, *vocabs, NUM_STEPS, device)[0] for e in S1_SENTENCES
    ]
    scores = [
        bleu(t, f, 2) for t, f in zip(translations, S1_SENTENCES.values(), strict=True)
    ]
    return statistics.mean(scores), translations


def run(
    seed,
    num_epochs,
    name="eng-fra-mini",
    num_examples=None,
    num_layers=2,
    split="test",
    **training,
):
    """Train once; return the results as a dict for the ledger."""
    torch.manual_seed(seed)
    data = BATCH_SIZE, NUM_STEPS, num_examples, name
    train_iter, *vocabs = load_data_nmt(*data)
    net = make_net(*vocabs, num_layers)
    start = time.perf_counter()
    history = train_seq2seq(
        net, train_iter, LR, num_epochs, vocabs[1], try_gpu(), **training
    )
    seconds = time.perf_counter() - start
    scores = {"seed": seed, "seconds": seconds, "loss": history.loss.iloc[-1]}
    scores["losses"] = [round(loss, 4) for loss in history.loss]
    scores["tokens_per_sec"] = history.tokens_per_sec.median()
    scores["s1_bleu"], scores["s1_translations"] = s1_bleu(net, vocabs)
    if name == "eng-fra-mini":
        found = held_out_bleu(net, vocabs, read_pairs(split=split))
        scores["bleu"], scores["signature"], scores["translations"] = found
        if split == "test":
            new = read_pairs(split="compositional")
            long = [
                pair for pair in new if len(normalise(pair[0]).split()) >= NUM_STEPS - 1
            ]
            pairs = [pair for pair in new if pair not in long]
            for key, some in (("pair", pairs), ("long", long)):
                found = held_out_bleu(net, vocabs, some)
                scores[f"bleu_{key}"], _, scores[f"translations_{key}"] = found
    return scores


def summary(settings, runs):
    """For each setting, the number of runs, and "mean ± sd" of each of their numbers."""
    rows = []
    for setting in settings:
        mine = [run for run in runs if run["setting"] == setting]
        # nested numbers as part.name
        found = pd.json_normalize(mine).select_dtypes("number")
        row = {"runs": len(found)}
        for key in found.columns if len(found) > 1 else ():
            if key != "seed" and not key.startswith("setting."):
                row[key] = mean_sd(found[key].tolist())
        rows.append(row)
    return rows


def mean_sd(values):
    """Format a list of numbers as 'mean ± standard deviation'."""
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def record(name, settings, run, seeds=SEEDS, recipe=None):
    """Write one entry of the ledger: run(seed, **setting) for each setting and seed.

    The file is written after each run, to results/unfinished until the last one. Existing runs by
    the same recipe are kept, so that a new setting costs only its own runs.

    Args:
        recipe: the constants of all settings, as a dict.
    """
    path, part = RESULTS / f"{name}.json", RESULTS / "unfinished" / f"{name}.json"
    part.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not part.exists():
        path.replace(part)
    done = json.loads(part.read_text(encoding="utf-8")) if part.exists() else {}
    is_same = done.get("recipe") == (recipe or {})
    runs = [r for r in done.get("runs", []) if is_same and r["setting"] in settings]
    have = [(r["setting"], r["seed"]) for r in runs]
    # The commit of the loaded code, even if the files change during the runs.
    now, data = commit(), {} if name in WITHOUT_DATA else data_hashes(settings)
    for setting in settings:
        for seed in seeds:
            if (setting, seed) in have:
                continue
            start = time.perf_counter()
            result = run(seed, **setting)
            result = {"setting": setting, "seed": seed, "commit": now, **result}
            # to the millisecond: the digits after it would fill the wheel
            result.setdefault("seconds", round(time.perf_counter() - start, 3))
            runs.append(result)
            runs.sort(key=lambda r: (settings.index(r["setting"]), r["seed"]))
            entry = {
                "name": name,
                "date": datetime.date.today().isoformat(),
                "commit": now,
                "d2lmini": d2lmini.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
                "device": str(try_gpu()),
                "threads": torch.get_num_threads(),
                "data": data,
                "recipe": recipe or {},
                "setting": settings,
                "summary": summary(settings, runs),
                "runs": runs,
            }
            text = json.dumps(entry, indent=1, ensure_ascii=False)
            part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def up_and_down(optimizer, warmup_steps, steps):
    """A schedule whose learning rate rises for warmup_steps and falls to 0 at the last step."""
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup_steps, 1 - step / steps)
    )


def save_nets(name, nets, **notes):
    """Keep trained networks, 8 bits a weight, for a page that has no time to train them."""
    tensors = {}
    for net, state in nets.items():
        for parameter, weights in state.items():
            numbers, scale = to_bytes(weights.cpu())
            tensors[f"numbers/{net}/{parameter}"] = numbers.contiguous()
            tensors[f"scale/{net}/{parameter}"] = scale
    write_tensors(
        RESULTS / f"{name}.safetensors", tensors, {"commit": commit()} | notes
    )


def commit():
    """The current commit, with a + if there are uncommitted changes."""
    git = functools.partial(
        subprocess.run, cwd=RESULTS.parents[1], capture_output=True, text=True
    )
    head = git(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
    changed = git(
        ["git", "status", "--porcelain", "d2lmini", "benchmarks", ":!d2lmini/results"]
    ).stdout.strip()
    return head + "+" * bool(changed)


def data_hashes(settings):
    """The sha256 hashes of the files of each data set in the settings, by split.

    Simulated data have no files: the commit determines them.
    """
    hashes = {}
    names = {setting.get("name", "eng-fra-mini") for setting in settings}
    for name in names & {*EMBEDDED, *REGISTRY}:
        columns = columns_of(name)
        hashes[name] = {
            split: [
                pooch.file_hash(str(path)) for path in find_paths(name, split, columns)
            ]
            for split in splits_of(name, columns)
        }
    return hashes
