"""Exercises of chapter 13."""

import itertools
import math

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Walker


def errors_by_hand():
    """ADE and FDE of constant velocity: seen (0, 0), (1, 1); walked (2, 2), (3, 2), (4, 1)."""
    return [4 / 3, 3.0]  # distances 0, 1, 3


def turn(past):
    """Move the last position to the origin, the last step onto the x axis; (batch, steps, 2)."""
    return _turned_by(past, past[:, -1] - past[:, -2])


def _turned_by(past, way, sign=1):
    """Shift by the last position, then rotate so that way, (batch, 2), points along x."""
    # (batch, 1) each
    cos, sin = (way / way.norm(dim=-1, keepdim=True)).split(1, dim=-1)
    x, y = (past - past[:, -1:]).unbind(dim=-1)  # (batch, steps) each
    return torch.stack([cos * x + sign * sin * y, cos * y - sign * sin * x], dim=-1)


def _turned_before_shift(past):
    """Rotate about the origin, then subtract the unrotated last position."""
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
    """The possible starts of windows: num_steps frames, each spacing after the previous one."""
    return [
        start
        for start in range(len(frames) - num_steps + 1)
        if all(frames[i + 1] - frames[i] == spacing
               for i in range(start, start + num_steps - 1))
    ]  # fmt: skip


def _ends_only(frames, num_steps, spacing):
    """Check only the first and the last frame of a window."""
    span = spacing * (num_steps - 1)
    starts = range(len(frames) - num_steps + 1)
    return [i for i in starts if frames[i + num_steps - 1] - frames[i] == span]


def _apart(frames, num_steps, spacing):
    """Find only windows that do not overlap."""
    found = []
    for start in windows(frames, num_steps, spacing):
        if not found or start >= found[-1] + num_steps:
            found.append(start)
    return found


def _at_most(frames, num_steps, spacing):
    """Accept frames at most spacing apart."""
    starts = range(len(frames) - num_steps + 1)
    steps = [b - a for a, b in itertools.pairwise(frames)]
    return [
        i for i in starts if all(s <= spacing for s in steps[i : i + num_steps - 1])
    ]


def _at_least(frames, num_steps, spacing):
    """Accept frames at least spacing apart."""
    starts = range(len(frames) - num_steps + 1)
    steps = [b - a for a, b in itertools.pairwise(frames)]
    return [
        i for i in starts if all(s >= spacing for s in steps[i : i + num_steps - 1])
    ]


def _frames_case(dice):
    spacing, frames = dice.number(2, 12), [dice.number(0, 9)]
    for _ in range(dice.number(5, 12)):
        is_even = dice.number(0, 3)
        frames.append(
            frames[-1] + (spacing if is_even else dice.number(1, 2 * spacing))
        )
    return frames, dice.number(2, 4), spacing


def best_sigma(distances):
    """The sigma with the smallest mean loss for these distances from the centre."""
    return math.sqrt(sum(r**2 for r in distances) / (2 * len(distances)))


def _distances_case(dice):
    return ([dice.number(0, 80) / 10 for _ in range(dice.number(1, 6))] + [1.0],)


def cancelling_errors(predicted, future):
    """The length of each path's mean displacement, averaged over paths."""
    return (predicted - future).mean(dim=1).norm(dim=-1).mean()


def _pair(*displacements):
    difference = torch.tensor(displacements)
    future = torch.arange(difference.numel(), dtype=torch.float32).view_as(difference)
    return future + difference, future


def _pairs_case(dice):
    batch, steps = dice.sizes(2, low=3)
    return dice.normal(batch, steps, 2), dice.normal(batch, steps, 2)


# ends 3.5 m from the origin
PAST = torch.tensor([[-10.0 + i, 0.25 * i] for i in range(8)])
FAR, CLOSE = (40.0, 0.0), (0.5, -1.0)  # large and small shifts


def _differ(a, b):
    return not torch.allclose(a, b, atol=1e-4)


def uses(net, shifts=(FAR, CLOSE), moved=range(6)):
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


def _all_early_move(net):
    """Move all early positions alike, so that only one step changes."""
    other = PAST.clone()
    other[:6] += torch.tensor([0.5, -1.0])
    return [uses(net)[0], _differ(net(other), net(PAST))]


def _no_shift_taken_off(net):
    """Compare positions without undoing the shift."""
    shift = torch.tensor([40.0, 0.0])
    return [_differ(net(PAST + shift), net(PAST)), uses(net)[1]]


def _predictor(push, steps):
    return (Walker(push, steps),)


