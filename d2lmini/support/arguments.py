"""Argument checks: one call where a value is first used.

Each raises TypeError for a wrong type and ValueError for a wrong value; the message names the
parameter, its value and the rule. No check waits for a GPU: what lives there was checked before.
"""

import math
import warnings
from collections.abc import Callable, Iterable

import torch
from torch import nn
from torch.utils.data import DataLoader


def check_kind(name: str, value, kind, rule: str) -> None:
    """value must be an instance of kind; bools are not numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        text = " ".join(f"{value!r:.60}".split())
        got = type(value).__name__
        raise TypeError(f"{name} ({text}) must be {rule}, got {got}")


def check_count(name: str, value, least: int = 1) -> None:
    """value must be an integer of at least least."""
    check_kind(name, value, int, "a whole number")
    if value < least:
        raise ValueError(f"{name} ({value}) must be at least {least}")


def check_even(name: str, value) -> None:
    """value must be an even count."""
    check_count(name, value)
    if value % 2:
        raise ValueError(f"{name} ({value}) must be even: features come in pairs")


def check_divisible(**sizes) -> None:
    """The first of two counts must be divisible by the second."""
    check_arguments(**sizes)
    (name, value), (by, divisor) = sizes.items()
    if value % divisor:
        raise ValueError(f"{name} ({value}) must be divisible by {by} ({divisor})")


def check_at_most(name: str, value, limit: str, most: int) -> None:
    """value, an integer or a tensor of them, must lie in [0, most]; limit is the name of most."""
    numbers = [value]
    if isinstance(value, torch.Tensor):
        is_known = value.is_cpu and value.numel()
        numbers = [n.item() for n in value.aminmax()] if is_known else []
    for number in numbers:
        check_count(name, number, least=0)
    check_count(limit, most, least=0)
    if numbers and numbers[-1] > most:
        raise ValueError(f"{name} ({numbers[-1]}) must be at most {limit} ({most})")


def check_probability(name: str, value) -> None:
    """value must be a number in [0, 1]."""
    check_kind(name, value, int | float, "a number")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} ({value}) must lie in [0, 1]")


def check_positive(name: str, value) -> None:
    """value must be a finite number greater than 0."""
    check_kind(name, value, int | float, "a number")
    if not 0 < value < math.inf:
        raise ValueError(f"{name} ({value}) must be greater than 0, and finite")


def check_words(name: str, text) -> None:
    """text must be a string of at least one word."""
    check_kind(name, text, str, "a string")
    if not text.split():
        raise ValueError(f"{name} ({text!r}) must contain at least one word")


def check_strings(name: str, strings) -> None:
    """strings must be a list of strings; a single string would be read as its letters."""
    check_kind(name, strings, list | tuple, "a list of strings")
    if not {*map(type, strings)} <= {str}:  # a quick test: a corpus is long
        for i, string in enumerate(strings):
            check_kind(f"{name}[{i}]", string, str, "a string")


def check_pairs(name: str, pairs, kinds: tuple, rule: str) -> None:
    """pairs must be a list of tuples, each of two values of these kinds."""
    check_kind(name, pairs, list | tuple, f"a list of {rule}")
    for pair in pairs:
        check_kind(f"{name}: pair", pair, tuple, rule)
        if len(pair) != 2 or not all(map(isinstance, pair, kinds)):
            raise ValueError(f"{name}: pair ({pair!r:.60}) must be {rule}")


def check_vocab(name: str, vocab) -> None:
    """vocab must be a Vocab, or have the same attributes."""
    if not hasattr(vocab, "idx_to_token"):
        check_kind(name, vocab, (), "a Vocab")


def check_device(name: str, device) -> None:
    """device must be a device of this machine, or its name."""
    try:
        # tolist() fails on the meta device, which holds no numbers.
        torch.empty(0, device="none" if device is None else device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        rule = "must be a device of this machine, such as 'cpu'"
        raise ValueError(f"{name} ({device!r}) {rule}") from error


def check_tensors(name: str, tensors) -> None:
    """tensors must be a list or tuple of tensors."""
    check_kind(name, tensors, list | tuple, "a list or tuple of tensors")
    for i, tensor in enumerate(tensors):
        check_kind(f"{name}[{i}]", tensor, torch.Tensor, "a torch.Tensor")


def check_repeatable(name: str, batches) -> None:
    """batches must be iterable again at each epoch; a list must not be empty."""
    rule = "a DataLoader or a list of batches"
    kind = () if isinstance(batches, torch.Tensor) else Iterable
    check_kind(name, batches, kind, rule)
    # iter() of a DataLoader would draw random numbers.
    if not isinstance(batches, DataLoader) and iter(batches) is iter(batches):
        got = type(batches).__name__
        raise TypeError(f"{name} must be {rule}: a {got} is used up after one epoch")
    if isinstance(batches, list | tuple):
        check_count(f"{name}: length", len(batches))
        for batch in batches:
            check_tensors("batch", batch)


def check_path(name: str, path) -> None:
    """path must hold finite positions (batch, steps >= 2, 2); warn if they look like pixels."""
    check_finite(name, path, "batch", "steps", 2)
    check_count(f"{name}: steps", path.shape[1], least=2)
    if path.is_cpu and len(path):
        step = path.diff(dim=1).norm(dim=-1).mean().item()
        farthest = path.abs().max().item()
        if step > 2 or farthest > 200:  # a runner's step; a scene that a camera sees
            said = f"mean step is {step:.1f} and its largest coordinate {farthest:.0f}"
            warnings.warn(
                f"{name} should be in metres, 0.4 s apart, but its {said}: are they pixels?",
                stacklevel=4,
            )


# Names that may be None, and the rule of each name: a check and its settings. The tokens here
# are strings; check_tokens is for ids.
OPTIONAL = {"beam_size", "collate", "eos", "num_examples", "num_outputs", "top_k"}
RULES = {
    (check_count, 0): "bos eos num_epochs num_merges seed start warmup_steps",
    (check_even,): "head_size",
    (check_probability,): "dropout label_smoothing probability",
    (check_positive,): "lr temperature",
    (check_kind, bool, "True or False"): "bias keep_best",
    (check_kind, str, "a string"): "name pred_seq sentence story unit",
    (check_words,): "label_seq src_sentence text",
    (check_strings,): "predictions references sentences tokens training",
    (check_kind, nn.Module, "an nn.Module"): "decoder encoder net",
    (check_kind, Callable, "a function"): "choose collate loss",
    (check_vocab,): "src_vocab tgt_vocab vocab",
    (check_device,): "device",
    (check_repeatable,): "batches val_batches",
    (check_path,): "past positions",
}
RULE_OF = {name: rule for rule, names in RULES.items() for name in names.split()}


def check_arguments(**arguments) -> None:
    """Check each argument by the rule of its name; if it has none, it must be a count."""
    for name, value in arguments.items():
        if value is not None or name not in OPTIONAL:
            check, *settings = RULE_OF.get(name, (check_count,))
            check(name, value, *settings)


def check_shape(name: str, value, *axes) -> None:
    """value must have these axes: a number is a size, a string fits any, a leading ... any axes."""
    got, wanted = tuple(value.shape), axes
    if axes[:1] == (...,):
        wanted = got[: len(got) - len(axes) + 1] + axes[1:]
    fits = len(wanted) == len(got)
    for axis, size in zip(wanted, got, strict=False):  # all(...) takes twice as long
        fits = fits and (axis == size or isinstance(axis, str))
    if not fits:
        shape = ", ".join("..." if axis is ... else str(axis) for axis in axes)
        shape += "," * (len(axes) == 1)
        raise ValueError(f"{name} must have shape ({shape}), got {got}")


def check_floats(name: str, value, *axes) -> None:
    """value must be a floating-point tensor with these axes."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating numbers, got {value.dtype}")
    check_shape(name, value, *axes)


