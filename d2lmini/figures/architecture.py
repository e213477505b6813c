"""The drawing of the whole Transformer, of the preface and of chapter 7."""

from d2lmini.figures.plots import show_flow


def show_transformer():
    """Encoder and decoder from the tokens to the logits, with the shapes on the arrows.

    Source: Vaswani et al. 2017, figure 1; chapter 7.
    """
    boxes = {
        "encoder": (0.3, 1.75, 2.6, 2.15, "", "frame"),
        "decoder": (4.2, 1.75, 2.6, 3.25, "", "frame"),
        "src": (0.5, 0.15, 2.2, 0.35, "she doesn't know him . <eos>", "plain"),
        "src_embedding": (0.5, 1.0, 2.2, 0.35, "embedding + positions", "embedding"),
        "self": (0.5, 1.95, 2.2, 0.35, "self-attention", "attention"),
        "norm1": (0.5, 2.4, 2.2, 0.3, "add & norm", "norm"),
        "ffn": (0.5, 2.95, 2.2, 0.35, "feed-forward", "network"),
        "norm2": (0.5, 3.4, 2.2, 0.3, "add & norm", "norm"),
        "tgt": (4.4, 0.15, 2.2, 0.35, "<bos> elle ne le connaît pas .", "plain"),
        "tgt_embedding": (4.4, 1.0, 2.2, 0.35, "embedding + positions", "embedding"),
        "causal": (4.4, 1.95, 2.2, 0.35, "causal self-attention", "attention"),
        "norm3": (4.4, 2.4, 2.2, 0.3, "add & norm", "norm"),
        "cross": (4.4, 2.95, 2.2, 0.35, "cross-attention", "attention"),
        "norm4": (4.4, 3.4, 2.2, 0.3, "add & norm", "norm"),
        "ffn2": (4.4, 3.95, 2.2, 0.35, "feed-forward", "network"),
        "norm5": (4.4, 4.4, 2.2, 0.3, "add & norm", "norm"),
        "output": (4.4, 5.45, 2.2, 0.35, "output layer", "output"),
        "next": (4.4, 6.25, 2.2, 0.35, "elle ne le connaît pas . <eos>", "plain"),
    }
    left, right = 1.6, 5.5  # the middle of each column
    arrows = [
        ([(left, 0.5), (left, 1.0)], "(batch, steps)"),
        ([(left, 1.35), (left, 1.95)], "(batch, steps, d)"),
        ([(left, 2.7), (left, 2.95)], ""),
        ([(left, 3.7), (left, 4.15), (3.55, 4.15), (3.55, 3.125), (4.4, 3.125)], ""),
        ([(right, 0.5), (right, 1.0)], "(batch, steps)"),
        ([(right, 1.35), (right, 1.95)], "(batch, steps, d)"),
        ([(right, 2.7), (right, 2.95)], ""),
        ([(right, 3.7), (right, 3.95)], ""),
        ([(right, 4.7), (right, 5.45)], "(batch, steps, d)"),
        ([(right, 5.8), (right, 6.25)], "(batch, steps, vocab)"),
    ]
    for x, side, bottoms in (
        (left, 0.4, (1.85, 2.83)),
        (right, 6.7, (1.85, 2.83, 3.83)),
    ):
        edge = 0.5 if side < x else 6.6
        for y in bottoms:  # shortcuts, from below a part to the add & norm above it
            arrows.append(([(x, y), (side, y), (side, y + 0.7), (edge, y + 0.7)], ""))
    labels = {
        "memory": (1.7, 4.2, 1.8, 0.3, "memory (batch, steps, d)", "none"),
        "n_left": (0.3, 3.68, 0.5, 0.2, "× N", "none"),
        "n_right": (4.2, 4.78, 0.5, 0.2, "× N", "none"),
    }
    show_flow(boxes | labels, arrows, figsize=(7.1, 6.75))
