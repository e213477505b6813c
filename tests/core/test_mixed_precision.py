"""Steps in 16 bits and in parts do what train_step does."""

import pytest
import torch
from conftest import DEVICES, tiny_net
from test_training import CPU, LOSS, same, toy_data, weights
from torch.testing import assert_close

from d2lmini.speed.checkpoints import Checkpoint
from d2lmini.speed.mixed_precision import MixedPrecisionStep
from d2lmini.speed.training import train
from d2lmini.training import train_step


def one_step(step, device, loss=LOSS):
    """Net and what the step returns; the rows of the batch differ in length."""
    torch.manual_seed(0)
    net = tiny_net(10, 10).to(device).train()
    batch = [array.to(device) for array in next(iter(toy_data(batch_size=6)))]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, fused=True)
    return net, *step(net, batch, loss, optimizer)


def gradients(net):
    return {name: p.grad for name, p in net.named_parameters()}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num_parts", [1, 2, 4, 6, 50])
def test_the_gradient_of_a_batch_in_parts_is_that_of_the_batch(num_parts, device):
    net, mean, count, finite = one_step(train_step, device)
    step = MixedPrecisionStep(device, torch.float32, num_parts)
    other, other_mean, other_count, other_finite = one_step(step, device)
    for name, gradient in gradients(net).items():
        assert_close(gradients(other)[name], gradient, atol=1e-6, rtol=1e-5)
    assert_close(other_mean, mean)
    assert other_count == count and finite and other_finite


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "close"), [(torch.bfloat16, 0.03), (torch.float16, 0.01)]
)
def test_in_16_bits_gradients_are_nearly_the_same(dtype, close, device):
    seen = []

    def loss(net, batch):
        output = net.decoder.output
        output.register_forward_hook(lambda *given: seen.append(given[-1].dtype))
        return LOSS(net, batch)

    net, mean, *_ = one_step(train_step, device)
    other, other_mean, *_ = one_step(MixedPrecisionStep(device, dtype), device, loss)
    assert seen == [dtype] and other.decoder.output.weight.grad.dtype == torch.float32
    largest = max(gradient.abs().max() for gradient in gradients(net).values())
    for name, gradient in gradients(net).items():
        within = {"atol": close * largest.item(), "rtol": 0}
        assert_close(gradients(other)[name], gradient, **within)
    assert_close(other_mean, mean, atol=close, rtol=close)
    assert not same(weights(net), weights(other))


def spoiled(nth):
    """LOSS, whose nth result is NaN."""
    calls = []

    def loss(net, batch):
        mean, count = LOSS(net, batch)
        calls.append(count)
        return mean * (float("nan") if len(calls) == nth else 1.0), count

    return loss


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_batch_that_is_not_finite_is_skipped_and_counted(dtype, device):
    torch.manual_seed(0)
    fresh = tiny_net(10, 10).to(device)
    step = MixedPrecisionStep(device, dtype)
    before = step.scaler.get_scale()
    net, mean, count, finite = one_step(step, device, spoiled(1))
    assert same(weights(net), weights(fresh))  # the step changed nothing
    assert mean == 0 and count == 0 and finite
    assert step.skipped == 1 and step.scaler.get_scale() == before / 2


class Stopped(Exception):
    """What a stop raises in these tests."""


def test_a_training_in_16_bits_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    def run(path, stop_at=0):
        torch.manual_seed(0)
        net, steps = tiny_net(10, 10, dropout=0.3), iter(range(1, 99))
        step, data = MixedPrecisionStep(CPU, torch.float16), toy_data(2)

        def loss(net, batch):
            if net.training and next(steps) == stop_at:
                raise Stopped
            mean, count = LOSS(net, batch)
            is_spoilt = 4 in batch[0]  # one of the rows begins with it
            return mean * (float("nan") if is_spoilt else 1.0), count

        kept = Checkpoint(path, every=1)
        train(net, data, loss, 0.01, 3, CPU, checkpoint=kept, step=step)
        return net, step

    whole, counted = run(tmp_path / "whole.pt")
    with pytest.raises(Stopped):
        run(tmp_path / "run.pt", stop_at=5)
    resumed, again = run(tmp_path / "run.pt")
    assert same(weights(whole), weights(resumed))
    assert again.skipped == counted.skipped == 3
    assert again.scaler.state_dict() == counted.scaler.state_dict()
