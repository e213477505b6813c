"""Print what the book promises in numbers beside what this machine measures: make bench.

Takes about five minutes. The trainings on fra-eng need the data set; without it those rows say so.
"""

import functools
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

from benchmarks.common import BATCH_SIZE, LR, NUM_STEPS, SEEDS, make_net, mean_sd, run
from d2lmini import (
    TokenEmbedding,
    batches,
    causal_mask,
    load_data_nmt,
    normalise,
    padding_mask,
    read_pairs,
    seq2seq_loss,
    try_gpu,
)
from d2lmini.data.pairs import within_one_word
from d2lmini.data.registry import REGISTRY, data_folder
from d2lmini.training import train_epoch, warmup

ROOT = Path(__file__).parents[1]


class Peer(nn.Module):
    """torch.nn.Transformer at the sizes of make_net, with the same embeddings."""

    def __init__(self, src_vocab, tgt_vocab):
        super().__init__()
        self.src_embedding = TokenEmbedding(len(src_vocab), 32, 0.1)
        self.tgt_embedding = TokenEmbedding(len(tgt_vocab), 32, 0.1)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, 0.1, batch_first=True)
        self.output = nn.Linear(32, len(tgt_vocab))

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


class PlainLoop:
    """A training loop as a PyTorch tutorial writes it: all steps, padding too, Adam by default."""

    def __init__(self, net, tgt_vocab):
        self.net, self.tgt_vocab = net, tgt_vocab
        self.optimizer = torch.optim.Adam(net.parameters(), lr=LR)
        self.loss = nn.CrossEntropyLoss(ignore_index=tgt_vocab.pad)

    def epoch(self, train_iter, device):
        """Target tokens per second of one epoch."""
        start, num_tokens = time.perf_counter(), 0
        self.net.train()
        for batch in batches(train_iter.dataset.tensors, BATCH_SIZE):
            src, src_lens, tgt, tgt_lens = (array.to(device) for array in batch)
            bos = torch.full((len(tgt), 1), self.tgt_vocab.bos, device=device)
            logits = self.net(src, torch.cat([bos, tgt[:, :-1]], dim=1), src_lens)
            loss = self.loss(logits.transpose(1, 2), tgt)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.step()
            num_tokens += tgt_lens.sum().item()
        return num_tokens / (time.perf_counter() - start)


class OurLoop:
    """The training loop of chapter 8, for any net."""

    def __init__(self, net, tgt_vocab):
        self.net = net
        self.loss = functools.partial(seq2seq_loss, bos=tgt_vocab.bos)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=LR, fused=True)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, warmup(0))

    def epoch(self, train_iter, device):
        """Target tokens per second of one epoch."""
        self.net.train()
        _, tokens_per_sec = train_epoch(
            self.net, train_iter, self.loss, self.optimizer, self.schedule, device
        )
        return tokens_per_sec


def against_pytorch(name, num_rounds=30):
    """Tokens per second, epoch by epoch in turn: ours over torch.nn.Transformer's."""
    torch.manual_seed(0)
    device = try_gpu()
    train_iter, src_vocab, tgt_vocab = load_data_nmt(BATCH_SIZE, NUM_STEPS, 600, name)
    ours = OurLoop(make_net(src_vocab, tgt_vocab).to(device), tgt_vocab)
    same_loop = OurLoop(Peer(src_vocab, tgt_vocab).to(device), tgt_vocab)
    plain_loop = PlainLoop(Peer(src_vocab, tgt_vocab).to(device), tgt_vocab)
    loops, ratios = [ours, same_loop, plain_loop], []
    for i in range(num_rounds + 3):
        turn = (
            loops[i % 3 :] + loops[: i % 3]
        )  # each comes first as often as the others
        speed = {loop: loop.epoch(train_iter, device) for loop in turn}
        ratios.append((speed[ours] / speed[plain_loop], speed[ours] / speed[same_loop]))
    return [statistics.median(column) for column in zip(*ratios[3:], strict=True)]


def import_seconds():
    """What `import d2lmini` takes after `import torch`, best of five."""
    program = "import time, torch; t = time.perf_counter(); import d2lmini; "
    program += "print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    runs = [
        subprocess.run(command, capture_output=True, text=True).stdout for _ in range(5)
    ]
    return min(float(seconds) for seconds in runs)


def load_seconds(num_examples):
    """What loading fra-eng takes, best of three."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        load_data_nmt(BATCH_SIZE, NUM_STEPS, num_examples, "fra-eng")
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def book_seconds():
    """What `make book` takes with nothing kept, and again with nothing changed."""
    subprocess.run(["make", "clean"], cwd=ROOT, check=True, capture_output=True)
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(["make", "book"], cwd=ROOT, check=True, capture_output=True)
        yield time.perf_counter() - start


def row(what, reach, measured):
    """One line of the table, as soon as it is known."""
    print(f"| {what} | {reach} | {measured} |", flush=True)


def main():
    """Measure and print, row by row."""
    row("what", "to reach", "measured here")
    row("---", "---", "---")
    row("import d2lmini, beyond torch", "<= 0.02 s", f"{import_seconds():.3f} s")
    path = data_folder() / REGISTRY["fra-eng"].splits["train"][0].path
    if path.exists():
        row("fra-eng, load 600 pairs", "<= 0.1 s", f"{load_seconds(600):.3f} s")
        row("fra-eng, load all pairs", "<= 2 s", f"{load_seconds(None):.2f} s")
        runs = [run(seed, 200, "fra-eng", 600) for seed in SEEDS]
        loss, bleu = ([r[key] for r in runs] for key in ("loss", "s1_bleu"))
        row("fra-eng, 600 pairs, 200 epochs: nats per token", "<= 0.30", mean_sd(loss))
        row("the same, four sentences: BLEU, k = 2", ">= 0.95", mean_sd(bleu))
        seconds = mean_sd([r["seconds"] for r in runs])
        row("the same, training: seconds a run", "-", seconds)
    else:
        row("fra-eng", "-", f"not measured: {path} does not exist")
    plain, same = against_pytorch("fra-eng" if path.exists() else "eng-fra-mini")
    row("tokens/s over nn.Transformer in a plain loop", ">= 1.7", f"{plain:.2f}")
    row("tokens/s over nn.Transformer in the book's own loop", ">= 1.15", f"{same:.2f}")
    runs = [run(seed, 60) for seed in SEEDS]
    scores = mean_sd([r["bleu"] for r in runs])
    row(f"eng-fra-mini, held out: {runs[0]['signature']}", ">= 70", scores)
    seen, test = (
        [normalise(english) for english, _ in read_pairs(split=split)]
        for split in ("train", "test")
    )
    near = f"{within_one_word(test, seen)} of {len(test)}"
    row("of these sentences, one word away from a training sentence", "-", near)
    cold, warm = book_seconds()
    row("make book, requirements installed, cold", "<= 360 s", f"{cold:.0f} s")
    row("make book, nothing changed", "<= 6 s", f"{warm:.1f} s")


if __name__ == "__main__":
    main()
