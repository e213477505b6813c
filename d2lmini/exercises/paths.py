"""Exercises of chapter 11."""

import itertools
import math

import torch

from d2lmini.checking.exercise import Exercise
from d2lmini.checking.subjects import Walker


def errors_by_hand():
    """ADE and FDE of constant velocity: seen (0, 0), (1, 1); walked (2, 2), (3, 2), (4, 1)."""
    return [4 / 3, 3.0]  # distances 0, 1, 3


def turn(past):
    """The last position at the origin, the last step along the x axis; (batch, steps, 2)."""
    return _turned_by(past, past[:, -1] - past[:, -2])


def _turned_by(past, way, sign=1):
    """Shifted to the last position, then turned so that way, (batch, 2), points along x."""
    cos, sin = (way / way.norm(dim=-1, keepdim=True)).split(1, dim=-1)  # (batch, 1) each
    x, y = (past - past[:, -1:]).unbind(dim=-1)  # (batch, steps) each
    return torch.stack([cos * x + sign * sin * y, cos * y - sign * sin * x], dim=-1)


def _turned_before_shift(past):
    """Turned about the origin, and the last position as it was taken away after it."""
    shift = past[:, -1:] - past[:, -2:-1]
    cos, sin = (shift / shift.norm(dim=-1, keepdim=True)).unbind(dim=-1)
    x, y = past.unbind(dim=-1)
    return torch.stack([cos * x + sin * y, cos * y - sin * x], dim=-1) - past[:, -1:]


def _path(*positions):
    return (torch.tensor([positions], dtype=torch.float32),)


def _paths_case(dice):
    batch, steps = dice.sizes(2, low=3)
    return (dice.normal(batch, steps, 2),)


def windows(frames, num_steps, spacing):
    """Where a window may start: num_steps frames, each spacing after the one before."""
    return [
        start
        for start in range(len(frames) - num_steps + 1)
        if all(frames[i + 1] - frames[i] == spacing
               for i in range(start, start + num_steps - 1))
    ]  # fmt: skip


def _ends_only(frames, num_steps, spacing):
    """Looks at the first and the last frame of a window."""
    span = spacing * (num_steps - 1)
    starts = range(len(frames) - num_steps + 1)
    return [i for i in starts if frames[i + num_steps - 1] - frames[i] == span]


def _apart(frames, num_steps, spacing):
    """Windows that do not overlap."""
    found = []
    for start in windows(frames, num_steps, spacing):
        if not found or start >= found[-1] + num_steps:
            found.append(start)
    return found


def _at_most(frames, num_steps, spacing):
    """Frames that are no further apart than spacing."""
    starts = range(len(frames) - num_steps + 1)
    steps = [b - a for a, b in itertools.pairwise(frames)]
    return [i for i in starts if all(s <= spacing for s in steps[i : i + num_steps - 1])]


def _frames_case(dice):
    frames = [0]
    for _ in range(dice.number(5, 12)):
        frames.append(frames[-1] + (10 if dice.number(0, 3) else dice.number(1, 3) * 5))
    return frames, dice.number(2, 4), 10


def radius(sigma, probability):
    """Of the circle that holds a Gaussian walker with this probability."""
    return sigma * math.sqrt(-2 * math.log(1 - probability))


def _circle_case(dice):
    return dice.number(1, 40) / 10, dice.number(5, 95) / 100


def cancelling_errors(predicted, future):
    """The length of each path's mean displacement, a mean over paths."""
    return (predicted - future).mean(dim=1).norm(dim=-1).mean()


def _pair(*displacements):
    difference = torch.tensor(displacements)
    future = torch.arange(difference.numel(), dtype=torch.float32).view_as(difference)
    return future + difference, future


def _pairs_case(dice):
    batch, steps = dice.sizes(2)
    return dice.normal(batch, steps, 2), dice.normal(batch, steps, 2)


PAST = torch.tensor([[-7.0 + i, 0.25 * i] for i in range(8)])


def _differ(a, b):
    return not torch.allclose(a, b, atol=1e-4)


def uses(net, shifts=((40.0, 0.0), (0.0, -40.0), (0.5, -1.5), (8.0, 3.0)), moved=range(6)):
    """Whether net uses the place, and whether it uses more than the last step."""
    here = net(PAST) - PAST[-1]
    place = any(
        _differ(net(PAST + s) - (PAST + s)[-1], here) for s in map(torch.tensor, shifts)
    )
    back = False
    for i in moved:
        other = PAST.clone()
        other[i] += torch.tensor([0.5, -1.0])
        back = back or _differ(net(other), net(PAST))
    return [place, back]


