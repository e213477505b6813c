"""Checks of what losses, training and searches are told; see d2lmini.arguments."""

import math
from collections.abc import Callable, Iterable, Iterator, Sized

import torch
from torch import nn
from torch.utils.data import DataLoader

from d2lmini.arguments import (
    check_count,
    check_device,
    check_integers,
    check_kind,
    check_modules,
    check_probability,
    check_sequences,
    check_shape,
    check_sizes,
    check_token,
    check_tokens,
    check_valid_lens,
)


def check_logits(logits, labels, valid_lens, label_smoothing) -> None:
    """Logits (batch, steps, vocab_size), labels (batch, steps), and at least one real token."""
    check_sequences("vocab_size", logits=logits)
    batch, num_steps, _ = logits.shape
    check_integers("labels", labels, batch, num_steps)
    check_valid_lens(valid_lens, num_steps, batch)
    check_probability("label_smoothing", label_smoothing)
    if valid_lens.is_cpu and not valid_lens.any():
        raise ValueError(
            f"valid_lens ({valid_lens.tolist()}) must leave a token to score"
        )


def check_labels_and_start(labels, bos) -> None:
    """Labels (batch, steps) and the id that is put before them."""
    check_integers("labels", labels, "batch", "steps")
    check_count("bos", bos, least=0)


def check_parts(batch) -> None:
    """A batch of sentence pairs."""
    if len(batch) != 4:
        parts = "(src, src_valid_lens, tgt, tgt_valid_lens)"
        raise ValueError(f"batch must be {parts}, got {len(batch)} parts")


def check_texts(batch) -> None:
    """A batch of labelled texts, one label for each."""
    if len(batch) != 3:
        rule = "must be (tokens, valid_lens, labels)"
        raise ValueError(f"batch {rule}, got {len(batch)} parts")
    check_integers("labels", batch[2], len(batch[0]))


def check_classes(logits, labels) -> None:
    """Labels in [0, num_classes)."""
    num_classes = logits.shape[-1]
    if labels.is_cpu and not all(0 <= label < num_classes for label in labels.tolist()):
        raise ValueError(
            f"labels ({labels.tolist()}) must lie in [0, num_classes) = [0, {num_classes})"
        )


def check_repeatable(name: str, batches) -> None:
    """Batches that can be gone through again at each epoch, at least one."""
    rule = "a DataLoader or a list of batches"
    check_kind(
        name, batches, () if isinstance(batches, torch.Tensor) else Iterable, rule
    )
    # A DataLoader is sized, and asked no iter(): that draws random numbers.
    is_sized = isinstance(batches, Sized)
    if isinstance(batches, Iterator) or (
        not is_sized and iter(batches) is iter(batches)
    ):
        kind = type(batches).__name__
        raise TypeError(f"{name} must be {rule}: a {kind} is used up after one epoch")
    if is_sized and not isinstance(batches, DataLoader) and not len(batches):
        raise ValueError(f"{name} must hold at least one batch, got none")
    if isinstance(batches, tuple | list):
        for batch in batches:
            check_batch(batch)


def check_batch(batch) -> None:
    """What a data set gives: a row of tensors."""
    check_kind("batch", batch, tuple | list, "a tuple or list of tensors")
    for i, array in enumerate(batch):
        check_kind(f"batch[{i}]", array, torch.Tensor, "a torch.Tensor")


def checked(loss):
    """The same loss; what it returns is checked: (mean, count), the mean with a gradient."""

    def checked_loss(net, batch):
        scored = loss(net, batch)
        rule = "must return (mean, count)"
        if not isinstance(scored, tuple | list) or len(scored) != 2:
            raise TypeError(f"loss {rule}, got {type(scored).__name__}")
        mean = scored[0]
        check_kind("loss: mean", mean, torch.Tensor, "a torch.Tensor")
        check_shape("loss: mean", mean, ())
        if torch.is_grad_enabled() and not mean.requires_grad:
            raise ValueError(
                f"loss {rule}, and this mean ({mean}) does not depend on net"
            )
        return scored

    return checked_loss


def check_counted(count) -> None:
    """Of how many tokens, or other things, the batches' means are means; on the CPU."""
    if not count.sum() > 0:
        raise ValueError(
            f"loss must count something in some batch, got {count.tolist()}"
        )


def check_precision(dtype) -> None:
    """A kind of numbers in which matrix products may be computed."""
    known = torch.bfloat16, torch.float16, torch.float32
    if dtype not in known:
        raise ValueError(f"dtype ({dtype}) must be one of {', '.join(map(str, known))}")


def check_evaluation(net, batches, loss, device) -> None:
    """What training.evaluate is told."""
    check_modules(net=net)
    check_repeatable("batches", batches)
    check_kind("loss", loss, Callable, "a function of (net, batch)")
    check_device(device)


def check_training(
    net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
) -> None:
    """What training.train is told."""
    check_evaluation(net, batches, loss, device)
    if not any(p.requires_grad for p in net.parameters()):
        raise ValueError(f"net ({type(net).__name__}) must have parameters to train")
    check_kind("lr", lr, int | float, "a number")
    if not 0 < lr < float("inf"):
        raise ValueError(f"lr ({lr}) must be greater than 0, and finite")
    check_count("num_epochs", num_epochs, least=0)
    check_token_ids(net, batches)
    check_kind("keep_best", keep_best, bool, "True or False")
    check_kind("unit", unit, str, "a string")
    if val_batches is not None:
        check_repeatable("val_batches", val_batches)
        check_token_ids(net, val_batches)
    elif keep_best:
        raise ValueError(
            "keep_best (True) needs val_batches: by them an epoch is judged"
        )


def check_token_ids(net, batches) -> None:
    """Each id of a data set has a row in the net: on a GPU, one without ends the process."""
    dataset = getattr(batches, "dataset", None)
    rows = [dataset.tensors] if hasattr(dataset, "tensors") else batches
    if not isinstance(rows, tuple | list):  # a data set of the reader's own
        return
    for arrays in rows:
        for side, ids in zip(("encoder", "decoder"), arrays[::2], strict=False):
            size = _table_size(getattr(net, side, None))
            if size and not ids.is_floating_point():
                check_tokens(ids.cpu(), size)


def _table_size(net) -> int:
    """How many tokens a net knows; 0: it has no table of vectors."""
    modules = net.modules() if isinstance(net, nn.Module) else ()
    sizes = [m.num_embeddings for m in modules if isinstance(m, nn.Embedding)]
    # The largest is that of the words; another may hold positions.
    return max(sizes, default=0)


def check_search(net, src, bos, eos, num_steps, beam_size=1, batch=1) -> None:
    """What a search is told: it translates one sentence, or as many as batch allows."""
    check_modules(net=net)
    check_integers("src", src, batch, "steps")
    size = _table_size(getattr(net, "decoder", None))
    for name, token in (("bos", bos), ("eos", eos)):
        check_count(name, token, least=0)
        if size:
            check_token(token, size, name)
    check_sizes(num_steps=num_steps, beam_size=beam_size)


def check_extension(tokens, num_steps, choose, eos) -> None:
    """Texts that go on."""
    check_integers("tokens", tokens, "texts", "steps")
    check_sizes(num_steps=num_steps)
    check_kind("choose", choose, Callable, "a function of log-probabilities")
    if eos is not None:
        check_count("eos", eos, least=0)


def check_sampling(temperature, top_k) -> None:
    """How a token is drawn."""
    check_kind("temperature", temperature, int | float, "a number")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature ({temperature}) must be more than 0, and finite")
    if top_k is not None:
        check_count("top_k", top_k)
