"""Predict where pedestrians walk: the stacks of chapter 8 on positions instead of words."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini.data.paths import STEP_SECONDS
from d2lmini.layers import PositionWiseFFN
from d2lmini.masks import padding_mask
from d2lmini.positions import PositionalEncoding
from d2lmini.support.arguments import check_arguments, check_finite, check_floats
from d2lmini.support.modes import eval_mode
from d2lmini.transformer import DecoderStack, EncoderStack, cached_steps


def constant_velocity(past: torch.Tensor, num_steps: int) -> torch.Tensor:
    """Repeat the last step of each path.

    Args:
        num_steps: how many positions to predict.
    Shapes:
        past: (batch, past steps, 2), metres; result: (batch, num_steps, 2)
    Raises:
        TypeError, ValueError: see arguments.check_path.
    Source: chapter 13.
    """
    check_arguments(past=past, num_steps=num_steps)
    step = past[:, -1:] - past[:, -2:-1]  # (batch, 1, 2)
    ahead = torch.arange(1, num_steps + 1, device=past.device)
    return past[:, -1:] + step * ahead[:, None]  # (batch, num_steps, 2)


def displacement_errors(predicted: torch.Tensor, future: torch.Tensor):
    """The distance between predicted and actual paths, in metres.

    Shapes:
        predicted, future: (batch, steps, 2), metres
    Returns:
        The mean distance over all positions, and over the final positions (ADE and FDE).
    Raises:
        TypeError, ValueError: the shapes differ, or future is not finite.
    Source: chapter 13.
    """
    check_floats("predicted", predicted, "batch", "steps", 2)
    check_finite("future", future, *predicted.shape)
    distances = (predicted - future).norm(dim=-1)  # (batch, steps)
    return distances.mean().item(), distances[:, -1].mean().item()


def motion_features(past: torch.Tensor) -> torch.Tensor:
    """Compute position in units of 3 m, velocity in m/s and acceleration in m/s² at each step.

    In these units all six numbers have about the same size.

    Shapes:
        past: (batch, steps, 2), metres, at least two steps; result: (batch, steps, 6)
    Raises:
        TypeError, ValueError: see arguments.check_path.
    Source: chapter 13.
    """
    check_arguments(past=past)
    velocity = past.diff(dim=1) / STEP_SECONDS  # (batch, steps - 1, 2)
    velocity = torch.cat([velocity[:, :1], velocity], dim=1)  # (batch, steps, 2)
    acceleration = velocity.diff(dim=1) / STEP_SECONDS
    acceleration = torch.cat([acceleration[:, :1], acceleration], dim=1)
    return torch.cat([past / 3, velocity, acceleration], dim=-1)  # (batch, steps, 6)


class FeatureEmbedding(nn.Module):
    """Embed real-valued features: a linear layer, ReLU, plus the positional encoding.

    Args:
        num_features: number of features at each step.
        num_hiddens: width, even.
        dropout: probability, after the positions are added.
    Shapes:
        features: (batch, steps, num_features); result: (batch, steps, num_hiddens)
    Source: chapter 13.
    """

    def __init__(self, num_features, num_hiddens, dropout):
        super().__init__()
        self.dense = nn.Linear(num_features, num_hiddens)
        self.positions = PositionalEncoding(num_hiddens, dropout)

    def forward(self, features, start=0):
        return self.positions(F.relu(self.dense(features)), start)


class PathEncoder(nn.Module):
    """Motion features, their embedding, and a stack of encoder blocks.

    Args: as for EncoderStack.
    Shapes:
        past: (batch, steps, 2), metres
        valid_lens: (batch,), the number of real steps of each path; None = all
        result: (batch, steps, num_hiddens)
    Source: chapter 13.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout):
        super().__init__()
        self.embedding = FeatureEmbedding(6, num_hiddens, dropout)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )

    def forward(self, past, valid_lens=None):
        mask = padding_mask(valid_lens, past.shape[1])
        return self.stack(self.embedding(motion_features(past)), mask)


