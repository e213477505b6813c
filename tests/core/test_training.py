import functools
import itertools
import math
import signal
from unittest import mock

import pandas as pd
import pytest
import torch
from conftest import DEVICES, tiny_net
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from d2lmini import Vocab, batches, train_seq2seq, training, xavier_init
from d2lmini.data import cut_padding
from d2lmini.losses import masked_cross_entropy, seq2seq_loss, shift_right
from d2lmini.support import history as reports
from d2lmini.support.history import NotFiniteError
from d2lmini.training import evaluate, train, train_epoch, train_step, warmup

CPU = torch.device("cpu")


@pytest.fixture(params=DEVICES)
def device(request):
    """Training moves net and batches to it."""
    return torch.device(request.param)


LOSS = functools.partial(seq2seq_loss, bos=Vocab.bos)


def toy_data(batch_size=3):
    """Copy one or two numbers: the target is the source; rows differ in length."""
    end = Vocab.eos, 0, 0
    rows = [[4 + i, *end] if i % 2 else [4 + i, 5 + i, *end[:2]] for i in range(6)]
    rows = torch.tensor(rows)
    lens = (rows != 0).sum(1)
    return batches([rows, lens, rows, lens], batch_size, cut_padding)


def weights(net):
    return {name: p.cpu().clone() for name, p in net.state_dict().items()}


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(2, 9))
def test_uniform_logits_give_log_v_whatever_the_padding(lens, vocab_size):
    labels = torch.randint(vocab_size, (len(lens), 5))
    logits = torch.zeros(len(lens), 5, vocab_size)
    loss = masked_cross_entropy(logits, labels, torch.tensor(lens))
    assert loss.item() == pytest.approx(math.log(vocab_size), abs=1e-5)


def test_every_id_of_a_vocabulary_counts_in_the_loss():
    logits, labels = torch.randn(1, 200, 200), torch.arange(200)[None]
    loss = masked_cross_entropy(logits, labels, torch.tensor([200]))
    by_hand = -logits[0].log_softmax(-1).diagonal().mean()
    torch.testing.assert_close(loss, by_hand)


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


def test_it_learns_and_tells(device):
    history = train_seq2seq(tiny_net(), toy_data(), 0.01, 40, Vocab([]), device)
    assert isinstance(history, pd.DataFrame)
    assert list(history.columns) == ["loss", "tokens_per_sec"]
    assert history.index.name == "epoch" and list(history.index) == list(range(1, 41))
    assert history.loss.iloc[0] > 2 and history.loss.iloc[-1] < 0.2
    assert (history.tokens_per_sec > 0).all()


def test_the_loss_does_not_depend_on_padding():
    """Steps that are padding throughout are cut off; the loss is that of the whole batch."""
    net = tiny_net()
    whole = toy_data().dataset.tensors
    cut = cut_padding(whole)
    assert whole[0].shape == (6, 4) and cut[0].shape == cut[2].shape == (6, 3)
    (mean, count), (mean_of_cut, count_of_cut) = LOSS(net, whole), LOSS(net, cut)
    assert mean_of_cut.item() == pytest.approx(mean.item(), abs=1e-6)
    assert count == count_of_cut == 15


def test_the_loss_of_an_epoch_is_per_token_and_counts_real_tokens(device):
    net, data = tiny_net(), toy_data(batch_size=4)  # batches of 4 and 2 rows
    nats = num_tokens = 0
    for src, src_lens, tgt, tgt_lens in data:
        log_probs = net(src, shift_right(tgt, Vocab.bos), src_lens).log_softmax(-1)
        for row, labels, length in zip(log_probs, tgt, tgt_lens, strict=True):
            nats -= row[range(length), labels[:length]].sum().item()
            num_tokens += length.item()
    assert num_tokens == 15
    optimizer = torch.optim.SGD(net.to(device).parameters(), lr=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(0))
    with mock.patch("time.perf_counter", side_effect=[0.0, 2.0]):
        loss, tokens_per_sec = train_epoch(net, data, LOSS, optimizer, schedule, device)
    assert loss == pytest.approx(nats / num_tokens, abs=1e-5)
    assert tokens_per_sec == 7.5


