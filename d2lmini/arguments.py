"""Checks of arguments: one line's call where a value is first used.

Each raises TypeError for a thing of the wrong kind, ValueError for a wrong value, and names the
parameter, its value and the rule. None waits for a GPU: what lies there was checked on its way.
"""

from collections.abc import Iterable, Iterator, Sized

import torch
from torch import nn


def check_count(name: str, value, least: int = 1) -> None:
    """A whole number that is at least least."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{name} ({value!r}) must be a whole number, got {type(value).__name__}"
        )
    if value < least:
        raise ValueError(f"{name} ({value}) must be at least {least}")


def check_probability(name: str, value) -> None:
    """A number in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} ({value!r}) must be a number, got {type(value).__name__}")
    if not 0 <= value < 1:
        raise ValueError(f"{name} ({value}) must lie in [0, 1)")


def check_flag(name: str, value) -> None:
    """True or False; a number in its place is usually meant for another parameter."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{name} ({value!r}) must be True or False, got {type(value).__name__}"
        )


def check_width(num_hiddens, must_be_even: bool = False) -> None:
    """The size of the last axis: one whole number, at least 1."""
    check_count("num_hiddens", num_hiddens)
    if must_be_even and num_hiddens % 2:
        raise ValueError(
            f"num_hiddens ({num_hiddens}) must be even: sines and cosines come in pairs"
        )


def check_heads(num_hiddens, num_heads, dropout, bias) -> None:
    """The sizes of a multi-head attention."""
    check_width(num_hiddens)
    check_count("num_heads", num_heads)
    if num_hiddens % num_heads:
        raise ValueError(
            f"num_hiddens ({num_hiddens}) must be divisible by num_heads ({num_heads})"
        )
    check_probability("dropout", dropout)
    check_flag("bias", bias)


def check_tensor(name: str, value) -> None:
    """A tensor: no list, no array."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"{name} must be a torch.Tensor, got {type(value).__name__}: {_short(value)}"
        )


def check_integers(name: str, value) -> None:
    """A tensor of integers."""
    check_tensor(name, value)
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, got {value.dtype}")


def check_sequence(name: str, value, width: int | None = None) -> None:
    """Vectors for a batch of sequences: floating, (batch, steps, width)."""
    check_tensor(name, value)
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating numbers, got {value.dtype}")
    if value.dim() != 3 or (width is not None and value.shape[-1] != width):
        axes = f"(batch, steps, {width or 'num_hiddens'})"
        raise ValueError(f"{name} must have shape {axes}, got {tuple(value.shape)}")


def check_valid_lens(valid_lens, num_steps: int, batch: int | None = None) -> None:
    """One whole number in [0, num_steps] for each sequence."""
    check_integers("valid_lens", valid_lens)
    if valid_lens.dim() != 1 or len(valid_lens) != (
        len(valid_lens) if batch is None else batch
    ):
        axes = "(batch,)" if batch is None else f"(batch,) = ({batch},)"
        raise ValueError(
            f"valid_lens must have shape {axes}, got {tuple(valid_lens.shape)}"
        )
    if valid_lens.is_cpu and len(
        valid_lens
    ):  # to look at a GPU's numbers means to wait for it
        low, high = (t.item() for t in valid_lens.aminmax())
        if low < 0 or high > num_steps:
            raise ValueError(
                f"valid_lens ({valid_lens.tolist()}) must lie between 0 and num_steps ({num_steps})"
            )


def check_mask(mask, shape: tuple) -> None:
    """A boolean tensor that broadcasts to shape."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    padded = (1,) * (len(shape) - mask.dim()) + tuple(mask.shape)
    if len(padded) > len(shape) or any(
        m not in (1, s) for m, s in zip(padded, shape, strict=True)
    ):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}: each size must be 1 or equal, aligned at the right"
        )


def check_queries_fit(num_queries, num_keys) -> None:
    """At least as many keys as queries: a query may always attend to its own position."""
    check_count("num_queries", num_queries, least=0)
    check_count("num_keys", num_keys, least=0)
    if num_keys < num_queries:
        raise ValueError(
            f"num_keys ({num_keys}) must be at least num_queries ({num_queries}): "
            "a query may always attend to its own position"
        )


def check_attention(queries, keys, values, dropout: float) -> None:
    """What scaled dot-product attention multiplies."""
    for name, value in (("queries", queries), ("keys", keys), ("values", values)):
        check_tensor(name, value)
    check_probability("dropout", dropout)
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries {tuple(queries.shape)} and keys {tuple(keys.shape)} must have the same "
            "last size"
        )
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"keys {tuple(keys.shape)} and values {tuple(values.shape)} must be equally many"
        )


def check_positions(X, start, max_len: int, num_hiddens: int) -> None:
    """X of the table's width, at positions start to start + steps - 1, all below max_len."""
    check_sequence("X", X, num_hiddens)
    check_count("start", start, least=0)
    if start + X.shape[1] > max_len:
        raise ValueError(
            f"sequence length ({start + X.shape[1]}) must be at most max_len ({max_len})"
        )


