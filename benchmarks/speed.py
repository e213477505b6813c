"""Compare the speed of training and translation with alternatives: python -m benchmarks.speed

Programs take turns, so that a slow minute of the machine affects all of them; a row shows the
median and the quartiles of their ratios. NAME ... measures only some rows. All rows take a quarter
of an hour.
"""

import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.recipes.captions import NUM_STEPS as LONGEST_CAPTION
from benchmarks.recipes.captions import read_splits, vocabs_and_batches
from benchmarks.recipes.common import BATCH_SIZE, LR, NUM_STEPS, make_net
from benchmarks.table import head, row
from d2lmini import (
    EncoderDecoder,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    load_data_nmt,
    padding_mask,
    predict_seq2seq,
    read_pairs,
    seq2seq_loss,
    train_seq2seq,
    try_gpu,
)
from d2lmini.data import cut_padding
from d2lmini.data.batches import batches
from d2lmini.generation import beam_search, greedy_search
from d2lmini.speed.attention import fast_attention, use_fast_layers
from d2lmini.speed.batched_search import beam_search_batch, extend, generate
from d2lmini.speed.mixed_precision import MixedPrecisionStep
from d2lmini.speed.one_sentence import fast_greedy_search
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.training import train_epoch, train_step, warmup

LARGE = 256, 512, 8, 3, 0.1  # width, feed-forward width, heads, layers, dropout
VOCAB = 6000  # about as in Multi30k
CORES = os.cpu_count()


def in_turn(rounds, **programs):
    """Seconds of each program in each round, after a warm-up."""
    names, seconds = [*programs], {name: [] for name in programs}
    for i in range(-1, rounds):
        first = i % len(names)
        for name in names[first:] + names[:first]:  # each comes first equally often
            start = time.perf_counter()
            programs[name]()
            wait_for_device()
            if i >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def wait_for_device():
    """Wait until the GPU has finished."""
    if try_gpu().type == "cuda":
        torch.cuda.synchronize()


def middle(values, unit=""):
    """Format as 'median (quartile to quartile)'."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    found = statistics.median(values)
    return f"{found:.3g}{unit} ({low:.3g} to {high:.3g})"


def times(slow, fast):
    """The ratio of slow to fast in each round."""
    return middle([a / b for a, b in zip(slow, fast, strict=True)])


class Peer(nn.Module):
    """torch.nn.Transformer with the embeddings and the output layer of the book.

    Args: as for TransformerEncoder, but with the sizes of both vocabularies first.
    """

    def __init__(self, src_size, tgt_size, num_hiddens, ffn_num_hiddens, num_heads,
                 num_layers, dropout):  # fmt: skip
        super().__init__()
        self.src_embedding = TokenEmbedding(src_size, num_hiddens, dropout)
        self.tgt_embedding = TokenEmbedding(tgt_size, num_hiddens, dropout)
        self.transformer = nn.Transformer(
            num_hiddens, num_heads, num_layers, num_layers, ffn_num_hiddens, dropout,
            batch_first=True,
        )  # fmt: skip
        self.output = nn.Linear(num_hiddens, tgt_size)

    def forward(self, src, tgt, src_valid_lens):
        padded = ~padding_mask(src_valid_lens, src.shape[1])[:, 0, 0]  # True = hide
        hidden = self.transformer(
            self.src_embedding(src),
            self.tgt_embedding(tgt),
            tgt_mask=~causal_mask(tgt.shape[1], device=tgt.device),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
        )
        return self.output(hidden)


def make_large(src_size, tgt_size, is_fast=False):
    """Create the book's net with the sizes of LARGE."""
    net = EncoderDecoder(
        TransformerEncoder(src_size, *LARGE), TransformerDecoder(tgt_size, *LARGE)
    )
    if is_fast:
        use_fast_layers(net)
    return net.to(try_gpu())


def own_loop(net, bos, step=train_step):
    """The training loop of chapter 9: a function of a list of batches."""
    loss = functools.partial(seq2seq_loss, bos=bos)
    optimizer = torch.optim.Adam(net.parameters(), lr=LR, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(0))
    net.to(try_gpu()).train()
    tools = optimizer, schedule, try_gpu()
    return lambda data: train_epoch(net, data, loss, *tools, step=step)


