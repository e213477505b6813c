"""The numbers of a net, as forward.js reads them."""


def pack(numbers, num_heads, num_layers):
    """What forward.js needs to find its way in the numbers of a state_dict."""
    # Pairs and no dict: Jupyter sorts the keys of a dict when it saves a notebook.
    shapes = [(name, list(tensor.shape)) for name, tensor in numbers.items()]
    return {"shapes": shapes, "num_heads": num_heads, "num_layers": num_layers}


def floats(numbers):
    """The numbers of a state_dict, one after the other, as float32."""
    return b"".join(t.numpy().astype("<f4").tobytes() for t in numbers.values())
