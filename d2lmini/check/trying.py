"""How a property tries a block: in which mode, with which random numbers, on which inputs.

And what it says in the end: a Result.
"""

import textwrap
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from d2lmini.support.arguments import check_kind

TOLERANCE = 1e-5  # what rounding in float32 may change


@dataclass
class Result:
    """What a property found; true if it holds.

    Args:
        name: of the property.
        holds: the verdict.
        deviation: the largest deviation from what the property asks for.
        sentence: what was found, in words.
    Source: chapter 2.
    """

    name: str
    holds: bool
    deviation: float
    sentence: str

    def __bool__(self):
        return self.holds

    def __repr__(self):
        verdict = "holds" if self.holds else "FAILS"
        text = f"{self.name}: {verdict}. {self.sentence}"
        return textwrap.fill(text, 88, subsequent_indent="    ")  # the width of a page


def check_tried(X=None, **blocks) -> None:
    """Functions or modules that are made already, and what they are tried on."""
    for name, block in blocks.items():
        if isinstance(block, type) or not callable(block):
            rule = "must be a function or a module, made already"
            raise TypeError(f"{name} ({block!r:.60}) {rule}")
    if X is not None:
        check_kind("X", X, Tensor, "a torch.Tensor")
        if X.dim() < 2:
            raise ValueError(
                f"X {tuple(X.shape)} must have the shape (batch, steps, ...)"
            )


ERRORS = RuntimeError, ValueError, TypeError, IndexError  # by which a block may stop


def raised(name: str, doing: str, error: Exception) -> Result:
    """The Result of a property whose block has raised an error on some input."""
    text = str(error).partition("\n")[0]
    return Result(name, False, float("inf"), f"{doing} it raised: {text}")


def rounding(output: Tensor) -> float:
    """What rounding may change in an output: more if its numbers are short or large."""
    if not output.is_floating_point():
        return TOLERANCE
    size = largest(output[output.isfinite()])
    return max(TOLERANCE, 16 * torch.finfo(output.dtype).eps * max(size, 1.0))


IN_TRAINING, IN_EVAL = " in training mode", " in eval mode"


@contextmanager
def mode(block, training):
    """The block in training or in eval mode, and as it was before afterwards."""
    if not isinstance(block, nn.Module):
        yield
        return
    before = [(module, module.training) for module in block.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in block.buffers()]  # running means
    block.train(training)
    try:
        yield
    finally:
        for module, was_training in before:
            module.training = was_training
        for buffer, was in buffers:
            if not torch.equal(buffer, was):
                buffer.copy_(was)


def modes(block):
    """Go through training and eval mode, if the block has them."""
    if not isinstance(block, nn.Module):
        yield ""
        return
    for words in (IN_TRAINING, IN_EVAL):
        with mode(block, words == IN_TRAINING):
            yield words


def device_of(inputs) -> torch.device:
    """Where the first tensor lies."""
    tensors = (given for given in inputs if isinstance(given, Tensor))
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def random_states(device: torch.device) -> list[Tensor]:
    """The states of the generators from which dropout draws: the CPU's and the device's."""
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state(device))
    return states


@contextmanager
def same_draws(*inputs):
    """Put the generators back afterwards, so that the next call draws the same numbers."""
    device = device_of(inputs)
    states = random_states(device)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        if device.type != "cpu":
            torch.get_device_module(device).set_rng_state(states[1], device)


def copies(inputs):
    """Inputs for one call: a block that writes into them spoils no other call."""
    return [given.clone() if isinstance(given, Tensor) else given for given in inputs]


def call(block, *inputs):
    """The output without gradients; each call draws the same numbers for its dropout."""
    with same_draws(*inputs), torch.no_grad():
        return block(*copies(inputs))


def draws(block, *inputs):
    """Whether the block draws random numbers, as dropout does."""
    device = device_of(inputs)
    with same_draws(*inputs), torch.no_grad():
        before = random_states(device)
        block(*copies(inputs))
        after = random_states(device)
    return any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def other(X):
    """Other contents of the same kind: every number differs from that of X, ids stay ids."""
    if X.is_floating_point():
        generator = torch.Generator().manual_seed(1)
        return X + 1 + torch.rand(X.shape, generator=generator).to(X)
    low, high = X.min(), X.max()
    if low == high:
        raise ValueError(
            f"X must hold at least two different ids, all are {low.item()}"
        )
    return low + (X - low + 1) % (high - low + 1)


def drawn_like(X, seed, shape=None):
    """Normal numbers, or ids between those of X: the same for each device and each call."""
    shape = X.shape if shape is None else shape
    generator = torch.Generator().manual_seed(seed)
    if X.is_floating_point():
        return torch.randn(shape, generator=generator).to(X)
    low, high = X.min().item(), X.max().item()
    return torch.randint(low, high + 1, shape, generator=generator).to(X)


def difference(A, B):
    """Absolute difference; equal infinities differ by 0, NaN from anything by infinity.

    In float64 and on the CPU: some GPUs have no float64.
    """
    A, B = (tensor.detach().cpu().double() for tensor in (A, B))
    return (A - B).abs().masked_fill(A == B, 0.0).nan_to_num(nan=float("inf"))


def largest(tensor):
    """The largest element, 0 if there is none."""
    return tensor.abs().max().item() if tensor.numel() else 0.0