def plain_loop(net, tgt_vocab, dtype=torch.float32):
    """A typical tutorial loop, with default Adam and a loss that ignores padding.

    dtype: of matrix products, under autocast.
    """
    is_mixed = dtype != torch.float32
    optimizer = torch.optim.Adam(net.parameters(), lr=LR)
    criterion = nn.CrossEntropyLoss(ignore_index=tgt_vocab.pad)
    net.to(try_gpu()).train()

    def epoch(data):
        for batch in data:
            src, src_lens, tgt, _ = (array.to(try_gpu()) for array in batch)
            bos = torch.full((len(tgt), 1), tgt_vocab.bos, device=tgt.device)
            with torch.autocast(try_gpu().type, dtype, enabled=is_mixed):
                logits = net(src, torch.cat([bos, tgt[:, :-1]], dim=1), src_lens)
                loss = criterion(logits.flatten(0, 1), tgt.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()

    return epoch


def small_training():
    """Measure the setting of source chapter S1 in the book's own loop."""
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, 600, "fra-eng")
    sizes = len(vocabs[0]), len(vocabs[1]), 32, 64, 4, 2, 0.1
    fast = make_net(*vocabs)
    use_fast_layers(fast)
    data, bos = [*train_iter], vocabs[1].bos
    padded = [*batches(train_iter.dataset.tensors, BATCH_SIZE)]  # to NUM_STEPS
    peer, readable = own_loop(Peer(*sizes), bos), own_loop(make_net(*vocabs), bos)
    fast, tutorial = own_loop(fast, bos), plain_loop(Peer(*sizes), vocabs[1])
    found = in_turn(
        30,
        peer=lambda: peer(data),
        readable=lambda: readable(data),
        fast=lambda: fast(data),
        tutorial=lambda: tutorial(padded),
    )
    yield (
        "training, S1 setting, over nn.Transformer in the book's loop",
        "≥ 1.2",
        times(found["peer"], found["fast"]),
    )
    yield (
        "the same without the fast path",
        "≥ 1.15",
        times(found["peer"], found["readable"]),
    )
    yield (
        "training, S1 setting, without the fast path, over it in a plain loop",
        "≥ 1.7",
        times(found["tutorial"], found["readable"]),
    )


def spread_batches(num_batches):
    """Vocabularies of Multi30k, and batches across an epoch: by length, and mixed."""
    vocabs, loaders = vocabs_and_batches(read_splits("multi30k"), LONGEST_CAPTION, 128)
    by_length = [*loaders["train"]]
    mixed = [*batches(loaders["train"].dataset.tensors, 128, cut_padding)]
    step = len(mixed) // num_batches
    return vocabs, by_length[::step][:num_batches], mixed[::step][:num_batches]


def large_training():
    """Measure d = 256 on Multi30k, each loop on batches of its own kind."""
    torch.set_num_threads(CORES)
    vocabs, by_length, mixed = spread_batches(12)
    sizes = [len(vocab) for vocab in vocabs]
    peer = plain_loop(Peer(*sizes, *LARGE), vocabs[1])
    ours = own_loop(make_large(*sizes, is_fast=True), vocabs[1].bos)
    found = in_turn(
        5,
        peer=lambda: peer(mixed),
        ours=lambda: ours(mixed),
        buckets=lambda: ours(by_length),
    )
    tokens = [
        sum(batch[3].sum().item() for batch in data) for data in (mixed, by_length)
    ]
    fewer = tokens[0] / tokens[1]
    name = f"training, d = 256, Multi30k, {CORES} threads, over nn.Transformer"
    buckets = [seconds * fewer for seconds in found["buckets"]]
    yield f"{name}, buckets included", "≥ 1.5", times(found["peer"], buckets)
    yield f"{name}, equal batches", "≥ 1.0", times(found["peer"], found["ours"])


