"""Checks of arguments: one line's call where a value is first used.

Each raises TypeError for a thing of the wrong kind, ValueError for a wrong value, and names the
parameter, its value and the rule. None waits for a GPU: what lies there was checked on its way.
"""

import contextlib

import torch
from torch import nn


def check_kind(name: str, value, kind, rule: str) -> None:
    """A thing of a kind, or of one of several; True and False are no numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        got = type(value).__name__
        raise TypeError(f"{name} ({_short(value)}) must be {rule}, got {got}")


def check_count(name: str, value, least: int = 1) -> None:
    """A whole number that is at least least."""
    check_kind(name, value, int, "a whole number")
    if value < least:
        raise ValueError(f"{name} ({value}) must be at least {least}")


def check_probability(name: str, value) -> None:
    """A number from 0 to 1."""
    check_kind(name, value, int | float, "a number")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} ({value}) must lie in [0, 1]")


def check_sizes(**sizes) -> None:
    """What a module is made of: dropout is a probability, bias a flag, all else a count."""
    for name, value in sizes.items():
        if name == "dropout":
            check_probability(name, value)
        elif name == "bias":
            # a number in its place is usually meant for another parameter
            check_kind(name, value, bool, "True or False")
        else:
            check_count(name, value)


def check_table(num_steps, num_hiddens) -> None:
    """The sizes of a table of sines and cosines."""
    check_sizes(num_steps=num_steps, num_hiddens=num_hiddens)
    if num_hiddens % 2:
        raise ValueError(
            f"num_hiddens ({num_hiddens}) must be even: sines and cosines come in pairs"
        )


def check_heads(num_hiddens, num_heads, dropout, bias) -> None:
    """The sizes of a multi-head attention."""
    check_sizes(
        num_hiddens=num_hiddens, num_heads=num_heads, dropout=dropout, bias=bias
    )
    if num_hiddens % num_heads:
        rule = f"must be divisible by num_heads ({num_heads})"
        raise ValueError(f"num_hiddens ({num_hiddens}) {rule}")


def check_one_text(queries, keys, values) -> None:
    """Queries, keys and values of the same text."""
    for name, value in (("queries", queries), ("keys", keys), ("values", values)):
        check_shape(name, value, ("batch", "heads", "steps", "head_size"))
        check_floats(name, value)
        if value.shape != queries.shape:
            rule = f"must have the shape of queries {tuple(queries.shape)}"
            raise ValueError(f"{name} {tuple(value.shape)} {rule}")


def check_grouped_heads(num_hiddens, num_heads, num_kv_heads) -> None:
    """The sizes of an attention whose heads share keys, and are turned pair by pair."""
    check_heads(num_hiddens, num_heads, 0.0, False)
    check_sizes(num_kv_heads=num_kv_heads)
    if num_heads % num_kv_heads:
        rule = f"must be divisible by num_kv_heads ({num_kv_heads})"
        raise ValueError(f"num_heads ({num_heads}) {rule}")
    if num_hiddens // num_heads % 2:
        head_size = num_hiddens // num_heads
        raise ValueError(
            f"head_size ({head_size}) must be even: features turn in pairs"
        )


def check_rotary(X, start) -> None:
    """What is turned by its positions."""
    check_floats("X", X)
    check_shape("X", X, ("batch", "heads", "steps", "head_size"))
    if X.shape[-1] % 2:
        raise ValueError(
            f"head_size ({X.shape[-1]}) must be even: features turn in pairs"
        )
    check_count("start", start, least=0)


def check_network(num_hiddens, ffn_num_hiddens, num_outputs) -> None:
    """The sizes of a position-wise network."""
    sizes = {"num_hiddens": num_hiddens, "ffn_num_hiddens": ffn_num_hiddens}
    check_sizes(**sizes, num_outputs=num_outputs)


def check_modules(**modules) -> None:
    """Modules that are made already: no classes, no lists of parameters."""
    for name, module in modules.items():
        check_kind(name, module, nn.Module, "an nn.Module")


def check_shape(name: str, value, axes) -> None:
    """Axes of these sizes; a name in place of a size fits any."""
    got = tuple(value.shape)
    fits = len(axes) == len(got)
    for axis, size in zip(axes, got, strict=False):  # all(...) takes twice as long
        fits = fits and (axis == size or isinstance(axis, str))
    if not fits:
        shape = ", ".join(map(str, axes)) + "," * (len(axes) == 1)
        raise ValueError(f"{name} must have shape ({shape}), got {got}")


def check_floats(name: str, value) -> None:
    """A tensor of floating numbers: no list, no array."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating numbers, got {value.dtype}")