STEPS = [
    [1],
    [1, 2],
    [5],
    [6],
    [7],
    [1, 2, 3],
    [1, 2, 3, 4],
    [3],
    [1, 2, 3, 4, 5, 6, 7],
]


def _drawn_predictor(dice):
    steps = STEPS[dice.number(0, len(STEPS) - 1)]
    return _predictor(["", "near", "far"][dice.number(0, 2)], steps)


EXERCISES = [
    Exercise(
        "paths-1",
        errors_by_hand,
        [()],
        {
            "sums of distances instead of means": lambda: [4.0, 3.0],
            "ADE and FDE exchanged": lambda: [3.0, 4 / 3],
            "a walker who is predicted to stand still": lambda: [
                (math.sqrt(2) + math.sqrt(5) + 3) / 3, 3.0
            ],
            "the root of the mean square; the mean of the distances is asked for": (
                lambda: [math.sqrt(10 / 3), 3.0]
            ),
            "the first step left out of the mean, because it is right": lambda: [2.0, 3.0],
            "the mean of the differences along x and along y, not the distance": (
                lambda: [2 / 3, 1.5]
            ),
        },
        (
            "The last step goes from (0, 0) to (1, 1). Repeat it three times.",
            "Constant velocity says (2, 2), (3, 3), (4, 4). How far is each from what was walked?",
            "Three distances, then: their mean is one answer, the last of them the other.",
        ),
        tolerance=5e-3,
    ),
    Exercise(
        "paths-2",
        turn,
        [
            _path((0, 0), (0, 2)), _path((5, 5), (4, 4), (3, 4)),
            _path((1, 0), (2, 1), (2, 3)), _path((0, 0), (1, 2), (4, -2)),
            (torch.tensor([[[1.0, 0], [2, 0], [4, 0]], [[0, 0], [0, 1], [0, 4]]]),)],
        {
            "a turn in the wrong direction": lambda past: (
                _turned_by(past, past[:, -1] - past[:, -2], sign=-1)
            ),
            "a shift without a turn": lambda past: past - past[:, -1:],
            "a turn that does not put the last position at the origin": lambda past: (
                turn(past) + past[:, -1:]
            ),
            "a turn about the origin, then a shift by the unturned position": (
                _turned_before_shift
            ),
            "a turn by the first step, not the last": lambda past: (
                _turned_by(past, past[:, 1] - past[:, 0])
            ),
            "a turn by the last two steps together, not by the last one": lambda past: (
                _turned_by(past, past[:, -1] - past[:, max(-3, -past.shape[1])])
            ),
            "the last step backwards: the walker comes from the right": lambda past: (
                _turned_by(past, past[:, -2] - past[:, -1])
            ),
            "the direction of the first path, for all of them": lambda past: (
                _turned_by(past, (past[:1, -1] - past[:1, -2]).expand(len(past), -1))
            ),
            "a direction that was not divided by its length": lambda past: (
                turn(past) * (past[:, -1:] - past[:, -2:-1]).norm(dim=-1, keepdim=True)
            ),
            "the last step along the y axis": lambda past: (
                turn(past).flip(-1) * torch.tensor([-1, 1])
            ),
            "a mirror image: a left turn has become a right turn": lambda past: (
                turn(past) * torch.tensor([1, -1])
            ),
            "a path in units of the last step: metres should stay metres": lambda past: (
                turn(past) / (past[:, -1:] - past[:, -2:-1]).norm(dim=-1, keepdim=True)
            ),
        },
        (
            "Take the last position away from all positions first.",
            "The last step has a length and a direction (cos, sin). Divide it by its length.",
            "Turning back by that direction takes the last step to (1, 0). Which matrix does that?",
        ),
        draw=_paths_case,
    ),
    Exercise(
        "paths-3",
        windows,
        [
            ([0, 10, 20, 30], 3, 10), ([0, 10, 30, 40, 50], 3, 10), ([0, 10, 15, 20, 30], 3, 10),
            ([0, 5, 20, 30, 40], 3, 10), ([0, 10, 20, 30, 40, 50], 2, 10), ([0, 10], 3, 10),
            ([3, 8, 13, 23, 28, 33], 3, 5), ([0, 10, 25, 35, 45, 55, 66], 4, 10)],
        {
            "the first and the last frame only; between them anything may happen": _ends_only,
            "a start too few: the last window may end with the last frame": lambda f, n, s: (
                windows(f[:-1], n, s)
            ),
            "windows one frame too long": lambda f, n, s: windows(f, n + 1, s),
            "windows one frame too short": lambda f, n, s: windows(f, n - 1, s),
            "windows that do not overlap": _apart,
            "frames that are nearer than spacing": _at_most,
            "a spacing of 10, whatever is asked for": lambda f, n, s: windows(f, n, 10),
            "frames that are further apart than spacing": _at_least,
            "every start, with the gaps bridged": lambda f, n, s: [*range(len(f) - n + 1)],
            "frame numbers instead of places in the list": lambda f, n, s: (
                [f[i] for i in windows(f, n, s)]
            ),
        },
        (
            "A window of 3 frames has 2 differences. Each must equal spacing.",
            "Starts go from 0 to len(frames) - num_steps, that one included.",
            "all(...) asks it of every pair of neighbours. Which is the last pair of a window?",
        ),
        draw=_frames_case,
    ),
    Exercise(
        "paths-4",
        best_sigma,
        [([5.0],), ([3.0, 4.0],), ([1.0, 1.0, 1.0, 5.0],), ([0.0, 2.0],),
            ([0.05],), ([600.0, 800.0],)],
        {
            "the sigma for a line; in the plane, sigma squared is half the mean square": (
                lambda d: math.sqrt(2) * best_sigma(d)
            ),
            "the square of sigma": lambda d: best_sigma(d) ** 2,
            "the mean distance, divided by the root of 2": lambda d: sum(d) / len(d) / math.sqrt(2),
            "the sum of squares, where their mean belongs": lambda d: (
                best_sigma(d) * math.sqrt(len(d))
            ),
            "the spread of the distances around their mean": lambda d: (
                math.sqrt(sum((r - sum(d) / len(d)) ** 2 for r in d) / (2 * len(d)))
            ),
            "the largest distance alone": lambda d: max(d) / math.sqrt(2),
            "half of the root of the mean square": lambda d: best_sigma(d) / math.sqrt(2),
        },
        (
            "Write the mean of the nats: the mean of r squared, over 2 sigma squared, plus "
            "2 log sigma.",
            "Set its derivative to zero: - (mean of r squared) / sigma cubed + 2 / sigma = 0.",
            "Multiply by sigma cubed, and solve for sigma squared.",
        ),
        draw=_distances_case,
    ),
    Exercise(
        "paths-5",
        cancelling_errors,
        [
            _pair([[3.0, 4.0], [-3.0, -4.0]]), _pair([[1.0, 0.0], [0.0, 1.0]]),
            _pair([[2.0, 0.0], [0.0, 0.0]], [[0.0, -1.0], [0.0, 3.0]]),
            _pair([[1.0, 0.0]], [[3.0, 0.0]])],
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
            "the largest of the paths, or the first path alone": lambda p, f: (
                (p - f).mean(dim=1).norm(dim=-1).amax()
            ),
            "the largest distance of each path": lambda p, f: (
                (p - f).norm(dim=-1).amax(dim=1).mean()
            ),
        },
        (
            "Try a path whose second position is as far off to the left as the first is to the "
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
            _predictor("", [1, 2]), _predictor("", [7]), _predictor("near", [1, 2, 3]),
            _predictor("far", [3]), _predictor("", [5]), _predictor("", [6]),
            _predictor("", [1, 2, 3, 4, 5, 6, 7])],
        {
            "shifts that never lead from near the fountain to far from it": lambda net: (
                uses(net, shifts=(CLOSE,))
            ),
            "earlier places that move all together: only one of their steps changes": (
                _all_early_move
            ),
            "a last step that changes, too, or the belief that all look back": lambda net: (
                uses(net, moved=range(8))
            ),
            "only the first places: a predictor may look back less far": lambda net: (
                uses(net, moved=range(3))
            ),
            "a first place left alone: a predictor may look back that far": lambda net: (
                uses(net, moved=range(1, 6))
            ),
            "predictions that are compared with the shift left in, or without a tolerance": (
                _no_shift_taken_off
            ),
            "the two answers exchanged": lambda net: uses(net)[::-1],
            "two answers that are always the same": lambda net: [any(uses(net))] * 2,
            "the belief that it uses nothing": lambda net: [False, False],
            "the belief that it uses both": lambda net: [True, True],
        },
        (
            "A predictor that ignores the place shifts its path with the past: subtract the "
            "shift before you compare.",
            "Begin with a past that ends within 5 m of the origin, and shift it far away.",
            "Change one of the first six places at a time; the last two stay as they are.",
        ),
        draw=_drawn_predictor,
    ),
]  # fmt: skip