def keeping_inputs(decoder, memory, memory_mask):
    """A decode for batched.extend that caches the inputs of each block, as older code does.

    Keys and values of the text so far and of the memory are recomputed at each step.
    """

    def decode(tokens, caches):
        pasts = caches or [None] * len(decoder.stack.blocks)
        start = 0 if caches is None else caches[0].shape[1]
        X, inputs = decoder.embedding(tokens, start), []
        for block, past in zip(decoder.stack.blocks, pasts, strict=True):
            so_far = X if past is None else torch.cat([past, X], dim=1)
            inputs.append(so_far)
            mask = causal_mask(X.shape[1], so_far.shape[1], X.device)
            attended = block.self_attention(X, so_far, so_far, mask)
            Y = block.addnorm1(X, attended)
            attended = block.cross_attention(Y, memory, memory, memory_mask)
            Z = block.addnorm2(Y, attended)
            X = block.addnorm3(Z, block.ffn(Z))
        return decoder.output(X), inputs

    return decode


def some_captions(net_size=VOCAB, num=64):
    """Random ids with the lengths of the first test captions; and these lengths."""
    lens = [len(german.split()) + 1 for german, _ in read_splits("multi30k")["test"]]
    lens = torch.tensor(lens[:num], device=try_gpu())
    return torch.randint(4, net_size, (num, lens.max().item()), device=try_gpu()), lens


@torch.no_grad()
def decoding(num_steps=100):
    """Measure decoding of 64 captions, 100 tokens each, by an untrained net."""
    torch.set_num_threads(CORES)
    net = make_large(VOCAB, VOCAB).eval()
    src, lens = some_captions()
    memory, memory_mask = net.encoder(src, lens), padding_mask(lens, src.shape[1])
    start = src.new_full((len(src), 1), 2)
    texts = {}

    def cached(tokens, caches):
        return net.decoder(tokens, memory, memory_mask, caches)

    def continued(name, decode):
        texts[name] = extend(decode, start, num_steps)[0]

    def from_the_start():
        tokens = start
        for _ in range(num_steps):
            logits, _ = net.decoder(tokens, memory, memory_mask)
            tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
        texts["prefix"] = tokens

    inputs = keeping_inputs(net.decoder, memory, memory_mask)
    found = in_turn(
        3,
        ours=lambda: continued("ours", cached),
        inputs=lambda: continued("inputs", inputs),
        prefix=from_the_start,
    )
    same = [texts[name].equal(texts["ours"]) for name in ("inputs", "prefix")]
    assert all(same), "all three must write the same texts"
    name = "greedy, 64 sentences, 100 steps, d = 256, over"
    yield f"{name} recomputing the prefix", "≥ 8", times(found["prefix"], found["ours"])
    yield f"{name} kept inputs", "≥ 2", times(found["inputs"], found["ours"])


def test_captions():
    """Measure translating 1,000 English captions to French with the stored net of chapter 10."""
    torch.set_num_threads(CORES)
    translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
    sentences = [english for _, english in read_pairs("multi30k", "test")]
    net, vocab, num_steps = translator.net, translator.vocab, translator.num_steps
    ids, lens = translator.encode(sentences)
    one_by_one = [
        (ids[i : i + 1, : lens[i]].to(try_gpu()), lens[i : i + 1].to(try_gpu()))
        for i in range(len(ids))
    ]
    ends = vocab.bos, vocab.eos, num_steps

    def alone(search, *beam):
        return [search(net, *sentence, *ends, *beam) for sentence in one_by_one]

    greedy = in_turn(
        2,
        alone=lambda: alone(greedy_search),
        together=lambda: translator.translate(sentences),
    )
    name = f"1,000 captions, {CORES} threads, over one at a time"
    yield f"{name}, greedy", "≥ 10", times(greedy["alone"], greedy["together"])
    beam = in_turn(
        2,
        alone=lambda: alone(beam_search, 4),
        together=lambda: translator.translate(sentences, 4),
    )
    yield f"{name}, beam of 4", "≥ 8", times(beam["alone"], beam["together"])
    seconds = middle(greedy["together"], " s"), middle(beam["together"], " s")
    yield "the same, greedy and beam", "–", " and ".join(seconds)


