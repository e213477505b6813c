"""Call a block under controlled conditions (mode, random numbers, inputs), and report a Result."""

import copy
import textwrap
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps

import torch
from torch import Tensor, nn

from d2lmini.support.arguments import check_kind

TOLERANCE = 1e-5  # rounding error allowed in float32


@dataclass
class Result:
    """The result of checking a property; true if it holds.

    Args:
        name: of the property.
        holds: the verdict.
        deviation: the largest deviation from the property.
        sentence: the finding in words.
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
    """Check that blocks are functions or module instances, and that X is a valid input."""
    for name, block in blocks.items():
        if isinstance(block, type) or not callable(block):
            rule = "must be a function or an instance of a module"
            raise TypeError(f"{name} ({block!r:.60}) {rule}")
    if X is not None:
        check_kind("X", X, Tensor, "a torch.Tensor")
        if X.layout != torch.strided or X.is_complex():
            raise TypeError(f"X ({X.layout}, {X.dtype}) must be dense, and not complex")
        axes = "(batch, steps, features)" if X.is_floating_point() else "(batch, steps)"
        if X.dim() < 2 + X.is_floating_point() or 0 in X.shape:
            raise ValueError(
                f"X {tuple(X.shape)} must have the shape {axes}, none of them 0"
            )
        if X.dtype == torch.bool or (X.is_floating_point() and not X.isfinite().any()):
            raise ValueError(f"X ({X.dtype}) must hold finite numbers, or token ids")


# that a block may raise
ERRORS = (
    RuntimeError, ValueError, TypeError, AttributeError, AssertionError, LookupError,
    ArithmeticError,
)  # fmt: skip


def raised(name: str, doing: str, error: Exception) -> Result:
    """The Result for a block that raised an error on some input."""
    text = str(error).partition("\n")[0]
    if "leaf Variable" in text:
        text = f"it changes what it is given, in place ({text})"
    return Result(name, False, float("inf"), f"{doing} it raised: {text}")


def rounding(output: Tensor) -> float:
    """The rounding error allowed in an output: larger for low precision or large numbers."""
    if not output.is_floating_point():
        return TOLERANCE
    size = largest(output[output.isfinite()])
    return max(TOLERANCE, 16 * torch.finfo(output.dtype).eps * max(size, 1.0))


IN_TRAINING, IN_EVAL = " in training mode", " in eval mode"


@contextmanager
def mode(block, training):
    """Put the block in training or eval mode, and restore it afterwards."""
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
    """Iterate over training and eval mode, if the block has them."""
    if not isinstance(block, nn.Module):
        yield ""
        return
    for words in (IN_TRAINING, IN_EVAL):
        with mode(block, words == IN_TRAINING):
            yield words


def device_of(inputs) -> torch.device:
    """The device of the first tensor."""
    tensors = (given for given in inputs if isinstance(given, Tensor))
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def random_states(device: torch.device) -> list[Tensor]:
    """The RNG states from which dropout draws: the CPU's and the device's."""
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state(device))
    return states


@contextmanager
def same_draws(*inputs):
    """Restore the generators afterwards, so that the next call draws the same numbers."""
    device = device_of(inputs)
    states = random_states(device)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        if device.type != "cpu":
            torch.get_device_module(device).set_rng_state(states[1], device)


def copies(inputs):
    """Copy the inputs for one call, so that a block may modify them."""
    return [given.clone() if isinstance(given, Tensor) else given for given in inputs]


def call(block, *inputs):
    """Compute the output without gradients; each call draws the same dropout."""
    with same_draws(*inputs), torch.no_grad():
        return block(*copies(inputs))


class WrongOutputError(Exception):
    """A block returned something else than an output for each position of X."""


def check_output(output, X) -> Tensor:
    """The output, if it is a tensor that has the batch and the steps of X."""
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise WrongOutputError(
            f"The block returned a {kind} instead of a torch.Tensor."
        )
    if output.shape[:2] != X.shape[:2]:
        raise WrongOutputError(
            f"The output {tuple(output.shape)} must begin with the batch and the steps of "
            f"X {tuple(X.shape)}."
        )
    return output


def outputs_of(block, X, *masks):
    """call(), for a block that returns an output for each position of X."""
    return check_output(call(block, X, *masks), X)


def a_property(function: Callable) -> Callable:
    """Let a property fail, with a sentence, for a block whose output it cannot compare."""

    @wraps(function)
    def checked(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except WrongOutputError as error:
            return Result(function.__name__, False, float("inf"), str(error))

    return checked


def draws(block, *inputs):
    """Whether the block draws random numbers, as dropout does."""
    device = device_of(inputs)
    with same_draws(*inputs), torch.no_grad():
        before = random_states(device)
        block(*copies(inputs))
        after = random_states(device)
    return any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def copied(net):
    """A copy of a module, also if it keeps what it computed, as for a look at its weights."""
    kept = [value for part in net.modules() for value in vars(part).values()]
    for value in [*kept]:
        kept += value if isinstance(value, tuple | list) else []
    computed = (t for t in kept if isinstance(t, Tensor) and not t.is_leaf)
    try:
        return copy.deepcopy(net, {id(t): t.detach().clone() for t in computed})
    except TypeError as error:  # such as an open file
        kind = type(net).__name__
        raise ValueError(
            f"net ({kind}) must be a module that can be copied: {error}"
        ) from error


def moved_a_little(net):
    """A copy with all parameters moved a little, in 32 bits; a function stays as it is.

    So what starts at 0 takes part, such as a branch that is silent before training.
    """
    if not isinstance(net, nn.Module):
        return net
    if any(isinstance(p, nn.UninitializedParameter) for p in net.parameters()):
        raise ValueError(
            f"net ({type(net).__name__}) must have parameters: call a lazy module once first"
        )
    net, source = copied(net), torch.Generator().manual_seed(0)
    if any(p.dtype in (torch.float16, torch.bfloat16) for p in net.parameters()):
        net = net.float()
    with torch.no_grad():
        for p in net.parameters():
            if p.requires_grad and p.is_floating_point():
                p += 0.02 * torch.randn(p.shape, generator=source).to(p)
    return net


def other(X):
    """Other contents of the same kind: every entry differs from that of X; ids stay ids."""
    if X.is_floating_point():
        generator = torch.Generator("cpu").manual_seed(1)
        size = largest(X[X.isfinite()])
        far = size if size > 100 else 1.0  # else rounding may hide the change
        noise = 1 + torch.rand(X.shape, generator=generator, device="cpu").to(X)
        return X + far * noise
    low, high = X.min(), X.max()
    if low == high:
        raise ValueError(
            f"X must contain at least two different ids, all are {low.item()}"
        )
    return low + (X - low + 1) % (high - low + 1)


def drawn_like(X, seed, shape=None):
    """Draw normal numbers, or ids in the range of X: the same on each device, in each call."""
    shape = X.shape if shape is None else shape
    generator = torch.Generator("cpu").manual_seed(seed)
    if X.is_floating_point():
        return torch.randn(shape, generator=generator, device="cpu").to(X)
    low, high = X.min().item(), X.max().item()
    return torch.randint(low, high + 1, shape, generator=generator, device="cpu").to(X)


def difference(A, B):
    """The absolute difference; equal infinities differ by 0, NaN from anything by infinity.

    In float64 and on the CPU: some GPUs have no float64.
    """
    A, B = (tensor.detach().cpu() for tensor in (A, B))
    if A.is_sparse or B.is_sparse:
        A, B = A.to_dense(), B.to_dense()
    if A.is_complex() or B.is_complex():
        A, B = (
            torch.view_as_real(T.to(torch.complex128).resolve_conj()) for T in (A, B)
        )
    A, B = A.double(), B.double()
    return (A - B).abs().masked_fill(A == B, 0.0).nan_to_num(nan=float("inf"))


def largest(tensor):
    """The largest absolute value; 0 for an empty tensor."""
    return tensor.abs().max().item() if tensor.numel() else 0.0