def test_the_schedule_moves_once_a_step(device):
    net = tiny_net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(4))
    assert schedule.get_last_lr() == [0.25]
    train_epoch(net, toy_data(), LOSS, optimizer, schedule, device)  # two batches
    assert schedule.get_last_lr() == [0.75]


def test_gradients_are_clipped():
    net = tiny_net()
    before = torch.cat([p.detach().flatten().clone() for p in net.parameters()])
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    net.decoder.output.weight.register_hook(lambda gradient: gradient * 1e6)
    train_step(net, next(iter(toy_data())), LOSS, optimizer)
    after = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert (after - before).norm().item() == pytest.approx(1, abs=1e-3)


def test_warm_up_and_smoothing_reach_the_training(device):
    torch.manual_seed(0)
    net = tiny_net()
    start, losses = weights(net), {}
    each = {"plain": {}, "warm-up": {"warmup_steps": 1000}}
    each["smoothing"] = {"label_smoothing": 0.5}
    for name, settings in each.items():
        net.load_state_dict(start)
        torch.manual_seed(1)
        how = 0.01, 10, Vocab([]), device
        losses[name] = train_seq2seq(net, toy_data(), *how, **settings).loss
    # hardly moved yet
    assert losses["warm-up"].iloc[-1] > losses["plain"].iloc[-1] + 0.3
    assert losses["smoothing"].iloc[-1] > losses["plain"].iloc[-1] + 0.3


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
def test_a_loss_that_is_nan_stops_and_keeps_the_last_good_weights(
    at, epoch, step, good, device
):
    """Weights that fail at the first step of an epoch are not good."""
    data, reference = toy_data(), tiny_net()
    net = Diverges(tiny_net(), at)
    net.net.load_state_dict(reference.state_dict())
    torch.manual_seed(1)
    train_seq2seq(reference, data, 0.01, good, Vocab([]), device)
    torch.manual_seed(1)
    said = rf"stopped at epoch {epoch}, step {step}: loss and gradient must be finite"
    said += f".*The weights after epoch {good} are back"
    with pytest.warns(RuntimeWarning, match=said):
        history = train_seq2seq(net, data, 0.01, 9, Vocab([]), device)
    assert len(history) == epoch - 1
    assert same(weights(net.net), weights(reference))


def test_a_gradient_that_is_not_finite_counts_too(device):
    """The loss is finite, its gradient is not: weights after it are no use."""
    net = tiny_net()
    before, calls = weights(net), []

    def third(gradient):
        calls.append(1)
        return gradient * (math.inf if len(calls) == 3 else 1.0)

    net.to(device).decoder.output.weight.register_hook(third)
    optimizer = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(0))
    with pytest.raises(NotFiniteError, match="but are not at step 3") as error:
        train_epoch(net, toy_data(2), LOSS, optimizer, schedule, device)
    assert error.value.step == 3

    calls.clear()
    net.load_state_dict(before)
    with pytest.warns(RuntimeWarning, match="epoch 1, step 3"):
        train_seq2seq(net, toy_data(2), 0.01, 5, Vocab([]), device)
    assert same(weights(net), before)


class Interrupts(Diverges):
    """Ctrl-C at one forward pass."""

    def forward(self, *args):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.net(*args)