def beam_against_greedy(num_steps=30):
    """Measure the cost of a beam of 4 on 64 sentences at once."""
    torch.set_num_threads(CORES)
    net = make_large(VOCAB, VOCAB).eval()
    search = net, *some_captions(), 2, 3, num_steps
    found = in_turn(
        5, greedy=lambda: generate(*search), beam=lambda: beam_search_batch(*search, 4)
    )
    name = "beam of 4 against greedy, 64 sentences, d = 256"
    yield name, "≤ 4", times(found["beam"], found["greedy"])


@torch.no_grad()
def short_sentence():
    """Measure one sentence in the S1 setting, without and with attention weights."""
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, 600)
    net = make_net(*vocabs)
    with torch.enable_grad():
        train_seq2seq(net, train_iter, LR, 20, vocabs[1], try_gpu())
    english = min((e for e, _ in read_pairs()), key=len)
    source = torch.tensor([[*vocabs[0][english.lower().split()], vocabs[0].eos]])
    source, lens = source.to(try_gpu()), torch.tensor([source.shape[1]]).to(try_gpu())
    bos, eos = vocabs[1].bos, vocabs[1].eos

    def classic():
        memory = net.encoder(source, lens)
        decode = keeping_inputs(
            net.decoder, memory, padding_mask(lens, source.shape[1])
        )
        extend(decode, source.new_full((1, 1), bos), NUM_STEPS, eos=eos)

    found = in_turn(
        50,
        fast=lambda: fast_greedy_search(net, source, lens, bos, eos, NUM_STEPS),
        readable=lambda: greedy_search(net, source, lens, bos, eos, NUM_STEPS),
        predict=lambda: predict_seq2seq(net, english, *vocabs, NUM_STEPS, try_gpu()),
        classic=classic,
    )
    milliseconds = {k: [1000 * x for x in v] for k, v in found.items()}
    name = f"one short sentence ({english!r}), d = 32"
    yield name, "≤ 3 ms", middle(milliseconds["fast"], " ms")
    yield (
        "the same by the readable search",
        "–",
        middle(milliseconds["readable"], " ms"),
    )
    yield (
        "the same, and its attention weights",
        "–",
        middle(milliseconds["predict"], " ms"),
    )
    yield "the same by kept inputs", "–", middle(milliseconds["classic"], " ms")


def loading(rounds=5):
    """Measure loading fra-eng, in separate processes."""
    call = f"d2lmini.load_data_nmt({BATCH_SIZE}, {NUM_STEPS}, "
    rows = {  # name -> call, maximum seconds, maximum memory
        "all pairs": (call + "None, 'fra-eng')", "≤ 2 s", "–"),
        "600 pairs": (call + "600, 'fra-eng')", "≤ 0.1 s", "–"),
    }
    found = {what: [] for what in rows}
    for _ in range(rounds):
        for what, (call, *_) in rows.items():
            program = (
                "import time, torch, d2lmini\n"
                "from benchmarks.recipes.memory import most_memory\n"
                "start = time.perf_counter()\n"
                f"{call}\n"
                "print(time.perf_counter() - start, most_memory() / 1e6)"
            )
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[what].append([float(number) for number in done.stdout.split()])
    for what, (_, most_seconds, most_memory) in rows.items():
        seconds, megabytes = zip(*found[what], strict=True)
        yield f"fra-eng, {what}", most_seconds, middle(seconds, " s")
        name = f"fra-eng, {what}: memory of the process at its most, with PyTorch"
        yield name, most_memory, middle(megabytes, " MB")


@torch.no_grad()
def long_attention(num_steps=4096):
    """Compare attention without weights with PyTorch's own function, in time and memory."""
    torch.set_num_threads(CORES)
    shape = 1, 8, num_steps, 64
    Q, K, V = (torch.randn(shape, device=try_gpu()) for _ in range(3))
    found = in_turn(
        9,
        ours=lambda: fast_attention(Q, K, V),
        torch=lambda: F.scaled_dot_product_attention(Q, K, V),
    )
    name = f"attention, {num_steps:,} steps, over F.scaled_dot_product_attention"
    yield name, "≥ 0.95", times(found["torch"], found["ours"])
    longer = [4 * num_steps, 8 * num_steps]
    held = " and ".join(f"{added_by(steps):.0f} MB" for steps in longer)
    steps = " and ".join(f"{steps:,}" for steps in longer)
    yield f"the same: memory that {steps} steps add", "linear", held


