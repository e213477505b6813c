"""Paths: their files, the square, and the nets of chapter 13."""

import math

import pytest
import torch
from conftest import for_each

from d2lmini import EncoderDecoder, sinusoidal_table
from d2lmini.data.paths import path_windows, read_tracks, rotate_paths
from d2lmini.data.square import BEHAVIOURS, simulate_paths
from d2lmini.tasks import trajectories as paths
from d2lmini.tasks.trajectories import Forecaster, PathDecoder, PathEncoder, roll_out

SIZES = 8, 16, 2, 2, 0.1


@pytest.fixture
def past():
    torch.manual_seed(1)
    return torch.randn(3, 6, 2).cumsum(dim=1)


@pytest.fixture
def walker():
    torch.manual_seed(2)
    net = EncoderDecoder(PathEncoder(*SIZES), PathDecoder(*SIZES)).eval()
    torch.nn.init.normal_(net.decoder.output.weight)
    return net


@pytest.fixture
def forecaster():
    torch.manual_seed(3)
    net = Forecaster(PathEncoder(*SIZES), SIZES[0], num_steps=4).eval()
    torch.nn.init.normal_(net.output.weight)
    return net


def test_constant_velocity_goes_straight_on(past):
    found = paths.constant_velocity(past, 5)
    steps = torch.cat([past[:, -2:], found], dim=1).diff(dim=1)
    assert found.shape == (3, 5, 2)
    torch.testing.assert_close(steps, steps[:, :1].expand(-1, 6, -1))


def test_features_are_position_velocity_acceleration(past):
    """Against differences that are written out."""
    paired = zip(past.tolist(), paths.motion_features(past).tolist(), strict=True)
    for path, features in paired:
        for i in range(2, len(path)):
            for k in range(2):
                now, before, earlier = (path[i - n][k] for n in range(3))
                velocity = (now - before) / 0.4
                acceleration = (velocity - (before - earlier) / 0.4) / 0.4
                due = now / 3, velocity, acceleration
                assert features[i][k::2] == pytest.approx(due, rel=1e-3, abs=1e-4)


def test_an_untrained_decoder_repeats_the_step(past):
    net = EncoderDecoder(PathEncoder(*SIZES), PathDecoder(*SIZES))
    due = paths.constant_velocity(past, 5)
    torch.testing.assert_close(roll_out(net, past, 5), due)


def test_an_untrained_forecaster_goes_straight_on(past):
    means, log_sigmas = Forecaster(PathEncoder(*SIZES), SIZES[0], 5)(past)
    assert torch.equal(means, paths.constant_velocity(past, 5))
    assert log_sigmas.shape == (3, 5)


def test_rolling_out_with_caches_equals_whole_passes(walker, past):
    steps = past[:, -1:] - past[:, -2:-1]
    lens = torch.full((3,), 6)
    with torch.no_grad():
        for _ in range(5):  # all steps so far, at each step
            steps = torch.cat([steps, walker(past, steps, lens)[:, -1:]], dim=1)
    due = past[:, -1:] + steps[:, 1:].cumsum(dim=1)
    torch.testing.assert_close(roll_out(walker, past, 5), due, atol=1e-4, rtol=1e-4)


def test_a_padded_path_is_read_as_a_short_one(past):
    encoder = PathEncoder(*SIZES).eval()
    longer = torch.cat([past, torch.zeros(3, 2, 2)], dim=1)
    with torch.no_grad():
        padded = encoder(longer, torch.full((3,), 6))[:, :6]
        torch.testing.assert_close(padded, encoder(past))


def test_features_pass_a_relu_before_the_positions():
    embedding = paths.FeatureEmbedding(6, 8, 0.0)
    features = torch.randn(2, 5, 6)
    hidden = embedding(features) - sinusoidal_table(5, 8)
    due = embedding.dense(features)
    torch.testing.assert_close(hidden, due * (due > 0), atol=1e-6, rtol=1e-5)


def test_given_and_following_steps_are_one_apart(past):
    given, following = paths.steps_between(past[:, :4], past[:, 4:])
    torch.testing.assert_close(given[:, 0], past[:, 3] - past[:, 2])
    torch.testing.assert_close(following, past[:, 4:] - past[:, 3:5])
    assert torch.equal(given[:, 1:], following[:, :-1])


def test_errors_are_the_mean_and_the_last_distance():
    future = torch.tensor([[[3.0, 4], [6, 8]]])
    assert paths.displacement_errors(0 * future, future) == (7.5, 10.0)


def test_walking_loss_is_the_mean_distance_of_steps(walker, past):
    loss, count = paths.walking_loss(walker, (past[:, :3], past[:, 3:]))
    given, following = paths.steps_between(past[:, :3], past[:, 3:])
    errors = (walker(past[:, :3], given, torch.full((3,), 3)) - following).norm(dim=-1)
    assert count == 9 and loss.item() == pytest.approx(errors.mean().item())


def test_gaussian_loss_is_that_of_torch(past):
    means, log_sigmas = torch.randn(3, 6, 2), torch.randn(3, 6)
    covariances = torch.eye(2) * (2 * log_sigmas).exp()[..., None, None]
    gaussian = torch.distributions.MultivariateNormal(means, covariances)
    due = -gaussian.log_prob(past).mean()
    torch.testing.assert_close(paths.gaussian_loss(means, log_sigmas, past), due)