class PathDecoder(nn.Module):
    """Predict the next step from those so far: embedding, decoder blocks, a linear layer.

    The output of the linear layer is added to the input step.

    Args: as for DecoderStack.
    Shapes:
        steps: (batch, steps, 2), metres, from one position to the next; all steps, or those
            after the cached ones
        memory: (batch, past steps, num_hiddens), the encoder's output
        memory_mask: broadcastable to (batch, heads, steps, past steps), True = may attend
    Returns:
        The predicted next steps (batch, steps, 2), and the caches for the next call.
    Source: chapter 13.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout):
        super().__init__()
        self.embedding = FeatureEmbedding(2, num_hiddens, dropout)
        self.stack = DecoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )
        self.output = nn.Linear(num_hiddens, 2, bias=False)
        nn.init.zeros_(self.output.weight)  # untrained, it repeats the step

    def forward(self, steps, memory, memory_mask=None, caches=None):
        start = 0 if caches is None else cached_steps(caches)
        X = self.embedding(steps / STEP_SECONDS, start)  # (batch, steps, num_hiddens)
        X, caches = self.stack(X, memory, memory_mask, caches)
        return steps + self.output(X), caches  # (batch, steps, 2)


def steps_between(past: torch.Tensor, future: torch.Tensor):
    """The input steps of a decoder, and the steps that it should return.

    Shapes:
        past: (batch, past steps, 2), future: (batch, steps, 2); metres
    Returns:
        The last step of the past followed by all future steps but the last; and all future steps.
        Both are (batch, steps, 2).
    Raises:
        TypeError, ValueError: see arguments.check_path.
    Source: chapter 13.
    """
    check_arguments(past=past)
    check_finite("future", future, len(past), "steps", 2)
    # (batch, 1 + steps, 2)
    steps = torch.cat([past[:, -2:], future], dim=1).diff(dim=1)
    return steps[:, :-1], steps[:, 1:]


def walking_loss(net, batch):
    """The distance between predicted and actual next steps, with teacher forcing.

    Args:
        net: an EncoderDecoder of a PathEncoder and a PathDecoder.
        batch: past (batch, past steps, 2) and future (batch, steps, 2), metres.
    Returns:
        Mean metres per step, and the number of steps.
    Source: chapter 13.
    """
    past, future = batch
    given, following = steps_between(past, future)
    errors = (net(past, given) - following).norm(dim=-1)  # (batch, steps)
    return errors.mean(), errors.numel()


@torch.no_grad()
def roll_out(net, past: torch.Tensor, num_steps: int) -> torch.Tensor:
    """Predict a path step by step, each step from the net's own earlier ones.

    Args:
        net: an EncoderDecoder of a PathEncoder and a PathDecoder.
        num_steps: how many positions to predict.
    Shapes:
        past: (batch, past steps, 2), metres; result: (batch, num_steps, 2)
    Raises:
        TypeError, ValueError: see arguments.check_path.
    Source: chapter 13.
    """
    check_arguments(net=net, past=past, num_steps=num_steps)
    step = past[:, -1:] - past[:, -2:-1]  # the last observed step serves as <bos>
    steps, caches = [], None
    with eval_mode(net):
        memory = net.encoder(past)
        for _ in range(num_steps):
            step, caches = net.decoder(step, memory, caches=caches)  # (batch, 1, 2)
            steps.append(step)
    return past[:, -1:] + torch.cat(steps, dim=1).cumsum(dim=1)


class Forecaster(nn.Module):
    """Predict all future positions at once, with their uncertainty, from the encoder's last vector.

    Args:
        encoder: called with past; returns (batch, past steps, num_hiddens).
        num_hiddens: width of its output.
        num_steps: number of positions to predict.
    Shapes:
        past: (batch, past steps, 2), metres
    Returns:
        Means (batch, num_steps, 2) in metres, and the logarithms of the standard deviations
        (batch, num_steps), the same in both directions.
    Source: chapter 13.
    """

    def __init__(self, encoder, num_hiddens, num_steps):
        super().__init__()
        check_arguments(encoder=encoder, num_steps=num_steps)
        self.encoder = encoder
        self.output = nn.Linear(num_hiddens, 2 * num_steps)
        nn.init.zeros_(self.output.weight)  # untrained, it goes straight on
        nn.init.zeros_(self.output.bias)
        self.spread = PositionWiseFFN(num_hiddens, num_hiddens, num_steps)

    def forward(self, past):
        X = self.encoder(past)[:, -1]  # (batch, num_hiddens)
        Y = self.output(X).unflatten(1, (-1, 2))  # (batch, num_steps, 2)
        return constant_velocity(past, Y.shape[1]) + Y, self.spread(X)


def gaussian_loss(means, log_sigmas, future):
    """The negative log-likelihood of an isotropic Gaussian.

    Shapes:
        means, future: (batch, steps, 2), metres; log_sigmas: (batch, steps)
    Returns:
        Mean nats per position.
    Source: Bishop 1994, equation 23; chapter 13.
    """
    check_floats("means", means, "batch", "steps", 2)
    check_finite("future", future, *means.shape)
    check_floats("log_sigmas", log_sigmas, *means.shape[:2])
    squares = ((means - future) ** 2).sum(dim=-1)  # (batch, steps)
    nats = (
        squares / (2 * (2 * log_sigmas).exp()) + 2 * log_sigmas + math.log(2 * math.pi)
    )
    return nats.mean()


def forecasting_loss(net, batch):
    """The mean distance, plus a tenth of gaussian_loss, whose gradient does not reach the means.

    Args:
        net: a Forecaster.
        batch: past (batch, past steps, 2) and future (batch, steps, 2), metres.
    Returns:
        Their sum, and the number of positions.
    Source: chapter 13.
    """
    past, future = batch
    means, log_sigmas = net(past)
    nats = gaussian_loss(means.detach(), log_sigmas, future)
    distances = (means - future).norm(dim=-1)  # (batch, steps)
    return distances.mean() + 0.1 * nats, distances.numel()


def coverage(means, log_sigmas, future, probability: float) -> float:
    """The share of positions inside the circle that should contain them with this probability.

    Shapes:
        means, future: (batch, steps, 2), metres; log_sigmas: (batch, steps)
    Source: chapter 13.
    """
    check_floats("means", means, "batch", "steps", 2)
    check_finite("future", future, *means.shape)
    check_floats("log_sigmas", log_sigmas, *means.shape[:2])
    check_arguments(probability=probability)
    widths = (-2 * torch.log1p(-torch.tensor(probability))).sqrt()  # radius / sigma
    inside = (means - future).norm(dim=-1) < log_sigmas.exp() * widths  # (batch, steps)
    return inside.float().mean().item()
