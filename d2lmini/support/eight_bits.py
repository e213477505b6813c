"""Weights in 8 bits each."""

import torch


def to_bytes(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Whole numbers from -127 to 127, and the scale of each row; a vector stays as it is.

    Returns:
        (rows, columns) in int8 and (rows, 1); or the vector and the scale 1.
    Source: chapter 8.
    """
    if weights.dim() < 2:
        return weights, torch.ones(1)
    scale = weights.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
    return (weights / scale).round().to(torch.int8), scale


def from_bytes(numbers: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The weights that to_bytes was given, off by at most half a scale.

    Source: chapter 8.
    """
    return numbers * scale
