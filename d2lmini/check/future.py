"""The doctor's examination of the future, and what usually makes it leak; see examinations.py."""

import torch
from torch import nn

from d2lmini.check.whole_models import FAILS, HOLDS, culprit, moved_at, traced


def future(subject):
    """No output moves when a later token changes."""
    tokens, last = subject.tokens, subject.tokens.shape[1] - 1
    seen = torch.zeros(last + 1, last + 1, dtype=torch.bool)  # (outputs, inputs)
    for t in range(1, last + 1):
        changed = tokens.clone()
        changed[:, t] = subject.other(tokens)[:, t]
        moved, limit = subject.moved(changed)
        seen[:, t] = (moved > limit).any(0)
    leaks = seen.triu(1)
    if not leaks.any():
        return HOLDS, "No output depends on a later token."
    row, column = leaks.nonzero()[0].tolist()
    sentence = f"Changing {subject.token} {column} moves the output at position {row}"
    changed = torch.cat([tokens[:, :-1], subject.other(tokens)[:, -1:]], dim=1)
    found = culprit(subject, tokens, changed, (slice(None), slice(0, last)))
    if found:
        sentence += f", first in {found[0]} ({type(found[1]).__name__})"
    part, moved = found[1:] if found else (None, [])
    if getattr(part, "bidirectional", False):
        cause = "bidirectional=True: a recurrent layer that reads from both ends"
    elif part and any(isinstance(m, nn.Conv1d) for m in part.modules()):
        cause = "a convolution that is padded on both sides, and not on the left only"
    elif part and _is_norm(part):
        cause = "a norm or a mean over the steps"
    elif part and _holds_layers(part):
        cause = _inside(subject, part)
    else:
        cause = _pattern(_seen_at(subject, part, seen), moved)
        matrices = (
            [m for m in part.children() if isinstance(m, nn.Linear)] if part else [part]
        )
        if not cause and not matrices:
            cause = "a norm or a mean over the steps"
        elif not cause and part and len(moved) < last:
            cause = HEADS
    sentence += "."
    return FAILS, sentence, cause or NO_MASK, "chapter 2, Blind to the future"


def _seen_at(subject, part, seen):
    """Which outputs of a part move with which tokens; seen, of the whole, if it is not known."""
    columns = []
    for t in range(subject.tokens.shape[1] if part else 0):
        changed = subject.tokens.clone()
        changed[:, t] = subject.other(changed)[:, t]
        first = (run for run in zip(traced(subject, subject.tokens), traced(subject, changed),
                 strict=False) if run[0][1] is part)  # fmt: skip
        a, b = next(first, (None, None))
        columns.append(a and moved_at(a[3], b[3]))
    if not columns or any(column is None for column in columns):
        return seen
    return torch.stack(columns, dim=1)


def _is_norm(part):
    """Whether a part has gains and shifts, and no matrices."""
    dims = [p.dim() for p in part.parameters()]
    return bool(dims) and max(dims) < 2


NO_MASK = (
    "no causal mask there, a mask of the wrong shape, or one added after the softmax"
)
HEADS = "heads that are not transposed back before they are joined"


def _pattern(seen, moved) -> str:
    """The cause, if it shows in which outputs move with which inputs, and with the last."""
    last = len(seen) - 1
    if moved in ([0], [0, last]):
        return "a mask that hides each position from itself, so that the first sees anything"
    if not seen[:-1].tril(-1)[:, 1:].any():  # the last sees nothing, and so perhaps all
        return "a mask that is inverted: some functions take True for may, others for may not"
    is_near = moved == [last - 1, last] or not seen.triu(3).any()
    if is_near and seen.diagonal(1).all():
        if seen.diagonal(2).any() and moved != [last - 1, last]:
            return "a mask that is off by two, or by one in each of two layers"
        return "a mask that is off by one, so that each position sees the next token"
    return ""


def _holds_layers(part):
    """Whether a part has a list of layers, which are more than matrices."""
    lists = (m for m in part.children() if isinstance(m, nn.ModuleList))
    return any(not isinstance(layer, nn.Linear) for layers in lists for layer in layers)


def _inside(subject, part) -> str:
    """The cause of a leak in the forward of a part that calls all its layers itself."""
    inside = {id(m) for m in part.modules()}
    usual = [run for run in traced(subject, subject.tokens) if id(run[1]) in inside]
    steps, columns = subject.tokens.shape[1], []
    for t in range(steps):
        changed = subject.tokens.clone()
        changed[:, t] = subject.other(changed)[:, t]
        runs = (run for run in traced(subject, changed) if id(run[1]) in inside)
        columns.append([moved_at(a[2], b[2]) for a, b in zip(usual, runs, strict=True)])
    for number, came in enumerate(zip(*columns, strict=True)):  # part by part
        if any(c is None for c in came) or not torch.stack(came, 1).triu(1).any():
            continue
        seen = torch.stack(came, dim=1)  # (steps of what enters it, steps of the text)
        before = [p for _, p, *_ in usual[:number] if not isinstance(p, nn.Dropout)]
        if all(isinstance(p, nn.Embedding) for p in before):
            return "later tokens that get into the input"
        if cause := _pattern(seen, seen[:, -1].nonzero().flatten().tolist()):
            return cause
        if not _is_attention(before):
            return "a norm or a mean over the steps"
        return NO_MASK if seen.all() else HEADS
    return "something in its forward that reads along the steps, such as a norm over two axes"


def _is_attention(before):
    """Whether the last parts called were matrices for queries, keys and values, or all in one."""
    kinds = ["L" if isinstance(part, nn.Linear) else "-" for part in before]
    matrices = len("".join(kinds)) - len("".join(kinds).rstrip("L"))
    is_wide = matrices == 1 and before[-1].out_features >= 3 * before[-1].in_features
    return matrices in (2, 3) or is_wide
