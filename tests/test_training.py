import itertools
import math
import warnings
from unittest import mock

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
)
from d2lmini.training import NotFiniteError, train_epoch, train_step, try_gpu, warmup

CPU = torch.device("cpu")


def toy_data(batch_size=3):
    """Copy one or two numbers: the target is the source; rows differ in length."""
    rows = [
        [4 + i, Vocab.eos, 0, 0] if i % 2 else [4 + i, 5 + i, Vocab.eos, 0]
        for i in range(6)
    ]
    rows = torch.tensor(rows)
    lens = (rows != 0).sum(1)
    return batches([rows, lens, rows, lens], batch_size)


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


def test_the_loss_of_an_epoch_is_per_token_and_counts_real_tokens():
    net, data = tiny_net(), toy_data(batch_size=4)  # batches of 4 and 2 rows
    nats = num_tokens = 0
    for src, src_lens, tgt, tgt_lens in data:
        log_probs = net(src, shift_right(tgt, Vocab.bos), src_lens).log_softmax(-1)
        for row, labels, length in zip(log_probs, tgt, tgt_lens, strict=True):
            nats -= row[range(length), labels[:length]].sum().item()
            num_tokens += length.item()
    assert num_tokens == 15
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(0))
    with mock.patch("time.perf_counter", side_effect=[0.0, 2.0]):
        loss, tokens_per_sec = train_epoch(net, data, optimizer, schedule, Vocab.bos, CPU)
    assert loss == pytest.approx(nats / num_tokens, abs=1e-5)
    assert tokens_per_sec == 7.5


def test_the_decoder_reads_the_shifted_target_without_common_padding():
    seen = []

    class Records(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = tiny_net()

        def forward(self, src, tgt, lens):
            seen.append((src, tgt, self.training))
            return self.net(src, tgt, lens)

    train_seq2seq(Records().eval(), toy_data(batch_size=6), 0.01, 1, Vocab([]), CPU)
    ((src, tgt, training_mode),) = seen
    assert training_mode
    assert src.shape == tgt.shape == (6, 3)  # of four steps one is padding in every row
    assert (tgt[:, 0] == Vocab.bos).all()
    assert torch.equal(tgt[:, 1:], src[:, :-1])


def test_the_schedule_moves_once_a_step():
    net = tiny_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(4))
    assert schedule.get_last_lr() == [0.25]
    train_epoch(net, toy_data(), optimizer, schedule, Vocab.bos, CPU)  # two batches
    assert schedule.get_last_lr() == [0.75]


def test_gradients_are_clipped():
    net = tiny_net()
    before = torch.cat([p.detach().flatten().clone() for p in net.parameters()])
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    net.decoder.output.weight.register_hook(lambda gradient: gradient * 1e6)
    train_step(net, next(iter(toy_data())), optimizer, Vocab.bos)
    after = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert (after - before).norm().item() == pytest.approx(1, abs=1e-3)


def test_warm_up_and_smoothing_reach_the_training():
    torch.manual_seed(0)
    net = tiny_net()
    start, losses = weights(net), {}
    for name, settings in {
        "plain": {},
        "warm-up": {"warmup_steps": 1000},
        "smoothing": {"label_smoothing": 0.5},
    }.items():
        net.load_state_dict(start)
        torch.manual_seed(1)
        losses[name] = train_seq2seq(
            net, toy_data(), 0.01, 10, Vocab([]), CPU, **settings
        ).loss
    assert losses["warm-up"].iloc[-1] > losses["plain"].iloc[-1] + 0.3  # hardly moved yet
    assert losses["smoothing"].iloc[-1] > losses["plain"].iloc[-1] + 0.3


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


