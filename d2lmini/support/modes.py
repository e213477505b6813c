"""The mode of a network: in training mode dropout is active, in eval mode it is not."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def eval_mode(net: nn.Module) -> Iterator[None]:
    """Put net in eval mode, and restore the mode of each part afterwards.

    Source: chapter 9.
    """
    modes = {module: module.training for module in net.modules()}
    net.eval()
    try:
        yield
    finally:  # also after an error or Ctrl-C
        for module, mode in modes.items():
            module.training = mode
