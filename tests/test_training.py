import math
import warnings

import pandas as pd
import pytest
import torch
from conftest import tiny_net
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from d2lmini import (
    Vocab,
    batches,
    masked_cross_entropy,
    shift_right,
    train_seq2seq,
    training,
)
from d2lmini.training import NotFiniteError, train_step, try_gpu, warmup

CPU = torch.device("cpu")


def toy_data(num_rows=6):
    """Copy a number: the target is the source."""
    ids = torch.arange(num_rows) + 4
    rows = torch.stack(
        [ids, torch.full_like(ids, Vocab.eos), torch.zeros_like(ids)], dim=1
    )
    lens = torch.full((num_rows,), 2)
    return batches([rows, lens, rows, lens], batch_size=3)


def weights(net):
    return {name: p.clone() for name, p in net.state_dict().items()}


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(2, 9))
def test_uniform_logits_give_log_v_whatever_the_padding(lens, vocab_size):
    labels = torch.randint(vocab_size, (len(lens), 5))
    loss = masked_cross_entropy(
        torch.zeros(len(lens), 5, vocab_size), labels, torch.tensor(lens)
    )
    assert loss.item() == pytest.approx(math.log(vocab_size), abs=1e-5)


def test_loss_by_hand():
    """Two real tokens, given 1/2 and 1/4: (ln 2 + ln 4) / 2. The padded step is given 0."""
    probs = torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 1.0, 0.0]]])
    labels = torch.tensor([[0, 2, 0]])
    loss = masked_cross_entropy(probs.log(), labels, torch.tensor([2]))
    assert loss.item() == pytest.approx(1.5 * math.log(2))


def test_shift_right():
    labels = torch.tensor([[7, 8, 3], [9, 3, 0]])
    assert shift_right(labels, bos=2).tolist() == [[2, 7, 8], [2, 9, 3]]
    assert labels.tolist() == [[7, 8, 3], [9, 3, 0]]


def test_it_learns_and_tells():
    history = train_seq2seq(tiny_net(), toy_data(), 0.01, 40, Vocab([]), CPU)
    assert isinstance(history, pd.DataFrame)
    assert list(history.columns) == ["loss", "tokens_per_sec"]
    assert history.index.name == "epoch" and list(history.index) == list(range(1, 41))
    assert history.loss.iloc[0] > 2 and history.loss.iloc[-1] < 0.2
    assert (history.tokens_per_sec > 0).all()


def test_the_loss_does_not_depend_on_padding():
    """Steps that are padding throughout are cut off; the loss is that of the whole batch."""
    net = tiny_net()
    src, src_lens, tgt, tgt_lens = next(iter(toy_data()))
    whole = masked_cross_entropy(
        net(src, shift_right(tgt, Vocab.bos), src_lens), tgt, tgt_lens
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    loss = train_step(net, (src, src_lens, tgt, tgt_lens), optimizer, Vocab.bos)
    assert loss == pytest.approx(whole.item(), abs=1e-6)


def test_training_does_not_start_anew():
    """A second call goes on from the first."""
    net, data = tiny_net(), toy_data()
    first = train_seq2seq(net, data, 0.01, 20, Vocab([]), CPU)
    second = train_seq2seq(net, data, 0.01, 1, Vocab([]), CPU)
    assert second.loss.iloc[0] < first.loss.iloc[0] / 2


class Diverges(nn.Module):
    """Gives a NaN at one forward pass."""

    def __init__(self, net, at):
        super().__init__()
        self.net, self.calls, self.at = net, 0, at

    def forward(self, *args):
        self.calls += 1
        return self.net(*args) * (math.nan if self.calls == self.at else 1.0)


@pytest.mark.parametrize(("at", "epoch", "step"), [(6, 3, 2), (1, 1, 1)])
def test_a_loss_that_is_nan_stops_and_keeps_the_last_good_weights(at, epoch, step):
    data, reference = toy_data(), tiny_net()
    net = Diverges(tiny_net(), at)
    net.net.load_state_dict(reference.state_dict())
    torch.manual_seed(1)
    train_seq2seq(reference, data, 0.01, epoch - 1, Vocab([]), CPU)
    torch.manual_seed(1)
    message = rf"training stopped in epoch {epoch}, step {step} of 2: loss nan"
    with pytest.warns(RuntimeWarning, match=message):
        history = train_seq2seq(net, data, 0.01, 9, Vocab([]), CPU)
    assert len(history) == epoch - 1
    assert same(weights(net.net), weights(reference))


def test_a_rate_that_is_far_too_high():
    net = tiny_net()
    with pytest.warns(RuntimeWarning, match=r"try a smaller lr than 1e\+30"):
        train_seq2seq(net, toy_data(), 1e30, 5, Vocab([]), CPU)
    assert all(p.isfinite().all() for p in net.parameters())


def test_no_step_on_a_gradient_that_is_not_finite():
    net = tiny_net()
    net.decoder.output.weight.register_hook(lambda gradient: gradient * math.inf)
    before = weights(net)
    with pytest.raises(NotFiniteError, match="gradient norm"):
        train_step(
            net, next(iter(toy_data())), torch.optim.Adam(net.parameters()), Vocab.bos
        )
    assert same(weights(net), before)


def test_ctrl_c_returns_what_was_trained(monkeypatch, capsys):
    net, epochs = tiny_net(), []
    train_epoch = training.train_epoch

    def interrupted(*args):
        if len(epochs) == 3:
            raise KeyboardInterrupt
        epochs.append(train_epoch(*args))
        return epochs[-1]

    monkeypatch.setattr(training, "train_epoch", interrupted)
    before = weights(net)
    history = train_seq2seq(net, toy_data(), 0.01, 50, Vocab([]), CPU)
    assert history.loss.tolist() == [loss for loss, _ in epochs]
    assert not same(weights(net), before)
    assert "stopped by hand after 3 epochs" in capsys.readouterr().err


@pytest.mark.parametrize("ci", [True, False])
def test_progress(monkeypatch, capsys, ci):
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    train_seq2seq(tiny_net(), toy_data(), 0.01, 20, Vocab([]), CPU)
    err = capsys.readouterr().err
    assert ("\r" in err) is not ci
    assert "loss" in err and "tokens" in err
    if ci:
        assert [line.split(":")[0] for line in err.splitlines()] == [
            "epoch 10",
            "epoch 20",
        ]


def test_warmup_by_hand():
    factor = warmup(4)
    assert [factor(step) for step in range(4)] == [0.25, 0.5, 0.75, 1]
    assert factor(15) == 0.5
    assert warmup(0)(123) == 1


def test_device(monkeypatch):
    monkeypatch.setenv("D2LMINI_DEVICE", "cpu")
    assert try_gpu() == CPU
    monkeypatch.setenv("D2LMINI_DEVICE", "gpu")
    with pytest.raises(
        ValueError, match=r"D2LMINI_DEVICE \('gpu'\) must be cpu, cuda or mps"
    ):
        try_gpu()
    monkeypatch.delenv("D2LMINI_DEVICE")
    assert try_gpu().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_training_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_seq2seq(tiny_net(), toy_data(), 0.01, 2, Vocab([]), CPU)
