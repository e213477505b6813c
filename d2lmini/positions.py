"""Where a token stands: sinusoidal and learned positional encodings."""

import torch
from torch import Tensor, nn

from d2lmini.support.arguments import check_arguments, check_even, check_positions


def sinusoidal_table(num_steps: int, num_hiddens: int) -> Tensor:
    """Positional encoding of positions 0 to num_steps - 1.

    Column 2j holds sin(i / 10000^(2j / num_hiddens)), column 2j + 1 the cosine of the same angle.

    Args:
        num_steps: number of positions.
        num_hiddens: width, even.
    Returns:
        Float (num_steps, num_hiddens), between -1 and 1.
    Raises:
        ValueError: num_hiddens is odd.
    Source: Vaswani et al. 2017, section 3.5; chapter 3.
    """
    check_arguments(num_steps=num_steps)
    check_even("num_hiddens", num_hiddens)
    positions = torch.arange(num_steps, dtype=torch.float32)[:, None]  # (steps, 1)
    exponents = torch.arange(0, num_hiddens, 2, dtype=torch.float32) / num_hiddens
    angles = positions / 10000**exponents  # (steps, num_hiddens / 2)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(1)  # (steps, num_hiddens)


class PositionalEncoding(nn.Module):
    """Add the sinusoidal table to X, then apply dropout.

    Args:
        num_hiddens: width, even.
        dropout: probability in [0, 1].
        max_len: longest sequence, in tokens.
    Raises:
        TypeError, ValueError: see arguments.check_positions; num_hiddens is odd.
    Source: Vaswani et al. 2017, section 3.5; chapter 3.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens, dropout=dropout, max_len=max_len)
        self.dropout = nn.Dropout(dropout)
        # A buffer moves with .to(device), but no optimiser changes it.
        self.register_buffer(
            "P", sinusoidal_table(max_len, num_hiddens), persistent=False
        )

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Encode X, which begins at position start of its sequence.

        Shapes:
            X, result: (batch, steps, num_hiddens)
        """
        check_positions(X, start, *self.P.shape)
        return self.dropout(X + self.P[start : start + X.shape[1]])


class LearnedPositionalEncoding(nn.Module):
    """Add one trained vector per position to X, then apply dropout.

    Args:
        num_hiddens: width, even or odd.
        dropout: probability in [0, 1].
        max_len: longest sequence, in tokens.
    Source: Gehring et al. 2017, section 3.1; chapter 3.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens, dropout=dropout, max_len=max_len)
        self.dropout = nn.Dropout(dropout)
        self.P = nn.Parameter(torch.randn(max_len, num_hiddens))

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Encode X, which begins at position start of its sequence.

        Shapes:
            X, result: (batch, steps, num_hiddens)
        """
        check_positions(X, start, *self.P.shape)
        return self.dropout(X + self.P[start : start + X.shape[1]])
