import pytest
import torch
from torch import nn

from d2lmini import AddNorm, PositionWiseFFN

pytestmark = pytest.mark.usefixtures("each_device")


def test_ffn_is_the_same_at_each_position():
    ffn = PositionWiseFFN(4, 8, 5)
    X = torch.randn(2, 3, 4)
    assert ffn(X).shape == (2, 3, 5)
    torch.testing.assert_close(ffn(X)[:, 1], ffn(X[:, 1:2])[:, 0])
    assert PositionWiseFFN(4, 8)(X).shape == X.shape


def test_addnorm_equals_layer_norm_of_the_sum():
    X, Y = torch.randn(2, 2, 3, 4)
    expected = nn.functional.layer_norm(X + Y, (4,))
    torch.testing.assert_close(AddNorm(4, 0.5).eval()(X, Y), expected)


def test_dropout_is_on_the_branch():
    X = torch.randn(1, 3, 4)
    # With every element of the branch dropped, the input is still there.
    due = nn.functional.layer_norm(X, (4,))
    torch.testing.assert_close(AddNorm(4, 1.0)(X, torch.randn_like(X)), due)
