"""The parameters of a network, as forward.js reads them."""

from d2lmini.eight_bits import to_bytes


def on_cpu(numbers):
    """The numbers of a state_dict in float32, without their gradients."""
    return {name: tensor.detach().float().cpu() for name, tensor in numbers.items()}


def pack(numbers, num_heads, num_layers, bits=32):
    """What forward.js needs to find its way in the numbers of a state_dict, of so many bits."""
    # Pairs and no dict: Jupyter sorts the keys of a dict when it saves a notebook.
    shapes = [(name, list(tensor.shape)) for name, tensor in numbers.items()]
    return {
        "shapes": shapes,
        "bits": bits,
        "num_heads": num_heads,
        "num_layers": num_layers,
    }


def pack_pieces(numbers, tied, tokens, merges, num_heads, num_steps):
    """What the browser needs of a translator on pieces of words: see SubwordTranslator.parts."""
    layers = {
        name.split(".")[3] for name in numbers if name.startswith("encoder.stack")
    }
    return {
        **pack(numbers, num_heads, len(layers), bits=8),
        "tied": [*tied.items()],
        "tokens": tokens,
        "merges": [*merges],
        "num_steps": num_steps,
    }


def eighths(numbers):
    """The numbers of a state_dict, a matrix as a scale (float32) and a row of int8 at a time.

    A quarter of the size of floats: enough for a figure, and a page should be small.
    """
    parts = []
    for tensor in on_cpu(numbers).values():
        whole, scales = to_bytes(tensor)
        if tensor.dim() < 2:
            parts.append(tensor.numpy().astype("<f4").tobytes())
            continue
        for row, scale in zip(whole.numpy(), scales.numpy(), strict=True):
            parts += [scale.astype("<f4").tobytes(), row.tobytes()]
    return b"".join(parts)


def floats(numbers, bits=32):
    """The numbers of a state_dict, one after the other, as floats of so many bits."""
    kind = {32: "<f4", 16: "<f2"}[bits]
    return b"".join(t.numpy().astype(kind).tobytes() for t in numbers.values())


def bits_of(numbers):
    """16 if that loses nothing of the numbers of a state_dict, else 32."""
    exact = all(t.half().float().equal(t) for t in numbers.values())
    return 16 if exact else 32
