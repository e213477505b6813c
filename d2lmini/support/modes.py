"""The mode of a network: in training, dropout drops; in eval mode, nothing is dropped."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def eval_mode(net: nn.Module) -> Iterator[None]:
    """Within it net is in eval mode; after it each part is in the mode it was in before.

    Source: chapter 8.
    """
    modes = {module: module.training for module in net.modules()}
    net.eval()
    try:
        yield
    finally:  # also after an error, or when somebody stops it
        for module, mode in modes.items():
            module.training = mode
