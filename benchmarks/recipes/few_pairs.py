"""Runs of chapter 9: the translator, trained on fewer pairs."""

import functools

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini import evaluate, normalise, seq2seq_loss, translate_all, try_gpu
from d2lmini.support.chapters import CHAPTERS
from d2lmini.training import train_epoch, warmup

EXPERIMENTS = {"few-pairs": [{"num_examples": 300, "num_epochs": 60}]}
RECIPES = {"few-pairs": {"lr": 0.005, "batch_size": 64}}
COUNTED = 30, 60  # epochs after which it translates


def run(seed, num_examples, num_epochs):
    """Losses by epoch, on its pairs and on others of the same words; how many come out right."""
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["training"], "NAME", "make_net", "batches_of")
    pairs, device = chapter["train_pairs"][:num_examples], try_gpu()
    words = {w for pair in pairs for text in pair for w in normalise(text).split()}
    familiar, unseen = (
        [p for p in some if words.issuperset(normalise(" ".join(p)).split())]
        for some in (chapter["val_pairs"], chapter["val_pairs"] + chapter["test_pairs"])
    )
    due = [normalise(target) for _, target in unseen]
    vocabs = chapter["src_vocab"], chapter["tgt_vocab"]
    loss = functools.partial(seq2seq_loss, bos=vocabs[1].bos)
    torch.manual_seed(seed)
    net = chapter["make_net"]().to(device)
    few, others = map(chapter["batches_of"], (pairs, familiar))
    optimizer = torch.optim.Adam(net.parameters(), lr=chapter["lr"], fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(0))
    found = {"seed": seed, "losses": [], "val_losses": [], "sentences": len(due)}
    for epoch in range(1, num_epochs + 1):
        net.train()
        mean, _ = train_epoch(net, few, loss, optimizer, schedule, device)
        found["losses"].append(round(mean, 4))
        found["val_losses"].append(round(evaluate(net, others, loss, device), 4))
        if epoch in COUNTED:
            said = translate_all(
                net, [text for text, _ in unseen], *vocabs, chapter["num_steps"], device
            )
            right = sum(a == b for a, b in zip(said, due, strict=True))
            found[f"right_{epoch}"] = right
    return found
