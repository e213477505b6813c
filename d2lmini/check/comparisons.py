"""Compare a block with a reference, with its own cached decoding, and with its weights.

See properties.py.
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from d2lmini.check.trying import (
    ERRORS,
    Result,
    call,
    check_tried,
    copies,
    difference,
    largest,
    mode,
    other,
    raised,
    rounding,
    same_draws,
)


def matches(
    block: Callable, reference: Callable, *inputs, tolerance: float | None = None
) -> Result:
    """Check that block(*inputs) equals reference(*inputs), including shape and dtype.

    Either may return one tensor, or several in a tuple, list or dict.

    Args:
        tolerance: None = the rounding error of the dtype of the reference.
    Source: chapter 4.
    """
    check_tried(block=block, reference=reference)
    with same_draws(*inputs):
        ours = block(*copies(inputs))
    with same_draws(*inputs):
        theirs = reference(*copies(inputs))
    ours, theirs = list(_parts(ours)), list(_parts(theirs))
    if len(ours) != len(theirs):
        sentence = f"The output has {len(ours)} parts instead of {len(theirs)}."
        return Result("matches", False, float("inf"), sentence)
    worst, excess, limit = 0.0, False, 0.0
    for mine, due in zip(ours, theirs, strict=True):
        if not (isinstance(mine, Tensor) and isinstance(due, Tensor)):
            if isinstance(mine, Tensor) or isinstance(due, Tensor) or mine != due:
                sentence = f"The output has {_short(mine)} instead of {_short(due)}."
                return Result("matches", False, float("inf"), sentence)
            continue
        if mine.shape != due.shape:
            shapes = f"{tuple(mine.shape)} instead of {tuple(due.shape)}"
            return Result(
                "matches", False, float("inf"), f"The output has shape {shapes}."
            )
        if mine.dtype != due.dtype:
            sentence = f"The output is {mine.dtype} instead of {due.dtype}."
            return Result("matches", False, float("inf"), sentence)
        allowed = rounding(due) if tolerance is None else tolerance
        size = largest(difference(mine, due))
        worst, limit = max(worst, size), max(limit, allowed)
        excess = excess or size > allowed
    if excess:
        return Result("matches", False, worst, f"Outputs differ by up to {worst:.2g}.")
    return Result("matches", True, worst, f"The outputs agree to within {limit:.2g}.")


def incremental(
    decoder: Callable,
    X: Tensor,
    memory: Tensor,
    memory_mask: Tensor | None = None,
) -> Result:
    """Check that decoding with a cache, step by step, gives the outputs of the whole sequence.

    Also try two positions in each call, between which a mask is still needed, and a whole prefix
    in the first, as when continuing a text.

    Args:
        decoder: decoder(X, memory, memory_mask, cache) -> (output, cache), with cache None
            in the first call, such as DecoderBlock and TransformerDecoder.
        X: (batch, steps, features), or token ids (batch, steps).
    Source: chapter 8.
    """
    check_tried(X, decoder=decoder)
    steps = X.shape[1]
    ways = {  # (positions read first, positions read in each further call)
        "One by one": (1, 1),
        "After a prefix read at once": ((steps + 1) // 2, 1),
        "Two at a time": (1, 2),
    }
    worst = 0.0
    with mode(decoder, training=False):
        whole = call(decoder, X, memory, memory_mask, None)[0]
        for way, (first, at_once) in ways.items():
            cuts = [0, *range(first, steps, at_once), steps]
            outputs, cache = [], None
            try:
                for begin, end in pairwise(cuts):
                    now = X[:, begin:end]
                    output, cache = call(decoder, now, memory, memory_mask, cache)
                    outputs.append(output)
                pieces = torch.cat(outputs, dim=1)
            except ERRORS as error:
                return raised("incremental", f"{way} with a cache,", error)
            if pieces.shape != whole.shape:
                shapes = f"{tuple(pieces.shape)} instead of {tuple(whole.shape)}"
                sentence = f"{way}, the output has shape {shapes}."
                return Result("incremental", False, float("inf"), sentence)
            moved = difference(pieces, whole)
            worst = max(worst, size := largest(moved))
            if size > rounding(whole):
                off = (moved.flatten(2).amax(-1) > rounding(whole)).any(0)  # (steps,)
                sentence = (
                    f"{way}, the output at position {int(off.int().argmax())} differs by "
                    f"up to {size:.2g} from that of the whole sequence."
                )
                return Result("incremental", False, size, sentence)
        half = (steps + 1) // 2 - (steps == 1)
        _, cache = (
            call(decoder, X[:, :half], memory, memory_mask, None) if half else (0, None)
        )
        reads = [X, other(X), X]  # as beams do, which share what was read before
        once, _, again = (
            call(decoder, now[:, half : half + 1], memory, memory_mask, cache)[0]
            for now in reads
        )
        if (size := largest(difference(once, again))) > rounding(once):
            sentence = f"From one cache, the same token gives outputs that differ by {size:.2g}."
            return Result("incremental", False, size, sentence)
    return Result(
        "incremental", True, worst, "Step by step or at once, the same output."
    )


def weights_explain_output(
    attention: Callable,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
) -> Result:
    """Check that the weights that an attention returns are those with which it mixes the values.

    If the same vector is added to the value at key j, the output at query i moves by the sum
    over the heads of weight (i, j) times a vector that depends only on the head.

    Args:
        attention: attention(queries, keys, values, mask) -> (output, weights).
    Shapes:
        queries: (batch, queries, features); keys, values: (batch, keys, features)
        output: (batch, queries, features); weights: (batch, heads, queries, keys)
    Source: chapter 5.
    """
    check_tried(queries, attention=attention)
    name, num_keys = "weights_explain_output", keys.shape[1]
    with mode(attention, training=False):
        try:
            output, weights = call(attention, queries, keys, values, mask)
        except ERRORS as error:
            return raised(name, "With these queries, keys and values", error)
        shape = (len(queries), queries.shape[1], num_keys)
        if not isinstance(weights, Tensor):
            sentence = f"It returned {_short(weights)} in place of weights."
            return Result(name, False, float("inf"), sentence)
        if output.dim() < 3 or output.shape[:2] != queries.shape[:2]:
            sentence = (
                f"The output is {tuple(output.shape)}, not (batch, queries, features)."
            )
            return Result(name, False, float("inf"), sentence)
        if weights.dim() != 4 or (len(weights), *weights.shape[2:]) != shape:
            sentence = f"The weights are {tuple(weights.shape)}, not (batch, heads, queries, keys)."
            return Result(name, False, float("inf"), sentence)
        pushed = (
            torch.arange(1, values.shape[-1] + 1, device=values.device).cos().to(values)
        )
        moved = []
        for key in range(num_keys):
            changed = values.clone()
            changed[:, key] += pushed
            after = call(attention, queries, keys, changed, mask)[0]
            moved.append(after.cpu().double() - output.cpu().double())
    # (batch * queries * keys, features)
    moved = torch.stack(moved, dim=2).flatten(0, 2)
    # (batch, queries, keys, heads)
    weights = weights.cpu().double().permute(0, 2, 3, 1)
    off = largest(difference(weights.sum(2), (weights != 0).any(2).double()))
    if off > rounding(output):
        sentence = f"The sum of a row of weights is off by {off:.2g}."
        return Result(name, False, off, sentence)
    weights = weights.flatten(0, 2)  # (batch * queries * keys, heads)
    if not moved.any() and weights.any():
        return Result(name, False, 0.0, "No output moves when the values change.")
    # the best vector for each head
    by_head = torch.linalg.lstsq(weights, moved, driver="gelsd").solution
    worst = largest(weights @ by_head - moved)
    if worst > rounding(output):
        sentence = f"The output is not the mixture that the weights describe: off by {worst:.2g}."
        return Result(name, False, worst, sentence)
    return Result(name, True, worst, "The values are mixed by the reported weights.")


def _parts(output):
    """Yield the tensors and other parts of an output, in order."""
    if isinstance(output, dict):
        output = [part for item in output.items() for part in item]
    if not isinstance(output, tuple | list):
        yield output
        return
    for part in output:
        yield from _parts(part)


def _short(part):
    """Describe a part of an output briefly."""
    return "a tensor" if isinstance(part, Tensor) else repr(part)[:40]