def test_the_means_learn_from_distances_alone(forecaster, past):
    future = past[:, 2:]
    loss, count = paths.forecasting_loss(forecaster, (past[:, :2], future))
    found = torch.autograd.grad(loss, forecaster.output.weight)[0]
    means, _ = forecaster(past[:, :2])
    distances = (means - future).norm(dim=-1).mean()
    due = torch.autograd.grad(distances, forecaster.output.weight)[0]
    assert count == 12
    torch.testing.assert_close(found, due)


@for_each([0.1, 0.5, 0.9])
def test_circles_hold_what_they_promise(probability):
    torch.manual_seed(0)
    log_sigmas = torch.linspace(-1, 2, 20000)[None]
    future = torch.randn(1, 20000, 2) * log_sigmas.exp()[..., None]
    held = paths.coverage(torch.zeros_like(future), log_sigmas, future, probability)
    assert held == pytest.approx(probability, abs=0.015)


# The square


def test_the_square_is_the_same_for_the_same_seed():
    (a, kinds), (b, _), (c, _) = (simulate_paths(20, seed) for seed in (0, 0, 1))
    assert torch.equal(a, b) and not torch.equal(a, c)
    assert a.shape == (20, 40, 2) and kinds.bincount().tolist() == [4] * len(BEHAVIOURS)


def test_a_rotation_keeps_lengths_and_turns_left():
    path = torch.tensor([[[1.0, 0], [2, 0]]])
    turned = rotate_paths(path, torch.tensor([math.pi / 2]))
    torch.testing.assert_close(turned, torch.tensor([[[0.0, 1], [0, 2]]]))


# Files


def written(folder, *lines):
    path = folder / "paths.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_tracks_are_sorted_by_pedestrian_and_frame(tmp_path):
    lines = "20 2 1 1", "10.0\t1.0\t0 0", "", "10 2 0 1", "20 1 3.5 -1e0"
    path = written(tmp_path, *lines)
    first, second = read_tracks(path)
    assert (first.pedestrian, first.frames.tolist()) == (1, [10, 20])
    assert first.positions.tolist() == [[0, 0], [3.5, -1]]
    assert (second.pedestrian, second.frames.tolist()) == (2, [10, 20])


@for_each(
    [
        ("20 1 3", "line 2: expected frame pedestrian x y"),
        ("20 1 x 4", "line 2: expected frame pedestrian x y"),
        ("20 1 nan 4", "line 2: expected frame pedestrian x y"),
        ("20.5 1 0 4", "first two are whole, got '20.5 1 0 4'"),
        ("10 1 0 4", "line 2: pedestrian 1 must have one position in frame 10"),
    ]
)
def test_a_bad_line_is_named(row, tmp_path):
    line, said = row
    path = written(tmp_path, "10 1 0 0", line)
    with pytest.raises(ValueError, match=r"paths\.txt") as error:
        read_tracks(path)
    assert said in str(error.value)


def test_windows_reach_across_no_gap(tmp_path):
    """Against every way to take consecutive positions."""
    frames = [0, 10, 20, 40, 50, 55, 60, 70, 80, 90]
    path = written(tmp_path, *(f"{frame} 7 {frame / 20} 0" for frame in frames))
    found = path_windows(read_tracks(path), 3)
    triples = (frames[i : i + 3] for i in range(len(frames) - 2))
    due = [a for a, b, c in triples if b - a == c - b == 10]
    assert found.frames.tolist() == due == [0, 60, 70]
    assert found.positions[:, 0, 0].tolist() == [0, 3, 3.5]
    assert found.tracks.tolist() == [0, 0, 0]


def test_tracks_of_another_spacing_are_said_to_be_left_out(tmp_path):
    lines = [f"{10 * i} 1 {i} 0" for i in range(4)] + [
        f"{6 * i} 2 {i} 0" for i in range(4)
    ]
    with pytest.warns(
        UserWarning, match=r"apart, and they have no windows: spacing \(10\)"
    ):
        found = path_windows(read_tracks(written(tmp_path, *lines)), 3)
    assert found.tracks.tolist() == [0, 0]


def test_no_window_is_an_error(tmp_path):
    path = written(tmp_path, "0 1 0 0", "10 1 1 0")
    with pytest.raises(ValueError, match=r"num_steps \(3\) must be at most 2: of 1"):
        path_windows(read_tracks(path), 3)
    path = written(tmp_path, *(f"{6 * i} 1 {i} 0" for i in range(4)))
    with pytest.raises(ValueError, match=r"; most are 6 apart: spacing=6$"):
        path_windows(read_tracks(path), 3)
    assert len(path_windows(read_tracks(path), 3, spacing=6).frames) == 2
    gap = [0, 10, 20, 40, 50, 60, 70, 90, 100]
    path = written(tmp_path, *(f"{frame} 1 {frame / 20} 0" for frame in gap))
    with pytest.raises(ValueError, match=r"num_steps \(5\) must be at most 4"):
        path_windows(read_tracks(path), 5)
    assert len(path_windows(read_tracks(path), 4).frames) == 1


def test_pixels_are_noticed(tmp_path):
    path = written(tmp_path, *(f"{10 * i} 1 {300 + 40 * i} 200" for i in range(4)))
    with pytest.warns(UserWarning, match="are they pixels"):
        path_windows(read_tracks(path), 3)
    with pytest.warns(UserWarning, match="mean step is 80"):
        paths.constant_velocity(torch.tensor([[[0.0, 0], [80, 0]]]), 2)
    with pytest.warns(UserWarning, match="largest coordinate 321"):
        # slow, but far away
        paths.constant_velocity(torch.tensor([[[320.0, 240], [321, 240]]]), 2)