def check_same_shape(X, Y) -> None:
    """What is added must have one shape: broadcasting would hide a mistake."""
    check_tensor("X", X)
    check_tensor("Y", Y)
    if X.shape != Y.shape:
        raise ValueError(
            f"X {tuple(X.shape)} and Y {tuple(Y.shape)} must have the same shape to be added"
        )


def check_tokens(tokens, vocab_size: int) -> None:
    """Ids in [0, vocab_size), (batch, steps)."""
    check_integers("tokens", tokens)
    if tokens.dim() != 2:
        raise ValueError(
            f"tokens must have shape (batch, steps), got {tuple(tokens.shape)}"
        )
    outside = (tokens < 0) | (tokens >= vocab_size)
    if outside.any():
        token = tokens[outside][0].item()
        raise ValueError(
            f"token id ({token}) must lie in [0, vocab_size) = [0, {vocab_size})"
        )


def check_logits(logits, labels, valid_lens) -> None:
    """Logits (batch, steps, vocab_size), labels (batch, steps), and at least one real token."""
    check_sequence("logits", logits)
    check_integers("labels", labels)
    if labels.shape != logits.shape[:2]:
        raise ValueError(
            f"labels {tuple(labels.shape)} must have the shape of the logits "
            f"{tuple(logits.shape)} without the last axis"
        )
    check_valid_lens(valid_lens, labels.shape[1], len(labels))
    if valid_lens.is_cpu and not valid_lens.any():
        raise ValueError(
            f"valid_lens ({valid_lens.tolist()}) must leave at least one token to score"
        )


def check_labels(name: str, labels, size: int) -> None:
    """One label for each of size places of a plot; None = no labels."""
    if labels is not None and len(labels) != size:
        raise ValueError(
            f"{name} ({list(labels)}) must have {size} entries, got {len(labels)}"
        )


def check_sentences(sentences, name: str = "sentences") -> None:
    """A list of strings; one string would be taken for a list of letters."""
    if isinstance(sentences, str):
        raise TypeError(
            f"{name} must be a list of strings, got one string: {_short(sentences)}"
        )
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise TypeError(
                f"{name} must hold strings, got {type(sentence).__name__}: {_short(sentence)}"
            )


def check_words(name: str, text, least: int = 1) -> None:
    """A string of at least so many words."""
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be a string, got {type(text).__name__}: {_short(text)}"
        )
    if len(text.split()) < least:
        raise ValueError(f"{name} ({text!r}) must contain at least one word")


def check_as_many(predictions, references) -> None:
    """Two lists of strings, equally long, at least one each."""
    check_sentences(predictions, "predictions")
    check_sentences(references, "references")
    if len(predictions) != len(references) or not len(references):
        raise ValueError(
            f"len(predictions) ({len(predictions)}) must equal "
            f"len(references) ({len(references)}), and be at least 1"
        )


def check_arrays(arrays) -> None:
    """Tensors with equally many rows, at least one."""
    if isinstance(arrays, torch.Tensor) or not arrays:
        raise TypeError("arrays must be a list of tensors, (rows, ...) each")
    for i, array in enumerate(arrays):
        check_tensor(f"arrays[{i}]", array)
    rows = [len(array) if array.dim() else None for array in arrays]
    if len(set(rows)) != 1 or not rows[0]:
        raise ValueError(f"arrays must have equally many rows, at least one, got {rows}")


def check_repeatable(name: str, batches) -> None:
    """Batches that can be gone through again at each epoch, at least one."""
    if isinstance(batches, torch.Tensor) or not isinstance(batches, Iterable):
        raise TypeError(
            f"{name} must be a DataLoader or a list of batches, got {type(batches).__name__}"
        )
    if isinstance(batches, Iterator):
        raise TypeError(
            f"{name} must be a DataLoader or a list of batches: a {type(batches).__name__} "
            "is used up after one epoch"
        )
    if isinstance(batches, Sized) and not len(batches):
        raise ValueError(f"{name} must hold at least one batch")


def check_training(batches, lr, num_epochs, val_batches, keep_best) -> None:
    """What training.train is told."""
    check_repeatable("batches", batches)
    if val_batches is not None:
        check_repeatable("val_batches", val_batches)
    if isinstance(lr, bool) or not isinstance(lr, int | float):
        raise TypeError(f"lr ({lr!r}) must be a number, got {type(lr).__name__}")
    if not lr > 0:
        raise ValueError(f"lr ({lr}) must be greater than 0")
    check_count("num_epochs", num_epochs, least=0)
    check_flag("keep_best", keep_best)
    if keep_best and val_batches is None:
        raise ValueError("keep_best (True) needs val_batches: by them an epoch is judged")


def check_token_ids(net, batches) -> None:
    """Every id of a data set of sentence pairs has a row in the net's embeddings.

    Once for a data set: on a GPU, an id without a row stops the whole process.
    """
    arrays = getattr(getattr(batches, "dataset", None), "tensors", ())
    for side, tokens in zip(("encoder", "decoder"), arrays[::2], strict=False):
        for module in getattr(net, side, nn.Module()).modules():
            if isinstance(module, nn.Embedding):
                check_tokens(tokens, module.num_embeddings)


def _short(value) -> str:
    """A value as Python writes it, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
