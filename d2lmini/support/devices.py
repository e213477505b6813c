"""Choose the device to train on."""

import functools
import os
import warnings

import torch
from torch import nn


def try_gpu() -> torch.device:
    """Return the device named by $D2LMINI_DEVICE; if unset, cuda if available, else cpu.

    Raises:
        ValueError: D2LMINI_DEVICE is not cpu, cuda or mps, or is not available here.
    Warns:
        RuntimeWarning: mps gives wrong results on this machine, so the CPU is used.
    Source: chapter 9.
    """
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    name = os.environ.get("D2LMINI_DEVICE") or ("cuda" if available["cuda"] else "cpu")
    if name not in available:
        raise ValueError(f"D2LMINI_DEVICE ({name!r}) must be cpu, cuda or mps")
    if not available[name]:
        raise ValueError(f"D2LMINI_DEVICE ({name!r}) must be a device of this machine")
    if name == "mps" and not agrees_with_cpu(name):
        return torch.device("cpu")
    return torch.device(name)


@functools.cache
def agrees_with_cpu(device: str) -> bool:
    """Compare outputs and gradients of device and CPU on a small batch; warn if they differ.

    Many projects report wrong results on mps, which raise no error.
    """
    expected, got = one_batch("cpu"), one_batch(device)
    deviation = max(
        (e - g).abs().nan_to_num(nan=torch.inf).max().item()
        for e, g in zip(expected, got, strict=True)
    )
    if deviation > 1e-3:
        warnings.warn(
            f"{device} differs from the CPU by {deviation:.2g} on the same batch, so the CPU is "
            "used; a newer version of PyTorch may help",
            RuntimeWarning,
            stacklevel=3,
        )
    return deviation <= 1e-3


def one_batch(device: str) -> list[torch.Tensor]:
    """Output and gradients of PyTorch's decoder layer on a padded batch, moved to the CPU."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        X = torch.randn(3, 5, 16)
    layer, X = layer.to(device), X.to(device)
    future = torch.ones(5, 5, dtype=torch.bool, device=device).triu(1)  # True = hide
    padding = torch.arange(5, device=device) >= torch.tensor(
        [[5], [3], [1]], device=device
    )
    output = layer(X, X, tgt_mask=future, memory_key_padding_mask=padding)
    gradients = torch.autograd.grad(output.square().sum(), list(layer.parameters()))
    return [tensor.detach().cpu() for tensor in (output, *gradients)]