def check_finite(name: str, value, *axes) -> None:
    """value must be a floating-point tensor with these axes; on the CPU, all of it finite."""
    check_floats(name, value, *axes)
    if value.is_cpu and not value.isfinite().all():
        first = value.isfinite().logical_not().nonzero()[0].tolist()
        raise ValueError(f"{name} must be finite, got NaN or infinity at {first}")


def check_integers(name: str, value, *axes) -> None:
    """value must be an integer tensor with these axes."""
    check_kind(name, value, torch.Tensor, "a torch.Tensor")
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, got {value.dtype}")
    check_shape(name, value, *axes)


def check_tokens(tokens, vocab_size: int) -> None:
    """tokens must be ids (batch, steps) in [0, vocab_size), int32 or int64."""
    check_integers("tokens", tokens, "batch", "steps")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"tokens must be int32 or int64, got {tokens.dtype}")
    check_at_most("tokens", tokens, "vocab_size - 1", vocab_size - 1)


def check_lens(valid_lens, tokens) -> None:
    """valid_lens must be None or hold an integer for each row of tokens."""
    check_integers("tokens", tokens, "batch", "steps")
    if valid_lens is not None:  # padding_mask checks how large they are
        check_integers("valid_lens", valid_lens, len(tokens))


def check_mask(mask, shape) -> None:
    """mask must be None, or a boolean tensor that broadcasts to scores of this shape."""
    if mask is None:
        return
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if 2 < mask.dim() < len(shape):  # a batch axis would be read as the heads'
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} must have as many axes as the scores "
            f"({len(shape)}), or only (queries, keys): mask[:, None] gives it one for the heads"
        )
    if mask.dim() > len(shape) or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}: each size must be 1 or equal, aligned at the right"
        )


