"""Runs of chapter 16, how time and memory grow; and of the page "Making it fast"."""

import json
import os
import subprocess
import sys
import time
from unittest import mock

import torch
from torch import nn

from benchmarks.recipes.attention import keep_memory
from benchmarks.recipes.common import BATCH_SIZE, NUM_STEPS, make_net
from benchmarks.speed import make_large, own_loop, wait_for_device
from d2lmini import EncoderStack, load_data_nmt, try_gpu
from d2lmini.speed.attention import use_fast_layers
from d2lmini.transformer import DecoderCache, DecoderStack

SIZES = [2**n for n in range(7, 14)]
WIDTH, FFN, HEADS, LAYERS, PASSES, STEPS = 64, 128, 4, 1, 3, 300
# What varies, and what stays fixed meanwhile
FIXED = {
    "length": {"batch": 1, "vocabulary": 1000},
    "batch": {"length": 16, "vocabulary": 1000},
    "vocabulary": {"length": 16, "batch": 64},
}
KINDS = ("readable", "kernel")
EXPERIMENTS = {
    "growth": [
        *({"what": what, "kind": kind} for what in FIXED for kind in KINDS),
        {"what": "prefix", "kind": "readable"},
    ],
    "faster": [
        {"net": net, "kind": kind}
        for net in ("small", "large")
        for kind in ("readable", "compiled")
    ],
}
RECIPES = {
    "growth": FIXED | {"width": WIDTH, "heads": HEADS, "layers": LAYERS, "passes": PASSES},
    "faster": {"passes": PASSES},
}  # fmt: skip


class Classifier(nn.Module):
    """Map tokens to logits for each position, like a Transformer but without positions."""

    def __init__(self, vocab_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, WIDTH)
        self.stack = EncoderStack(WIDTH, FFN, HEADS, LAYERS, 0.0)
        self.output = nn.Linear(WIDTH, vocab_size)

    def forward(self, tokens):
        return self.output(self.stack(self.embedding(tokens)))


def pass_and_back(what, size, kind):
    """A function for one forward and backward pass, and nothing else."""
    sizes = FIXED[what] | {what: size}
    net = Classifier(sizes["vocabulary"]).to(try_gpu())
    if kind == "kernel":
        use_fast_layers(net)
    shape = sizes["batch"], sizes["length"]
    tokens = torch.randint(sizes["vocabulary"], shape, device=try_gpu())

    def step():
        net.zero_grad()
        net(tokens).logsumexp(dim=-1).mean().backward()

    return step


def seconds_of(function):
    """The shortest of PASSES calls, after a warm-up."""
    found = []
    for _ in range(PASSES + 1):
        start = time.perf_counter()
        function()
        wait_for_device()
        found.append(time.perf_counter() - start)
    return min(found[1:])


def one_size(what, size, kind):
    """Measure seconds and bytes in a separate process, which makes the memory measurable."""
    from benchmarks.recipes.memory import most_memory  # not on Windows

    torch.set_num_threads(1)
    pass_and_back(what, SIZES[0], kind)()  # the baseline of PyTorch itself
    step, before = pass_and_back(what, size, kind), most_memory()
    step()
    grown = most_memory() - before
    keep_memory()
    return {"seconds": seconds_of(step), "bytes": grown}


@torch.no_grad()
def one_prefix(num_steps):
    """Median seconds of a decoding step after this many others, and of its attention."""
    keep_memory()
    stack = DecoderStack(WIDTH, FFN, HEADS, LAYERS, 0.0).eval().to(try_gpu())
    (block,) = stack.blocks
    X, memory = torch.randn(1, 1, WIDTH), torch.randn(1, 16, WIDTH)
    past, X, memory = (
        array.to(try_gpu()) for array in (torch.randn(1, num_steps, WIDTH), X, memory)
    )
    cache = DecoderCache(
        *block.self_attention.project(past, past),
        *block.cross_attention.project(memory, memory),
    )
    seconds, attending = [], []
    # Appending the new key and value copies the others.
    joins = mock.patch("torch.cat", clocked(torch.cat, attending))
    attention = block.self_attention
    attention.forward = clocked(attention.forward, attending)
    step = clocked(lambda: stack(X, memory, caches=[cache]), seconds)
    with joins:
        for _ in range(STEPS):
            step()
    # two concatenations, one attention
    attending = torch.tensor(attending).view(STEPS, 3).sum(dim=1)
    rest = torch.tensor(seconds) - attending
    return {"attention": attending.median().item(), "rest": rest.median().item()}


def clocked(function, seconds):
    """Wrap a function so that the duration of each call is appended to seconds."""

    def call(*args, **settings):
        start = time.perf_counter()
        result = function(*args, **settings)
        wait_for_device()
        seconds.append(time.perf_counter() - start)
        return result

    return call


def run_growth(seed, what, kind):
    """Measure seconds and bytes for each of SIZES."""
    rows = []
    for size in SIZES:
        if what == "prefix":
            torch.manual_seed(seed)
            rows.append(one_prefix(size))
            continue
        program = (
            "import json, torch; from benchmarks.recipes.growth import one_size; "
            f"torch.manual_seed({seed}); "
            f"print(json.dumps(one_size({what!r}, {size}, {kind!r})))"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
    return {"sizes": SIZES} | {key: [row[key] for row in rows] for key in rows[0]}


def run_faster(seed, net, kind):
    """Measure a training step of the chapters' net, compiled or not, and the first step, in ms."""
    torch.manual_seed(seed)
    # Else a second run would reuse the compiled code of the first one.
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    if net == "small":
        train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS)
        model, batch = make_net(*vocabs), next(iter(train_iter))
    else:
        model = make_large(2000, 2000)
        lens = torch.randint(10, 30, (64,))
        ids = torch.randint(4, 2000, (64, lens.max().item()))
        batch = ids, lens, ids, lens
    if kind == "compiled":
        model.compile()
    learn = own_loop(model, 2)
    start = time.perf_counter()
    learn([batch])
    first = time.perf_counter() - start
    return {"ms": 100 * seconds_of(lambda: learn([batch] * 10)), "first_seconds": first}


def run(seed, **setting):
    """Run one of the two experiments; return its results as a dict for the ledger."""
    return (run_growth if "what" in setting else run_faster)(seed, **setting)
