"""Paths of pedestrians: from files of positions to windows of evenly spaced steps."""

import warnings
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import torch

from d2lmini.data.catalogue import POSITIONS
from d2lmini.data.registry import find_paths, read_lines
from d2lmini.support.arguments import check_arguments, check_count

STEP_SECONDS = 0.4  # from one position to the next, in every file of the registry
LARGEST = 10**9  # limit for frames, pedestrians and positions in metres


class Track(NamedTuple):
    """The positions of one pedestrian.

    Shapes:
        frames: (steps,), increasing integers; positions: (steps, 2), metres
    """

    file: str
    pedestrian: int
    frames: torch.Tensor
    positions: torch.Tensor


class Windows(NamedTuple):
    """Pieces of tracks, all of the same length.

    Shapes:
        positions: (windows, steps, 2); frames: (windows,), the first frame of each;
        tracks: (windows,), the index of its track
    """

    positions: torch.Tensor
    frames: torch.Tensor
    tracks: torch.Tensor


def read_tracks(name: str | Path, split: str = "train") -> list[Track]:
    """Read the tracks of a data set, pedestrian by pedestrian, file after file.

    Args:
        name: "eth-ucy", or the path of a file of lines "frame pedestrian x y", in metres.
        split: of "eth-ucy": "eth", "hotel", "univ", "zara1", "zara2" or "others".
    Raises:
        ValueError: a line that is not a position, or two positions of a pedestrian in one frame
            (file and line number); or see find_paths and read_lines.
        OSError: see registry.fetch.
    Source: chapter 13.
    """
    tracks = []
    for path in find_paths(name, split, POSITIONS):
        seen = {}  # pedestrian -> frame -> position
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                frame, pedestrian, x, y = _position(path, number, line)
                places = seen.setdefault(pedestrian, {})
                if frame in places:
                    raise ValueError(
                        f"{path}, line {number}: pedestrian {pedestrian} must have one position "
                        f"in frame {frame}, this is the second"
                    )
                places[frame] = x, y
        if not seen:
            raise ValueError(
                f"{path} must hold at least one line of {' '.join(POSITIONS)}"
            )
        for pedestrian, places in sorted(seen.items()):
            frames = sorted(places)
            positions = torch.tensor([places[frame] for frame in frames])
            tracks.append(Track(path.name, pedestrian, torch.tensor(frames), positions))
    return tracks


def _position(path, number, line):
    """Parse a line into frame and pedestrian, as integers, x and y."""
    try:
        frame, pedestrian, x, y = (float(cell) for cell in line.split())
        if not all(abs(number) <= LARGEST for number in (frame, pedestrian, x, y)):
            raise ValueError  # NaN is not at most anything
        if frame % 1 or pedestrian % 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{path}, line {number}: expected {' '.join(POSITIONS)}, four numbers up to "
            f"{LARGEST:,} of which the first two are whole, got {line.strip()!r:.60}"
        ) from None
    return int(frame), int(pedestrian), x, y


def path_windows(tracks: list[Track], num_steps: int, spacing: int = 10) -> Windows:
    """Cut tracks into all windows of num_steps positions whose frames are spacing apart.

    No window bridges a missing frame.

    Args:
        num_steps: positions in a window, at least 2.
    Raises:
        ValueError: no track is long enough.
    Warns:
        UserWarning: the steps are too long to be in metres, or some tracks have another spacing.
    Source: chapter 13.
    """
    check_count("num_steps", num_steps, least=2)
    check_count("spacing", spacing)
    found, frames, rows = [], [], []
    for row, track in enumerate(tracks):
        even = track.frames.diff() == spacing  # (steps - 1,)
        for start in range(len(track.frames) - num_steps + 1):
            if even[start : start + num_steps - 1].all():
                found.append(track.positions[start : start + num_steps])
                frames.append(track.frames[start])
                rows.append(row)
    if not found:
        longest = max(
            (_longest_run(track.frames, spacing) for track in tracks), default=0
        )
        gaps = [int(gap) for track in tracks for gap in track.frames.diff()]
        usual = max({*gaps}, key=gaps.count, default=spacing)
        remedy = (
            f"; most are {usual} apart: spacing={usual}" if usual != spacing else ""
        )
        raise ValueError(
            f"num_steps ({num_steps}) must be at most {longest}: of {len(tracks)} tracks, none "
            f"has more positions in a row whose frames are {spacing} apart{remedy}"
        )
    others = {
        int(gap)
        for track in tracks
        if len(track.frames) >= num_steps
        and (gap := track.frames.diff().median()) != spacing
    }
    if others:
        warnings.warn(
            f"of some tracks, most frames are {sorted(others)} apart, and they have no windows: "
            f"spacing ({spacing}) must be that of all tracks given",
            stacklevel=2,
        )
    positions = torch.stack(found)
    check_arguments(positions=positions)
    return Windows(positions, torch.stack(frames), torch.tensor(rows))


def _longest_run(frames, spacing) -> int:
    """The length of the longest run of frames that are spacing apart."""
    runs = groupby((frames.diff() == spacing).tolist())
    return 1 + max((len([*run]) for is_even, run in runs if is_even), default=0)


def rotate_paths(paths: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Rotate paths (batch, steps, 2) about the origin, each by its angle (batch,) in radians."""
    cos, sin = angle.cos(), angle.sin()
    rotation = torch.stack([cos, -sin, sin, cos], dim=-1).view(-1, 2, 2)
    return paths @ rotation.mT
