"""Argument checks about networks: what is trained, and what is searched with.

As in arguments.py, each raises TypeError or ValueError and names the parameter and the rule.
"""

import torch
from torch import nn

from d2lmini.support.arguments import (
    check_arguments,
    check_at_most,
    check_count,
    check_integers,
    check_kind,
    check_shape,
    check_tokens,
)

LARGEST_BEAM = 1000  # a step of the search computes all prefixes at once


def checked(loss):
    """Make loss raise unless it returns (mean, count) and the mean has a gradient."""

    def checked_loss(net, batch):
        scored = loss(net, batch)
        rule = "must return (mean, count)"
        if not isinstance(scored, tuple | list) or len(scored) != 2:
            raise TypeError(f"loss {rule}, got {type(scored).__name__}")
        mean = scored[0]
        check_kind("loss: mean", mean, torch.Tensor, "a torch.Tensor")
        check_shape("loss: mean", mean)
        if torch.is_grad_enabled() and not mean.requires_grad:
            raise ValueError(f"loss {rule}, got a mean that does not depend on net")
        return scored

    return checked_loss


def check_counted(count) -> None:
    """count must show that the batches hold at least one item."""
    if not count.sum() > 0:
        got = count.tolist()
        raise ValueError(f"loss must count something in some batch, got {got}")


def check_evaluation(net, batches, loss, device) -> None:
    """Check the arguments of training.evaluate."""
    check_arguments(net=net, batches=batches, loss=loss, device=device)


def check_training(
    net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
) -> None:
    """Check the arguments of training.train."""
    check_evaluation(net, batches, loss, device)
    if not any(p.requires_grad for p in net.parameters()):
        raise ValueError(f"net ({type(net).__name__}) must have parameters to train")
    check_arguments(lr=lr, num_epochs=num_epochs, keep_best=keep_best, unit=unit)
    check_token_ids(net, batches)
    if val_batches is not None:
        check_arguments(val_batches=val_batches)
        check_token_ids(net, val_batches)
    elif keep_best:
        raise ValueError("keep_best (True) needs val_batches: they judge the epochs")


def check_token_ids(net, batches) -> None:
    """Every id in a data set must have a row in net; on a GPU, a missing row kills the process."""
    dataset = getattr(batches, "dataset", None)
    rows = [dataset.tensors] if hasattr(dataset, "tensors") else batches
    if not isinstance(rows, list | tuple):  # a data set of the reader's own kind
        return
    for arrays in rows:
        for side, ids in zip(("encoder", "decoder"), arrays[::2], strict=False):
            size = table_size(getattr(net, side, None))
            if size and not ids.is_floating_point():
                check_tokens(ids.cpu(), size)


def table_size(net) -> int:
    """Number of tokens for which net has vectors; 0 without an embedding."""
    modules = net.modules() if isinstance(net, nn.Module) else ()
    sizes = [m.num_embeddings for m in modules if isinstance(m, nn.Embedding)]
    return max(sizes, default=0)  # a smaller table may hold positions


def check_search(net, src, bos, eos, num_steps, beam_size=1, batch=1) -> None:
    """Check the arguments of a search; src must be ids (batch, steps)."""
    check_arguments(net=net, num_steps=num_steps)
    check_count("beam_size", beam_size)
    check_at_most("beam_size", beam_size, "the largest beam", LARGEST_BEAM)
    check_integers("src", src, batch, "steps")
    size = table_size(getattr(net, "decoder", None))
    for name, token in (("bos", bos), ("eos", eos)):
        check_count(name, token, least=0)
        if size:
            check_at_most(name, token, "vocab_size - 1", size - 1)


def check_vocabs(net, src_vocab, tgt_vocab) -> None:
    """Each vocabulary must have as many tokens as its side of net has vectors, if any."""
    check_arguments(net=net, src_vocab=src_vocab, tgt_vocab=tgt_vocab)
    for side, name, vocab in (
        ("encoder", "src_vocab", src_vocab),
        ("decoder", "tgt_vocab", tgt_vocab),
    ):
        size, tokens = table_size(getattr(net, side, None)), len(vocab.idx_to_token)
        if size and size != tokens:
            raise ValueError(
                f"{name} ({tokens} tokens) must have as many as the {side} has vectors ({size}): "
                "are the vocabularies exchanged, or of another training?"
            )