@pytest.mark.parametrize(("at", "epochs", "steps"), [(6, 2, 5), (1, 0, 0)])
def test_ctrl_c_returns_what_was_trained(capsys, at, epochs, steps, device):
    """History of the whole epochs, and the weights of every step that was made."""
    reference = tiny_net()
    net = Interrupts(tiny_net(), at)
    net.net.load_state_dict(reference.state_dict())
    torch.manual_seed(1)
    history = train_seq2seq(net, toy_data(), 0.01, 50, Vocab([]), device)
    assert list(history.index) == list(range(1, epochs + 1))
    assert list(history.columns) == ["loss", "tokens_per_sec"]
    assert f"stopped by hand after {epochs} epochs" in capsys.readouterr().err

    torch.manual_seed(1)
    reference.train().to(device)
    optimizer = torch.optim.Adam(reference.parameters(), lr=0.01, fused=True)
    data = toy_data()
    batches_in_order = itertools.chain.from_iterable(iter(data) for _ in range(3))
    for batch in itertools.islice(batches_in_order, steps):
        batch = [array.to(device) for array in batch]
        train_step(reference, batch, LOSS, optimizer)
    torch.testing.assert_close(weights(net.net), weights(reference))


def test_a_second_ctrl_c_in_a_hurry_means_the_same(capsys, monkeypatch, device):
    def press_again(seconds):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(reports.time, "sleep", press_again)
    rows = train_seq2seq(
        Interrupts(tiny_net(), 1), toy_data(), 0.01, 9, Vocab([]), device
    )
    assert len(rows) == 0 and "stopped by hand" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):  # later it stops again
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_in_an_epoch_that_went_wrong(capsys, device):
    """Weights that were spoilt before the interruption are restored."""

    class Both(Diverges):
        def forward(self, *args):
            if self.calls == self.at:  # the pass after the NaN
                raise KeyboardInterrupt
            return super().forward(*args)

    net = Both(tiny_net(), at=1)
    before = weights(net)
    train_seq2seq(net, toy_data(), 0.01, 5, Vocab([]), device)
    assert same(weights(net), before)


@pytest.mark.parametrize("ci", [True, False])
def test_progress(monkeypatch, capsys, ci, device):
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    train_seq2seq(tiny_net(), toy_data(), 0.01, 13, Vocab([]), device)
    err = capsys.readouterr().err
    assert ("\r" in err) is not ci
    assert "loss" in err and "tokens" in err
    if ci:
        starts = [line.split(":")[0] for line in err.splitlines()]
        assert starts == ["epoch 10", "epoch 13"]


def test_warmup_by_hand():
    factor = warmup(4)
    assert [factor(step) for step in range(4)] == [0.25, 0.5, 0.75, 1]
    assert factor(15) == 0.5
    assert warmup(0)(123) == 1