def check_attention(queries, keys, values, dropout: float) -> None:
    """queries (..., queries, head_size) must fit keys and values (..., keys, head_size)."""
    check_floats("queries", queries, ..., "queries", "head_size")
    *first, _, head_size = queries.shape
    check_floats("keys", keys, *first, "keys", head_size)
    check_floats("values", values, *first, keys.shape[-2], "head_size")
    check_probability("dropout", dropout)


def check_self_attention(queries, keys, values) -> None:
    """queries, keys and values must have one shape, (batch, heads, steps, head_size)."""
    check_floats("queries", queries, "batch", "heads", "steps", "head_size")
    check_floats("keys", keys, *queries.shape)
    check_floats("values", values, *queries.shape)


def check_last_pass(last_pass) -> None:
    """last_pass must exist: the layer has been called."""
    if last_pass is None:
        raise ValueError("attention_weights needs a forward pass first, got none")


def check_positions(X, start, max_len: int, num_hiddens: int) -> None:
    """X must be (batch, steps, num_hiddens), its positions, from start, below max_len."""
    check_floats("X", X, "batch", "steps", num_hiddens)
    check_arguments(start=start)
    check_at_most("sequence length", start + X.shape[1], "max_len", max_len)


def check_logits(logits, labels, valid_lens, label_smoothing) -> None:
    """logits must be (batch, steps, vocab_size), labels (batch, steps), and not all padding."""
    check_floats("logits", logits, "batch", "steps", "vocab_size")
    batch, num_steps, _ = logits.shape
    check_integers("labels", labels, batch, num_steps)
    check_integers("valid_lens", valid_lens, batch)
    check_at_most("valid_lens", valid_lens, "num_steps", num_steps)
    check_arguments(label_smoothing=label_smoothing)
    if valid_lens.is_cpu and not valid_lens.any():
        lens = valid_lens.tolist()
        raise ValueError(f"valid_lens ({lens}) must leave a token to score")


def check_parts(batch, *names) -> None:
    """batch must have these parts."""
    if len(batch) != len(names):
        parts = ", ".join(names)
        raise ValueError(f"batch must be ({parts}), got {len(batch)} parts")


def check_ids(ids, vocab_size: int) -> None:
    """ids must be a list of token ids in [0, vocab_size)."""
    check_kind("ids", ids, list | tuple, "a list of token ids")
    for token in ids:
        check_at_most("ids", token, "vocab_size - 1", vocab_size - 1)


def check_as_many(predictions, references) -> None:
    """There must be as many predictions as references, at least one, no reference empty."""
    check_arguments(predictions=predictions, references=references)
    count, due = len(predictions), len(references)
    if count != due or not due:
        rule = f"must equal len(references) ({due}), and be at least 1"
        raise ValueError(f"len(predictions) ({count}) {rule}")
    for reference in references:
        check_words("references", reference)


def check_arrays(arrays, batch_size, collate) -> None:
    """arrays must be tensors with equally many rows, at least one."""
    check_tensors("arrays", arrays)
    rows = [len(array) if array.dim() else 0 for array in arrays]
    if len(set(rows)) != 1 or not rows[0]:
        rule = "must have equally many rows, at least one"
        raise ValueError(f"arrays {rule}, got {rows}")
    check_arguments(batch_size=batch_size, collate=collate)
