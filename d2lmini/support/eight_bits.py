"""Quantise weights to 8 bits."""

import torch


def to_bytes(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantise each row of a matrix to integers from -127 to 127; leave a vector unchanged.

    Returns:
        Integers (rows, columns), int8, and the scale of each row (rows, 1); for a vector, the
        vector and the scale 1.
    Source: making it fast.
    """
    if weights.dim() < 2:
        return weights, weights.new_ones(1)
    scale = weights.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
    return (weights / scale).round().to(torch.int8), scale


def from_bytes(numbers: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Undo to_bytes, up to a rounding error of half a scale.

    Source: making it fast.
    """
    return numbers * scale