def squares(num_rows=40, seed=0):
    """Not a sentence in sight: numbers and their squares, with a weight for each."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(num_rows, 1, generator=generator)
    return batches([x, x**2, torch.ones(num_rows)], 16)


def squared_error(net, batch):
    x, y, weight = batch
    return ((net(x) - y)[:, 0].square() * weight).sum() / weight.sum(), weight.sum()


def perceptron():
    return nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))


def test_any_data_and_any_loss(device):
    """Regression, by the same loop."""
    net = perceptron().eval()
    history = train(net, squares(), squared_error, 0.02, 40, device, unit="points")
    assert net.training  # whatever mode it came in
    assert list(history.columns) == ["loss", "points_per_sec"]
    assert history.loss.iloc[-1] < 0.01 < history.loss.iloc[0]


def test_the_validation_loss_is_that_of_evaluate(device):
    net = nn.Sequential(perceptron(), nn.Dropout(0.5))
    val = squares(7, seed=1)
    history = train(net, squares(), squared_error, 0.02, 3, device, val_batches=val)
    assert list(history.columns) == ["loss", "items_per_sec", "val_loss"]
    assert net.training
    x, y, _ = (tensor.to(device) for tensor in val.dataset.tensors)
    net.eval()
    expected = (net(x) - y).square().mean().item()
    assert history.val_loss.iloc[-1] == pytest.approx(expected, abs=1e-6)
    net.train()
    found = evaluate(net, val, squared_error, device)
    assert found == pytest.approx(expected, abs=1e-6)
    assert net.training  # as before


def test_without_a_batch_there_is_no_loss(device):
    class Nothing(IterableDataset):  # that it is empty shows only when it is read
        def __iter__(self):
            return iter(())

    with pytest.raises(ValueError, match=r"batches \(0\) must be at least 1"):
        evaluate(perceptron(), DataLoader(Nothing()), squared_error, device)


def test_the_best_epoch_can_be_kept(device):
    """Validate on data that early epochs fit better than late ones."""
    x = torch.rand(40, 1)
    val = batches([x, 0.5 * x, torch.ones(40)], 40)
    losses = {}
    for keep_best in (False, True):
        torch.manual_seed(0)
        net = perceptron()
        settings = {"val_batches": val, "keep_best": keep_best}
        history = train(net, squares(), squared_error, 0.05, 30, device, **settings)
        losses[keep_best] = evaluate(net, val, squared_error, device)
        assert history.val_loss.idxmin() < 30  # else the test shows nothing
    assert losses[True] == pytest.approx(history.val_loss.min(), abs=1e-6)
    assert losses[False] == pytest.approx(history.val_loss.iloc[-1], abs=1e-6)


def test_an_epoch_waits_once(monkeypatch, device):
    """No number leaves the device in a step, whatever the loss; at the end all of them do."""

    def refuse(*args):
        raise AssertionError("a step has waited for the device")

    net, data = tiny_net().train().to(device), [*toy_data(batch_size=2)]
    optimizer = torch.optim.Adam(net.parameters(), fused=True)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    on_cpu, steps = training.on_cpu, []

    def noted(rows):
        patch.undo()  # from here on, waiting is allowed
        steps.extend(rows)
        return on_cpu(rows)

    # What looks at lengths or labels does so on the device only.
    with monkeypatch.context() as patch:
        patch.setattr(torch.Tensor, "is_cpu", property(lambda self: False))
        for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__",
                     "__index__"):  # fmt: skip
            patch.setattr(torch.Tensor, name, refuse)
        patch.setattr(training, "on_cpu", noted)
        train_epoch(net, data, LOSS, optimizer, schedule, device)
    assert len(steps) == len(data) == 3


def test_batches_need_no_length(device):
    """Rows that are streamed will do; any iterable that is used up is refused."""

    class Rows(IterableDataset):
        def __iter__(self):
            return iter([(x[0], y[0], w[0]) for x, y, w in squares()])

    class Used:
        def __init__(self):
            self.left = iter(squares())

        def __iter__(self):
            return self.left

    history = train(perceptron(), DataLoader(Rows(), 2), squared_error, 0.01, 2, device)
    assert len(history) == 2
    with pytest.raises(TypeError, match="a Used is used up after one epoch"):
        train(perceptron(), Used(), squared_error, 0.01, 2, device)


def test_a_loss_must_count_something(device):
    def nothing(net, batch):
        mean, _ = squared_error(net, batch)
        return mean, 0

    for use in (
        lambda: train(perceptron(), squares(), nothing, 0.01, 1, device),
        lambda: evaluate(perceptron(), squares(), nothing, device),
    ):
        with pytest.raises(ValueError, match="loss must count something"):
            use()


def test_an_epoch_whose_validation_loss_is_nan_is_not_the_best(monkeypatch, device):
    net, states = perceptron(), []
    losses = iter([float("nan"), 0.5, 0.3, float("nan"), 0.4])

    def told(net, *args):
        states.append(net.state_dict()["0.weight"].clone())
        return next(losses)

    monkeypatch.setattr(training, "evaluate", told)
    settings = {"val_batches": squares(), "keep_best": True}
    train(net, squares(), squared_error, 0.02, 5, device, **settings)
    assert torch.equal(net.state_dict()["0.weight"], states[2])


def test_xavier_draws_by_both_sides_of_a_matrix():
    net = nn.Sequential(nn.Linear(50, 150), nn.LayerNorm(150))
    old, norm = net[0].weight.clone(), net[1].weight.clone()
    xavier_init(net)
    bound = math.sqrt(6 / (50 + 150))
    assert not torch.equal(net[0].weight, old) and torch.equal(net[1].weight, norm)
    assert net[0].weight.abs().max() <= bound
    assert net[0].weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
