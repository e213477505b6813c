"""The other two parts of a block: the position-wise FFN, and add & norm."""

from torch import Tensor, nn

from d2lmini.support.arguments import check_arguments, check_floats


class PositionWiseFFN(nn.Module):
    """A two-layer feed-forward network (FFN), the same at each position.

    Args:
        num_hiddens: width of the input.
        ffn_num_hiddens: width of the hidden layer.
        num_outputs: width of the output; num_hiddens when None.
    Raises:
        TypeError, ValueError: a size is not a count, or X has the wrong width.
    Source: Vaswani et al. 2017, section 3.3; chapter 6.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_outputs: int | None = None
    ):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens, ffn_num_hiddens=ffn_num_hiddens)
        check_arguments(num_outputs=num_outputs)
        self.num_hiddens = num_hiddens
        self.dense1 = nn.Linear(num_hiddens, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, num_outputs or num_hiddens)

    def forward(self, X: Tensor) -> Tensor:
        """(batch, steps, num_hiddens) -> (batch, steps, num_outputs)."""
        check_floats("X", X, ..., self.num_hiddens)
        return self.dense2(self.relu(self.dense1(X)))


class AddNorm(nn.Module):
    """Residual connection, then layer normalisation of each position on its own.

    Args:
        num_hiddens: size of the last axis, the only one that is normalised.
        dropout: probability of dropping an element of the branch.
    Raises:
        TypeError: num_hiddens is not an integer (a shape, for example).
        ValueError: X and Y differ in shape, or X has the wrong width.
    Source: Vaswani et al. 2017, section 3.1; Ba et al. 2016; chapter 7.
    """

    def __init__(self, num_hiddens: int, dropout: float):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens, dropout=dropout)
        self.num_hiddens = num_hiddens
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(num_hiddens)

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """Apply add & norm to X, the input of a part of a block, and Y, its output.

        Shapes:
            X, Y, result: (batch, steps, num_hiddens)
        """
        check_floats("X", X, ..., self.num_hiddens)
        check_floats("Y", Y, *X.shape)
        return self.norm(X + self.dropout(Y))
