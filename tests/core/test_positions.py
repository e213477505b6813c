import math

import pytest
import torch

from d2lmini import LearnedPositionalEncoding, PositionalEncoding, sinusoidal_table

pytestmark = pytest.mark.usefixtures("each_device")

BOTH = [PositionalEncoding, LearnedPositionalEncoding]


def test_table_by_hand():
    table = sinusoidal_table(101, 4)
    for i in (0, 1, 2, 100):  # far out, a base a little off tells
        slow = i / 10000**0.5
        expected = [math.sin(i), math.cos(i), math.sin(slow), math.cos(slow)]
        assert table[i].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_table_moves_with_the_module_and_is_not_trained():
    encoding = PositionalEncoding(4, 0.0)
    assert list(encoding.parameters()) == []
    assert encoding.to("meta").P.device.type == "meta"
    assert encoding.state_dict() == {}  # computed anew, not stored


@pytest.mark.parametrize("Encoding", BOTH)
def test_start_continues_a_sequence(Encoding):
    encoding = Encoding(4, 0.0, max_len=9)
    X = torch.randn(2, 5, 4)
    both = torch.cat([encoding(X[:, :3]), encoding(X[:, 3:], start=3)], dim=1)
    assert torch.equal(both, encoding(X))


@pytest.mark.parametrize("Encoding", BOTH)
def test_positions_are_added(Encoding):
    encoding, X = Encoding(4, 0.0, max_len=9), torch.randn(2, 3, 4)
    assert torch.equal(encoding(X, start=2), X + encoding.P[2:5])


def test_learned_positions_are_trained():
    (table,) = LearnedPositionalEncoding(4, 0.0, 7).parameters()
    assert table.shape == (7, 4)
