"""A square with a fountain, and people who walk across it: simulated paths.

A walker has a list of places to pass and a speed to walk at. Twenty times a second it is
accelerated towards the next place, and pushed away and aside by the fountain. This is a small
social force model (Helbing and Molnár 1995); its numbers were chosen by eye.
"""

import math
from typing import NamedTuple

import torch

from d2lmini.data.paths import STEP_SECONDS, rotate_paths
from d2lmini.support.arguments import check_arguments

HALF = 12.0  # the square reaches from -12 to 12 metres in both directions
FOUNTAIN = 3.0  # its radius, in metres; it stands in the middle
KIOSK = (7.0, -7.0)  # where some people stop
BEHAVIOURS = "straight", "round", "turn", "stop", "hurry"
PARTS = 8  # a step is computed in so many
CAMERA = (
    0.01  # standard deviation of what is observed around where people are, in metres
)


def simulate_paths(
    num_paths: int, seed: int, num_steps: int = 40
) -> tuple[torch.Tensor, torch.Tensor]:
    """Paths across the square, 2.5 positions a second.

    Straight across beside the fountain; round the fountain; a turn at a crossing; a stop at the
    kiosk; a sudden hurry. Each as often as the others.

    Args:
        seed: another gives other people on the same square.
    Returns:
        Positions (num_paths, num_steps, 2) in metres, and the behaviour of each, an index into
        BEHAVIOURS.
    Source: chapter 11.
    """
    check_arguments(num_paths=num_paths, seed=seed, num_steps=num_steps)
    dice = torch.Generator().manual_seed(seed)
    walkers = _walkers(num_paths, dice)
    paths = _walk(walkers, num_steps)
    paths = paths + CAMERA * torch.randn(paths.shape, generator=dice)
    # From every side: mirrored over the line through the kiosk, and turned by quarters. Those
    # who want to the kiosk are not turned: it stays where it is.
    mirrored = torch.rand(num_paths, 1, 1, generator=dice) < 0.5
    paths = torch.where(mirrored, -paths.flip(-1), paths)
    quarters = torch.randint(4, (num_paths,), generator=dice)
    quarters = torch.where(walkers.behaviour == BEHAVIOURS.index("stop"), 0, quarters)
    return rotate_paths(paths, quarters * math.pi / 2), walkers.behaviour


class _Walkers(NamedTuple):
    """What people want, as if all came from the west. Shapes: (people,) or (people, 2)."""

    behaviour: torch.Tensor
    position: torch.Tensor
    speed: torch.Tensor
    goal: torch.Tensor
    corner: torch.Tensor  # where those who turn do it, and where they go then
    after: torch.Tensor
    hurry_from: torch.Tensor  # in steps
    side: torch.Tensor  # of the fountain on which they pass: 1 = left, -1 = right


def _walkers(num_paths, dice):
    """Who they are, drawn at random."""

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
        # Who walks at the very middle may choose either side.
        torch.where(lane + 0.3 * torch.randn(num_paths, generator=dice) > 0, 1.0, -1.0),
    )


def _walk(walkers, num_steps):
    """Positions (people, num_steps, 2)."""
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
            near = (distance / 2.5).clamp(max=1)  # who stops slows down over 2.5 m
            wanted = torch.where(stopping[:, None], wanted * near, wanted)
            force = (wanted - velocity) / 0.6
            force = force + _fountain_force(position, velocity, walkers.side)
            velocity = velocity + force * STEP_SECONDS / PARTS
            position = position + velocity * STEP_SECONDS / PARTS
    return torch.stack(steps, dim=1)


def _fountain_force(position, velocity, side):
    """Away from the fountain, and to one side of it, for those who walk towards it."""
    distance = position.norm(dim=1, keepdim=True)
    away = position / distance
    push = 5.0 * torch.exp((FOUNTAIN + 0.8 - distance).clamp(max=1) / 0.5)
    towards = (-(velocity * away).sum(dim=1, keepdim=True)).clamp(min=0)
    sideways = torch.stack([away[:, 1], -away[:, 0]], dim=1) * side[:, None]
    return push * towards * (0.4 * away + 0.6 * sideways)
