"""The parameters of a network, as forward.js reads them."""

import json

import numpy as np

from d2lmini.support.eight_bits import from_bytes, to_bytes


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
    """What the browser needs of a translator on pieces of words: see SubwordTranslator.parts.

    But for the pieces, which come with the numbers: see pieces_and_numbers.
    """
    layers = {
        name.split(".")[3] for name in numbers if name.startswith("encoder.stack")
    }
    return {
        **pack(numbers, num_heads, len(layers), bits=8),
        "tied": [*tied.items()],
        "num_pieces": len(tokens),
        "num_steps": num_steps,
    }


def pieces_and_numbers(parts):
    """The pieces of a translator's words and, behind them, its numbers in 8 bits each.

    Only who asks for the network needs its words: a page is lighter without them.
    """
    words = {"tokens": parts["tokens"], "merges": [*parts["merges"]]}
    text = json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + in_bits(parts["numbers"])


def whole_numbers(tensor, bits):
    """The whole numbers and scales of to_bytes, but of 8 bits or less.

    Of less, the scales and a vector are rounded to 16 bits.
    """
    if bits == 8:
        return to_bytes(tensor)
    if tensor.dim() < 2:
        return tensor.half().float(), 1
    largest = 2 ** (bits - 1) - 1
    scales = (tensor.abs().amax(dim=1, keepdim=True) / largest).half().float()
    scales = scales.clamp(min=2**-24)  # the smallest number of 16 bits
    return (tensor / scales).round().clamp(-largest, largest).char(), scales


def in_bits(numbers, bits=8):
    """The numbers of a state_dict, a matrix as a scale and a row of whole numbers at a time.

    A quarter of the size of floats, or less: enough for a figure, and a page should be small.
    """
    kind = "<f4" if bits == 8 else "<f2"
    parts = []
    for tensor in on_cpu(numbers).values():
        whole, scales = whole_numbers(tensor, bits)
        if tensor.dim() < 2:
            parts.append(whole.numpy().astype(kind).tobytes())
            continue
        shifted = whole.numpy().astype(np.int16) + 2 ** (bits - 1)  # none below 0
        each = np.unpackbits(shifted.astype(np.uint8)[..., None], axis=-1)[..., -bits:]
        rows = np.packbits(each.reshape(len(whole), -1), axis=-1)
        for row, scale in zip(rows, scales.numpy(), strict=True):
            parts += [scale.astype(kind).tobytes(), row.tobytes()]
    return b"".join(parts)


def floats(numbers, bits=32):
    """The numbers of a state_dict, one after the other, of so many bits."""
    if bits == 8:
        return in_bits(numbers)
    kind = {32: "<f4", 16: "<f2"}[bits]
    return b"".join(t.numpy().astype(kind).tobytes() for t in numbers.values())


def bits_of(numbers):
    """8 or 16 if that loses nothing of the numbers of a state_dict, else 32.

    Nothing but the last digit of a float: who has been in 8 bits has other scales the next time.
    """
    if all(from_bytes(*to_bytes(t)).allclose(t, 1e-6, 0) for t in numbers.values()):
        return 8
    exact = all(t.half().float().equal(t) for t in numbers.values())
    return 16 if exact else 32