@pytest.mark.parametrize(
    ("at", "epoch", "step", "good"), [(6, 3, 2, 2), (5, 3, 1, 1), (1, 1, 1, 0)]
)
def test_a_loss_that_is_nan_stops_and_keeps_the_last_good_weights(at, epoch, step, good):
    """Weights that fail at the first step of an epoch are not good."""
    data, reference = toy_data(), tiny_net()
    net = Diverges(tiny_net(), at)
    net.net.load_state_dict(reference.state_dict())
    torch.manual_seed(1)
    train_seq2seq(reference, data, 0.01, good, Vocab([]), CPU)
    torch.manual_seed(1)
    message = rf"stopped at epoch {epoch}, step {step}: loss \(nan\) .* must be finite. "
    with pytest.warns(
        RuntimeWarning, match=message + f"The weights after epoch {good} are back"
    ):
        history = train_seq2seq(net, data, 0.01, 9, Vocab([]), CPU)
    assert len(history) == epoch - 1
    assert same(weights(net.net), weights(reference))


@pytest.mark.parametrize("batch_size", [3, 6])
def test_a_rate_that_is_far_too_high(batch_size):
    net, data = tiny_net(), toy_data(batch_size)
    with pytest.warns(RuntimeWarning, match=r"try a smaller lr than 1e\+30"):
        train_seq2seq(net, data, 1e30, 5, Vocab([]), CPU)
    src, src_lens, tgt, _ = next(iter(data))
    assert net(src, tgt, src_lens).isfinite().all()


def test_no_step_on_a_gradient_that_is_not_finite():
    net = tiny_net()
    net.decoder.output.weight.register_hook(lambda gradient: gradient * math.inf)
    before = weights(net)
    with pytest.raises(NotFiniteError, match="gradient norm"):
        train_step(
            net, next(iter(toy_data())), torch.optim.Adam(net.parameters()), Vocab.bos
        )
    assert same(weights(net), before)


class Interrupts(Diverges):
    """Ctrl-C at one forward pass."""

    def forward(self, *args):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.net(*args)


@pytest.mark.parametrize(("at", "epochs", "steps"), [(6, 2, 5), (1, 0, 0)])
def test_ctrl_c_returns_what_was_trained(capsys, at, epochs, steps):
    """History of the whole epochs, and the weights of every step that was made."""
    reference = tiny_net()
    net = Interrupts(tiny_net(), at)
    net.net.load_state_dict(reference.state_dict())
    torch.manual_seed(1)
    history = train_seq2seq(net, toy_data(), 0.01, 50, Vocab([]), CPU)
    assert list(history.index) == list(range(1, epochs + 1))
    assert list(history.columns) == ["loss", "tokens_per_sec"]
    assert f"stopped by hand after {epochs} epochs" in capsys.readouterr().err

    torch.manual_seed(1)
    optimizer = torch.optim.Adam(reference.train().parameters(), lr=0.01, fused=True)
    data = toy_data()
    batches_in_order = itertools.chain.from_iterable(iter(data) for _ in range(3))
    for batch in itertools.islice(batches_in_order, steps):
        train_step(reference, batch, optimizer, Vocab.bos)
    assert same(weights(net.net), weights(reference))


@pytest.mark.parametrize("ci", [True, False])
def test_progress(monkeypatch, capsys, ci):
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    train_seq2seq(tiny_net(), toy_data(), 0.01, 13, Vocab([]), CPU)
    err = capsys.readouterr().err
    assert ("\r" in err) is not ci
    assert "loss" in err and "tokens" in err
    if ci:
        assert [line.split(":")[0] for line in err.splitlines()] == [
            "epoch 10",
            "epoch 13",
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
    if not torch.cuda.is_available():
        monkeypatch.setenv("D2LMINI_DEVICE", "cuda")
        with pytest.raises(
            ValueError, match=r"\('cuda'\) must be a device of this machine"
        ):
            try_gpu()
    monkeypatch.delenv("D2LMINI_DEVICE")
    assert try_gpu().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_training_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_seq2seq(tiny_net(), toy_data(), 0.01, 2, Vocab([]), CPU)