def check_integers(name: str, value, *axes) -> None:
    """A tensor of integers with these axes."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, got {value.dtype}")
    check_shape(name, value, axes)


def check_vectors(name: str, value, width: int) -> None:
    """Floating vectors of a width, however they are arranged."""
    check_floats(name, value)
    check_shape(name, value, (*value.shape[:-1], width))


def check_sequences(width: int | str, **sequences) -> None:
    """Vectors for a batch of sequences: floating, (batch, steps, width), equally many rows."""
    batch = "batch"
    for name, X in sequences.items():
        check_floats(name, X)
        check_shape(name, X, (batch, "steps", width))
        batch = len(X)


def check_valid_lens(valid_lens, num_steps: int, batch: int | str = "batch") -> None:
    """One whole number in [0, num_steps] for each sequence."""
    check_integers("valid_lens", valid_lens, batch)
    check_count("num_steps", num_steps, least=0)
    if valid_lens.is_cpu and not all(0 <= n <= num_steps for n in valid_lens.tolist()):
        rule = f"must lie between 0 and num_steps ({num_steps})"
        raise ValueError(f"valid_lens ({valid_lens.tolist()}) {rule}")


def check_lens_of(tokens, valid_lens) -> None:
    """One length for each row of tokens; padding_mask looks at the lengths themselves."""
    check_integers("tokens", tokens, "batch", "steps")
    if valid_lens is not None:
        check_integers("valid_lens", valid_lens, len(tokens))


def check_mask(mask, scores) -> None:
    """Floating scores, and a boolean tensor that broadcasts to them; None = no mask."""
    check_floats("scores", scores)
    if mask is not None:
        check_mask_fits(mask, scores.shape)


def check_mask_fits(mask, shape) -> None:
    """A boolean tensor that broadcasts to scores of this shape."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}: each size must be 1 or equal, aligned at the right"
        )


def check_queries_fit(num_queries, num_keys) -> None:
    """At least as many keys as queries: a query may always attend to its own position."""
    check_count("num_queries", num_queries, least=0)
    check_count("num_keys", num_keys, least=0)
    if num_keys < num_queries:
        rule = f"must be at least num_queries ({num_queries})"
        raise ValueError(f"num_keys ({num_keys}) {rule}")


def check_attention(queries, keys, values, dropout: float) -> None:
    """What scaled dot-product attention multiplies."""
    for name, value in (("queries", queries), ("keys", keys), ("values", values)):
        check_floats(name, value)
        if value.dim() < 2 or value.shape[:-2] != queries.shape[:-2]:
            raise ValueError(
                f"{name} {tuple(value.shape)} must have the shape (..., steps, head_size) with "
                f"the first axes of the queries {tuple(queries.shape)}"
            )
    check_probability("dropout", dropout)
    if queries.shape[-1] != keys.shape[-1] or keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"keys {tuple(keys.shape)} must have the last size of the queries "
            f"{tuple(queries.shape)} and be as many as the values {tuple(values.shape)}"
        )


def check_positions(X, start, max_len: int, num_hiddens: int) -> None:
    """X of the table's width, at positions start to start + steps - 1, all below max_len."""
    check_sequences(num_hiddens, X=X)
    check_count("start", start, least=0)
    length = start + X.shape[1]
    if length > max_len:
        raise ValueError(
            f"sequence length ({length}) must be at most max_len ({max_len})"
        )


def check_context(tokens, caches, max_len: int) -> None:
    """A text that goes on after what the caches hold, max_len tokens in all at the most."""
    length = tokens.shape[1] + (0 if caches is None else caches[0][0].shape[2])
    if length > max_len:
        raise ValueError(
            f"text ({length} tokens) must be at most max_len ({max_len}) long"
        )


def check_same_shape(X, Y, width: int) -> None:
    """What is added must have one shape: broadcasting would hide a mistake."""
    check_vectors("X", X, width)
    check_floats("Y", Y)
    if X.shape != Y.shape:
        raise ValueError(
            f"X {tuple(X.shape)} and Y {tuple(Y.shape)} must have the same shape to be added"
        )


def check_tokens(tokens, vocab_size: int) -> None:
    """Ids in [0, vocab_size), (batch, steps)."""
    check_integers("tokens", tokens, "batch", "steps")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"tokens must be int64 or int32 to be looked up, got {tokens.dtype}"
        )
    if tokens.is_cpu:
        for token in tokens[(tokens < 0) | (tokens >= vocab_size)][:1].tolist():
            check_token(token, vocab_size)


@contextlib.contextmanager
def naming_bad_ids(tokens, vocab_size: int):
    """Within it, an id that has no row in a table raises an error that names it."""
    try:
        yield
    except (IndexError, RuntimeError):
        check_tokens(tokens, vocab_size)
        raise


def check_token(token, vocab_size: int, name: str = "tokens") -> None:
    """The id of a token: it has a row in an embedding, or a place in a vocabulary."""
    check_kind(f"{name}: token id", token, int, "a whole number")
    if not 0 <= token < vocab_size:
        rule = f"must lie in [0, vocab_size) = [0, {vocab_size})"
        raise ValueError(f"{name}: token id ({token}) {rule}")


def check_vocabs(**vocabs) -> None:
    """Vocabularies: they know the ids of the reserved tokens."""
    for name, vocab in vocabs.items():
        if not hasattr(vocab, "idx_to_token"):
            check_kind(name, vocab, (), "a Vocab")


def check_device(device) -> None:
    """A device of this machine, or its name."""
    try:
        # meta has none
        torch.empty(0, device="none" if device is None else device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        rule = "must be a device of this machine, such as 'cpu'"
        raise ValueError(f"device ({device!r}) {rule}") from error


def _short(value) -> str:
    """A value as Python writes it, in one line, cut to 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
