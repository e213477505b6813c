"""Simulated paths of people who walk across a square with a fountain.

A walker has a list of waypoints and a speed. Twenty times a second it is accelerated towards the
next waypoint, and pushed away and aside by the fountain. This is a small social force model
(Helbing and Molnár 1995); its numbers were chosen by eye.
"""

import math
from typing import NamedTuple

import torch

from d2lmini.data.paths import STEP_SECONDS, rotate_paths
from d2lmini.support.arguments import check_arguments

HALF = 12.0  # the square extends from -12 to 12 metres in both directions
FOUNTAIN = 3.0  # its radius in metres; it is in the middle
KIOSK = (7.0, -7.0)  # where some people stop
BEHAVIOURS = "straight", "round", "turn", "stop", "hurry"
PARTS = 8  # substeps per step
CAMERA = 0.01  # standard deviation of the observation noise, in metres


def simulate_paths(
    num_paths: int, seed: int, num_steps: int = 40
) -> tuple[torch.Tensor, torch.Tensor]:
    """Simulate paths across the square, at 2.5 positions a second.

    There are five behaviours, equally frequent: straight past the fountain, around the fountain,
    a turn at a crossing, a stop at the kiosk, and a sudden hurry.

    Args:
        seed: a different seed gives different people on the same square.
    Returns:
        Positions (num_paths, num_steps, 2) in metres, and the behaviour of each, an index into
        BEHAVIOURS.
    Source: chapter 13.
    """
    check_arguments(num_paths=num_paths, seed=seed, num_steps=num_steps)
    dice = torch.Generator().manual_seed(seed)
    walkers = _walkers(num_paths, dice)
    paths = _walk(walkers, num_steps)
    paths = paths + CAMERA * torch.randn(paths.shape, generator=dice)
    # Let people come from every side: reflect paths across the line through the kiosk, and rotate
    # them by quarter turns, except paths to the kiosk, which has a fixed place.
    mirrored = torch.rand(num_paths, 1, 1, generator=dice) < 0.5
    paths = torch.where(mirrored, -paths.flip(-1), paths)
    quarters = torch.randint(4, (num_paths,), generator=dice)
    quarters = torch.where(walkers.behaviour == BEHAVIOURS.index("stop"), 0, quarters)
    return rotate_paths(paths, quarters * math.pi / 2), walkers.behaviour


class _Walkers(NamedTuple):
    """The goals of people, as if all came from the west. Shapes: (people,) or (people, 2)."""

    behaviour: torch.Tensor
    position: torch.Tensor
    speed: torch.Tensor
    goal: torch.Tensor
    corner: torch.Tensor  # where people turn, and where they then go
    after: torch.Tensor
    hurry_from: torch.Tensor  # in steps
    side: torch.Tensor  # on which they pass the fountain: 1 = left, -1 = right


def _walkers(num_paths, dice):
    """Draw people at random."""

    def uniform(low, high):
        return low + (high - low) * torch.rand(num_paths, generator=dice)

    behaviour = torch.arange(num_paths) % len(BEHAVIOURS)
    around, stopping = (behaviour == BEHAVIOURS.index(b) for b in ("round", "stop"))
    lane = torch.where(uniform(0, 1) < 0.5, -1.0, 1.0) * uniform(5, 10)  # its y
    lane = torch.where(around, uniform(-2.5, 2.5), lane)
    lane = torch.where(stopping, uniform(-10, -6), lane)
    start = torch.where(around, uniform(-13, -9), uniform(-13, -6))
    far = torch.full_like(lane, 3 * HALF)
    goal = torch.stack([far, lane + uniform(-1, 1)], dim=1)
    goal = torch.where(stopping[:, None], torch.tensor(KIOSK), goal)
    crossing = torch.where(uniform(0, 1) < 0.5, -7.0, 7.0) + uniform(-0.5, 0.5)
    return _Walkers(
        behaviour,
        torch.stack([start, lane], dim=1),
        uniform(1.0, 1.6),
        goal,
        torch.stack([crossing, lane], dim=1),
        torch.stack([crossing, -far * lane.sign()], dim=1),
        uniform(4, 16),
        # People in the very middle choose either side.
        torch.where(lane + 0.3 * torch.randn(num_paths, generator=dice) > 0, 1.0, -1.0),
    )


def _walk(walkers, num_steps):
    """Simulate the positions (people, num_steps, 2)."""
    turning, stopping, hurrying = (
        walkers.behaviour == BEHAVIOURS.index(b) for b in ("turn", "stop", "hurry")
    )
    position, speed = walkers.position, walkers.speed[:, None]
    velocity = torch.cat([speed, torch.zeros_like(speed)], dim=1)
    has_turned = torch.zeros_like(turning)
    steps = []
    for step in range(num_steps):
        steps.append(position)
        late = hurrying & (step > walkers.hurry_from)
        pace = torch.where(late[:, None], 1.5 * speed, speed)
        for _ in range(PARTS):
            has_turned = has_turned | turning & (position > walkers.corner - 0.6)[:, 0]
            goal = torch.where(has_turned[:, None], walkers.after, walkers.goal)
            distance = (goal - position).norm(dim=1, keepdim=True)
            wanted = pace * (goal - position) / distance.clamp(min=1e-6)
            near = (distance / 2.5).clamp(max=1)  # people slow down over the last 2.5 m
            wanted = torch.where(stopping[:, None], wanted * near, wanted)
            force = (wanted - velocity) / 0.6
            force = force + _fountain_force(position, velocity, walkers.side)
            velocity = velocity + force * STEP_SECONDS / PARTS
            position = position + velocity * STEP_SECONDS / PARTS
    return torch.stack(steps, dim=1)


def _fountain_force(position, velocity, side):
    """The force away from the fountain and, for people walking towards it, to one side."""
    distance = position.norm(dim=1, keepdim=True)
    away = position / distance
    push = 5.0 * torch.exp((FOUNTAIN + 0.8 - distance).clamp(max=1) / 0.5)
    towards = (-(velocity * away).sum(dim=1, keepdim=True)).clamp(min=0)
    sideways = torch.stack([away[:, 1], -away[:, 0]], dim=1) * side[:, None]
    return push * towards * (0.4 * away + 0.6 * sideways)
