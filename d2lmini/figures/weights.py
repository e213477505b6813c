"""The parameters of a network, as forward.js reads them."""

from d2lmini.eight_bits import to_bytes


def pack(numbers, num_heads, num_layers):
    """What forward.js needs to find its way in the numbers of a state_dict."""
    # Pairs and no dict: Jupyter sorts the keys of a dict when it saves a notebook.
    shapes = [(name, list(tensor.shape)) for name, tensor in numbers.items()]
    return {"shapes": shapes, "num_heads": num_heads, "num_layers": num_layers}


def eighths(numbers):
    """The numbers of a state_dict, a matrix as a scale (float32) and a row of int8 at a time.

    A quarter of the size of floats: enough for a figure, and a page should be small.
    """
    parts = []
    for tensor in numbers.values():
        whole, scales = to_bytes(tensor)
        if tensor.dim() < 2:
            parts.append(tensor.numpy().astype("<f4").tobytes())
            continue
        for row, scale in zip(whole.numpy(), scales.numpy(), strict=True):
            parts += [scale.astype("<f4").tobytes(), row.tobytes()]
    return b"".join(parts)


def floats(numbers):
    """The numbers of a state_dict, one after the other, as float32."""
    return b"".join(t.numpy().astype("<f4").tobytes() for t in numbers.values())