def added_by(num_steps):
    """Megabytes that a process needs for one attention over this many steps."""
    program = (
        "import torch\n"
        "from benchmarks.recipes.memory import most_memory\n"
        "from d2lmini.speed.attention import fast_attention\n"
        "fast_attention(*torch.randn(3, 1, 8, 64, 64))\n"
        f"Q, K, V = torch.randn(3, 1, 8, {num_steps}, 64)\n"
        "before = most_memory()\n"
        "fast_attention(Q, K, V)\n"
        "print((most_memory() - before) / 1e6)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def gpu_training():
    """Measure training in 16 bits on a CUDA device, all alternatives on the same batches."""
    what = "training, d = 256, Multi30k, bf16 on a CUDA device, over nn.Transformer"
    if try_gpu().type != "cuda":
        yield what, "≥ 1.3", "not measured: no CUDA device here"
        return
    vocabs, _, mixed = spread_batches(40)
    sizes, bf16 = [len(vocab) for vocab in vocabs], torch.bfloat16
    step = MixedPrecisionStep(try_gpu(), bf16)
    ours = own_loop(make_large(*sizes, is_fast=True), vocabs[1].bos, step)
    peer, compiled = Peer(*sizes, *LARGE), Peer(*sizes, *LARGE)
    compiled.compile(dynamic=True)
    peer, compiled = (plain_loop(net, vocabs[1], bf16) for net in (peer, compiled))
    found = in_turn(
        5,
        peer=lambda: peer(mixed),
        compiled=lambda: compiled(mixed),
        ours=lambda: ours(mixed),
    )
    yield f"{what} with autocast", "≥ 1.3", times(found["peer"], found["ours"])
    yield f"{what}, compiled too", "≥ 1.3", times(found["compiled"], found["ours"])


def team(size, *arguments):
    """The output of benchmarks.team with this many processes, one thread each."""
    program = ["-m", "benchmarks.team", *arguments]
    if size > 1:
        run = ["-m", "torch.distributed.run", "--standalone"]
        program = [*run, f"--nproc-per-node={size}", *program]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *program], capture_output=True, text=True,
                          check=True, env=environment)  # fmt: skip
    return done.stdout


def same_gradients():
    """Compare the gradients of a batch split over processes with those of one process."""
    with tempfile.TemporaryDirectory() as folder:
        gradients = {}
        for size in (1, 2, 4):
            team(size, f"{folder}/{size}.pt")
            gradients[size] = torch.load(f"{folder}/{size}.pt")
    for size in (2, 4):
        pairs = zip(gradients[size], gradients[1], strict=True)
        most = max((mine - one).abs().max().item() for mine, one in pairs)
        what = f"gradients of {size} processes: largest difference from those of one"
        yield what, "≤ 1e-6", f"{most:.1g}"


def processes(rounds=3):
    """Compare one process with two, one thread each, on the same batches."""
    speeds = {1: [], 2: []}
    for i in range(rounds):
        for size in sorted(speeds, reverse=i % 2):
            found = [float(number) for number in team(size).split()]
            speeds[size].append(statistics.median(found))
    name = "training, d = 256, 2 processes over 1, a thread each"
    yield name, "≥ 1.7", times(speeds[2], speeds[1])


ROWS = {
    "small": small_training,
    "large": large_training,
    "decoding": decoding,
    "captions": test_captions,
    "short": short_sentence,
    "beam": beam_against_greedy,
    "loading": loading,
    "attention": long_attention,
    "gradients": same_gradients,
    "processes": processes,
    "gpu": gpu_training,
}


def main(names):
    """Measure the named rows, or all of them."""
    head(f"on {CORES} cores, {try_gpu()}", "to reach", "measured here")
    for name in names or ROWS:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        for what, reach, measured in ROWS[name]():
            row(what, reach, measured)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