def _two_last_move(net):
    """Moves every position but the last, and with them the last step."""
    other = PAST.clone()
    other[:-1] += torch.tensor([0.5, -1.0])
    return [uses(net)[0], _differ(net(other), net(PAST))]


def _all_early_move(net):
    """Moves all early positions alike: only one step changes."""
    other = PAST.clone()
    other[:6] += torch.tensor([0.5, -1.0])
    return [uses(net)[0], _differ(net(other), net(PAST))]


def _no_shift_taken_off(net):
    """Compares positions, which a shift of the path has to shift."""
    shift = torch.tensor([40.0, 0.0])
    return [_differ(net(PAST + shift), net(PAST)), uses(net)[1]]


def _predictor(push, steps):
    return (Walker(push, steps),)


def _drawn_predictor(dice):
    steps = [[1], [1, 2], [7], [1, 2, 3, 4], [3]][dice.number(0, 4)]
    return _predictor(["", "near", "far"][dice.number(0, 2)], steps)


EXERCISES = [
    Exercise(
        "paths-1",
        errors_by_hand,
        [()],
        {
            "sums of distances, where means are asked for": lambda: [4.0, 3.0],
            "ADE and FDE exchanged": lambda: [3.0, 4 / 3],
            "a walker who is predicted to stand still": lambda: [2.22, 3.0],
            "the root of the mean square; the mean of the distances is asked for": (
                lambda: [1.826, 3.0]
            ),
            "the first step left out of the mean, because it is right": lambda: [2.0, 3.0],
            "the mean of the differences along x and along y, not the distance": (
                lambda: [2 / 3, 1.5]
            ),
        },
        (
            "The last step goes from (0, 0) to (1, 1). Repeat it three times.",
            "Constant velocity says (2, 2), (3, 3), (4, 4). How far is each from what was walked?",
            "The distances are 0, 1 and 3.",
        ),
    ),
    Exercise(
        "paths-2",
        turn,
        [
            _path((0, 0), (0, 2)), _path((5, 5), (4, 4), (3, 4)),
            _path((1, 0), (2, 1), (2, 3)), _path((0, 0), (1, 2), (4, -2))],
        {
            "turned the other way round": lambda past: (
                _turned_by(past, past[:, -1] - past[:, -2], sign=-1)
            ),
            "shifted, but not turned": lambda past: past - past[:, -1:],
            "turned, but the last position is not at the origin": lambda past: (
                turn(past) + past[:, -1:]
            ),
            "turned about the origin, then shifted by the position that was not turned": (
                _turned_before_shift
            ),
            "turned by the first step, not by the last": lambda past: (
                _turned_by(past, past[:, 1] - past[:, 0])
            ),
            "the last step along the y axis": lambda past: (
                turn(past).flip(-1) * torch.tensor([-1, 1])
            ),
            "a mirror image: a left turn has become a right turn": lambda past: (
                turn(past) * torch.tensor([1, -1])
            ),
            "divided by the length of the last step: metres should stay metres": lambda past: (
                turn(past) / (past[:, -1:] - past[:, -2:-1]).norm(dim=-1, keepdim=True)
            ),
        },
        (
            "Take the last position away from all positions first.",
            "The last step has a length and a direction (cos, sin). Divide it by its length.",
            "Turning back by that direction: x' = cos x + sin y, y' = cos y - sin x.",
        ),
        draw=_paths_case,
    ),
    Exercise(
        "paths-3",
        windows,
        [
            ([0, 10, 20, 30], 3, 10), ([0, 10, 30, 40, 50], 3, 10), ([0, 10, 15, 20, 30], 3, 10),
            ([0, 5, 20, 30, 40], 3, 10), ([0, 10, 20, 30, 40, 50], 2, 10), ([0, 10], 3, 10)],
        {
            "the first and the last frame only; between them anything may happen": _ends_only,
            "a start too few: the last window may end with the last frame": lambda f, n, s: (
                windows(f[:-1], n, s)
            ),
            "windows one frame too long": lambda f, n, s: windows(f, n + 1, s),
            "windows one frame too short": lambda f, n, s: windows(f, n - 1, s),
            "windows that do not overlap": _apart,
            "frames that are nearer than spacing": _at_most,
            "every start, with the gaps bridged": lambda f, n, s: [*range(len(f) - n + 1)],
            "frames, where places in the list are asked for": lambda f, n, s: (
                [f[i] for i in windows(f, n, s)]
            ),
        },
        (
            "A window of 3 frames has 2 differences. Each must equal spacing.",
            "Starts go from 0 to len(frames) - num_steps, that one included.",
            "Ask for all(frames[i + 1] - frames[i] == spacing for i in ...), from the start to one "
            "before the last frame of the window.",
        ),
        draw=_frames_case,
    ),
    Exercise(
        "paths-4",
        radius,
        [(1.0, 0.5), (2.0, 0.9), (0.5, 0.25), (3.0, 0.99)],
        {
            "p, where 1 - p belongs: a surer circle must be larger": lambda s, p: (
                s * math.sqrt(-2 * math.log(p))
            ),
            "a root that was not taken": lambda s, p: -2 * s * math.log(1 - p),
            "a missing 2": lambda s, p: s * math.sqrt(-math.log(1 - p)),
            "the square of the radius": lambda s, p: -2 * s**2 * math.log(1 - p),
            "the interval of a Gaussian on a line; this one is in the plane": lambda s, p: (
                s * math.sqrt(2) * torch.erfinv(torch.tensor(p)).item()
            ),
            "a radius that does not grow with sigma": lambda s, p: (
                math.sqrt(-2 * math.log(1 - p))
            ),
        },
        (
            "Write p = 1 - exp(-R² / (2 sigma²)) and solve for R.",
            "exp(-R² / (2 sigma²)) = 1 - p. Take the logarithm of both sides.",
            "R² = -2 sigma² log(1 - p).",
        ),
        draw=_circle_case,
    ),
    Exercise(
        "paths-5",
        cancelling_errors,
        [
            _pair([[3.0, 4.0], [-3.0, -4.0]]), _pair([[1.0, 0.0], [0.0, 1.0]]),
            _pair([[2.0, 0.0], [0.0, 0.0]], [[0.0, -1.0], [0.0, 3.0]])],
        {
            "the mean distance, without a mistake": lambda p, f: (p - f).norm(dim=-1).mean(),
            "the root of the mean square": lambda p, f: (
                ((p - f) ** 2).sum(-1).mean().sqrt()
            ),
            "the distance of the last positions": lambda p, f: (p - f)[:, -1].norm(dim=-1).mean(),
            "a mean over all paths before the length is taken": lambda p, f: (
                (p - f).mean(dim=(0, 1)).norm()
            ),
            "a mean over the paths at each step, and then lengths": lambda p, f: (
                (p - f).mean(dim=0).norm(dim=-1).mean()
            ),
            "the mean of x and y, without signs": lambda p, f: (p - f).abs().mean(),
            "the largest distance of each path": lambda p, f: (
                (p - f).norm(dim=-1).amax(dim=1).mean()
            ),
        },
        (
            "Try a path whose second position is off to the left as far as the first is to the "
            "right.",
            "Such errors cancel. So something is averaged before lengths are taken. Over what?",
            "Try two paths, one step each, with opposite errors: do these cancel, too?",
        ),
        draw=_pairs_case,
        unseen=True,
    ),
    Exercise(
        "paths-6",
        uses,
        [
            _predictor("", [1]), _predictor("near", [1]), _predictor("far", [1]),
            _predictor("", [1, 2]), _predictor("", [7]), _predictor("near", [1, 2, 3, 4]),
            _predictor("far", [3])],
        {
            "a single shift: the fountain may push near it only, or far from it only": lambda net: (
                uses(net, shifts=((1.0, 1.0),))
            ),
            "earlier positions that move all together: only one of their steps changes": (
                _all_early_move
            ),
            "a last step that changes with the earlier ones: everybody uses that": _two_last_move,
            "the first position alone: somebody may look back less far": lambda net: (
                uses(net, moved=[0])
            ),
            "predictions that are compared without taking the shift off": _no_shift_taken_off,
            "the two answers exchanged": lambda net: uses(net)[::-1],
            "two answers that are always the same": lambda net: [any(uses(net))] * 2,
            "the belief that it uses nothing": lambda net: [False, False],
            "the belief that it uses both": lambda net: [True, True],
        },
        (
            "Whoever does not know the place predicts a shifted path for a shifted past: take the "
            "shift off before you compare.",
            "Try shifts that end near the fountain, and shifts that end far from it.",
            "Change one of the first six positions at a time; the last two stay as they are.",
        ),
        draw=_drawn_predictor,
    ),
]  # fmt: skip
