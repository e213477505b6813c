"""Diagrams of the whole Transformer: with shapes, and small, to show where a chapter is."""

from d2lmini.figures.plots import show_flow

NORM = ("add & norm", "norm")
# The two columns of the small diagram, from the bottom: the name of a part and its kind
ENCODER = [
    ("embedding", "embedding"), ("positions", "embedding"),
    ("self-attention", "attention"), NORM, ("feed-forward", "network"), NORM,
]  # fmt: skip
DECODER = [
    ("embedding", "embedding"), ("positions", "embedding"),
    ("causal self-attention", "attention"), NORM, ("cross-attention", "attention"), NORM,
    ("feed-forward", "network"), NORM, ("output layer", "output"),
]  # fmt: skip


def show_transformer():
    """Draw encoder and decoder from tokens to logits, with shapes on the arrows.

    Source: Vaswani et al. 2017, figure 1; chapter 8.
    """
    boxes = {
        "encoder": (0.3, 1.75, 2.6, 2.4, "", "frame"),
        "decoder": (4.2, 1.75, 2.6, 3.5, "", "frame"),
        "src": (0.5, 0.15, 2.2, 0.35, "she doesn't know him . <eos>", "plain"),
        "src_embedding": (0.5, 1.0, 2.2, 0.35, "embedding + positions", "embedding"),
        "self": (0.5, 1.95, 2.2, 0.35, "self-attention", "attention"),
        "norm1": (0.5, 2.5, 2.2, 0.3, "add & norm", "norm"),
        "ffn": (0.5, 3.05, 2.2, 0.35, "feed-forward", "network"),
        "norm2": (0.5, 3.6, 2.2, 0.3, "add & norm", "norm"),
        "tgt": (4.4, 0.15, 2.2, 0.35, "<bos> elle ne le connaît pas .", "plain"),
        "tgt_embedding": (4.4, 1.0, 2.2, 0.35, "embedding + positions", "embedding"),
        "causal": (4.4, 1.95, 2.2, 0.35, "causal self-attention", "attention"),
        "norm3": (4.4, 2.5, 2.2, 0.3, "add & norm", "norm"),
        "cross": (4.4, 3.05, 2.2, 0.35, "cross-attention", "attention"),
        "norm4": (4.4, 3.6, 2.2, 0.3, "add & norm", "norm"),
        "ffn2": (4.4, 4.15, 2.2, 0.35, "feed-forward", "network"),
        "norm5": (4.4, 4.7, 2.2, 0.3, "add & norm", "norm"),
        "output": (4.4, 5.7, 2.2, 0.35, "output layer", "output"),
        "next": (4.4, 6.5, 2.2, 0.35, "elle ne le connaît pas . <eos>", "plain"),
    }
    left, right = 1.6, 5.5  # centres of the columns
    arrows = [
        ([(left, 0.5), (left, 1.0)], "(batch, steps)"),
        ([(left, 1.35), (left, 1.95)], "(batch, steps, d)"),
        ([(left, 3.9), (left, 4.4), (3.55, 4.4), (3.55, 3.225), (4.4, 3.225)], ""),
        ([(right, 0.5), (right, 1.0)], "(batch, steps)"),
        ([(right, 1.35), (right, 1.95)], "(batch, steps, d)"),
        ([(right, 5.0), (right, 5.7)], "(batch, steps, d)"),
        ([(right, 6.05), (right, 6.5)], "logits (batch, steps, vocab)"),
    ]
    for x, side, parts in ((left, 0.4, 2), (right, 6.7, 3)):
        edge = 0.5 if side < x else 6.6
        for y in (1.95, 3.05, 4.15)[:parts]:  # the bottom edge of a part
            arrows.append(([(x, y + 0.35), (x, y + 0.55)], ""))  # to its add & norm
            if y > 2:
                arrows.append(([(x, y - 0.25), (x, y)], ""))  # from the previous part
            # The shortcut, from below the part to its add & norm
            low, high = y - 0.12, y + 0.7
            arrows.append(([(x, low), (side, low), (side, high), (edge, high)], ""))
    labels = {
        "memory": (1.7, 4.45, 1.8, 0.3, "memory (batch, steps, d)", "none"),
        "n_left": (0.3, 3.92, 0.5, 0.2, "× N", "none"),
        "n_right": (4.2, 5.02, 0.5, 0.2, "× N", "none"),
    }
    show_flow(boxes | labels, arrows, figsize=(7.1, 7.0))


def show_part(*parts, words=()):
    """Draw the whole Transformer in small, in colour only the parts that a chapter is about.

    Args:
        parts: how the names of these parts end, such as "attention"; "encoder" and "decoder"
            are all parts of one column, "decoder-only" those that need no encoder.
        words: what enters on the left and on the right, and what comes out.
    Source: chapter 1.
    """
    boxes, arrows = {}, []
    low = 0.62 if words else 0.15  # room for the words that enter
    top = low + 0.32 * 5 + 0.22
    end = low + 0.32 * 8 + 0.22
    for word, (x, y, start) in zip(
        words,
        ((0.15, 0.1, 0.36), (2.4, 0.1, 0.36), (2.4, end + 0.28, end)),
        strict=False,
    ):
        boxes[x, word] = (x, y, 1.75, 0.2, word, "none")
        arrows.append(([(x + 0.875, start), (x + 0.875, start + 0.24)], ""))
    columns = {"encoder": (0.15, ENCODER), "decoder": (2.4, DECODER)}
    for side, (x, column) in columns.items():
        for row, (name, kind) in enumerate(column):
            y = low + 0.32 * row
            lit = side in parts or any(name.endswith(part) for part in parts)
            if side == "decoder" and "decoder-only" in parts:
                lit = row not in (4, 5)  # cross-attention and its norm
            boxes[x, row] = (x, y, 1.75, 0.22, name, kind if lit else "plain")
            if row:
                arrows.append(([(x + 0.875, y - 0.1), (x + 0.875, y)], ""))
            if lit and name == "add & norm":  # the shortcut around the part below
                around, below = x + 1.84, y - 0.37
                path = [(x + 0.875, below), (around, below), (around, y + 0.11)]
                arrows.append(([*path, (x + 1.75, y + 0.11)], ""))
    memory = low + 0.32 * 4 + 0.11  # cross-attention
    path = [(1.025, top), (1.025, top + 0.15), (2.15, top + 0.15), (2.15, memory)]
    arrows.append(([*path, (2.4, memory)], ""))
    boxes["encoder"] = (0.15, top + 0.3, 1.75, 0.2, "encoder", "none")
    above = 0.55 if words else 0.05
    boxes["decoder"] = (2.4, end + above, 1.75, 0.2, "decoder", "none")
    show_flow(boxes, arrows, figsize=(4.3, 4.2 if words else 3.25))
