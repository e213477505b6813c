"""Runs of chapter 13: the book's own square, and ETH/UCY with one scene left out at a time.

python -m benchmarks.recipes.trajectories saves the two networks that the chapter looks at.
"""

import functools
import itertools
import re

import torch
from sklearn.linear_model import LinearRegression
from torch import nn

from benchmarks.recipes.common import save_nets, up_and_down
from d2lmini import EncoderDecoder, EncoderStack, batches, train, try_gpu
from d2lmini.data.paths import path_windows, read_tracks, rotate_paths
from d2lmini.data.square import simulate_paths
from d2lmini.tasks.trajectories import (
    FeatureEmbedding,
    Forecaster,
    PathDecoder,
    PathEncoder,
    constant_velocity,
    displacement_errors,
    forecasting_loss,
    gaussian_loss,
    motion_features,
    roll_out,
    steps_between,
    walking_loss,
)
from d2lmini.transformer import cached_steps

SCENES = "eth", "hotel", "univ", "zara1", "zara2"
OBSERVED, PREDICTED = 8, 12  # for ETH/UCY; for the square 15 and 25
NUM_NEIGHBOURS = 8
NOISE = {  # on observed positions in training: share of paths, standard deviation in metres
    "no noise": [0.0, 0.0],
    "noise": [1.0, 0.02],
    "noise on half": [0.5, 0.03],
}

SQUARE = {  # as in chapter 13
    "paths": [3000, 1000],  # for training, for testing
    "sizes": [32, 64, 4, 2, 0.0],
    "batch_size": 64,
    "warmup_steps": 200,
    "forecaster": {"lr": 0.005, "num_epochs": 30},
    "walker": {"lr": 0.003, "num_epochs": 15},
}
SCENE = {
    "sizes": [64, 128, 4, 2, 0.1],
    "scale": [0.7, 1.3],  # of paths in training
    "batch_size": 256,
    "lr": 1e-3,
    "warmup_steps": 200,
    "num_batches": 2000,
    "noise": NOISE,
    "neighbours": NUM_NEIGHBOURS,
}
RECIPES = {"square": SQUARE, "eth-ucy": SCENE, "eth-ucy-choice": SCENE}

EXPERIMENTS = {
    "square": [
        {"name": "square", "model": model}
        for model in [
            "constant velocity",
            "steps",
            "positions",
            "positions, own given",
            "positions, change added",
            "steps, base 1000",
            "steps, bias",
            "steps, no ReLU",
            "steps, noise",
            "steps, own given",
            "forecaster",
            "forecaster, squared distance",
            "forecaster, Gaussian alone",
            "forecaster, without detach",
            "forecaster, factor of 1",
            "forecaster, no positions",
            "forecaster, small network",
            "forecaster, 90 epochs",
            "forecaster, small network, 90 epochs",
            "forecaster, wide network, 90 epochs",
            "mean of three",
            "steps, 30 epochs",
            "forecaster, 15 epochs",
            "steps, 30 epochs, rate 0.005",
            "forecaster, loss of steps",
            "steps, nothing added",
        ]
    ],
    "eth-ucy": [
        {"name": "eth-ucy", "model": "constant velocity"},
        {"name": "eth-ucy", "model": "constant velocity, partial futures"},
        {"name": "eth-ucy", "model": "mean of three"},
        {"name": "eth-ucy", "model": "linear regression"},
        {"name": "eth-ucy", "model": "Transformer", "noise": "no noise"},
        {"name": "eth-ucy", "model": "Transformer", "noise": "noise on half"},
        {
            "name": "eth-ucy",
            "model": "Transformer",
            "noise": "noise on half",
            "others": True,
        },
        {
            "name": "eth-ucy",
            "model": "Transformer",
            "noise": "noise on half",
            "num_batches": 4000,
        },
    ],
    # Noise and number of steps for a test scene: the best on the other scenes, each of them left
    # out as well; a net trained without a pair of scenes serves the choice for both.
    "eth-ucy-choice": [
        {"name": "eth-ucy", "noise": noise, "without": pair}
        for pair in map(list, itertools.combinations(SCENES, 2))
        for noise in NOISE
    ]
    + [
        {
            "name": "eth-ucy",
            "noise": "noise on half",
            "num_batches": 4000,
            "without": pair,
        }
        for pair in map(list, itertools.combinations(SCENES, 2))
    ],
}


def mean_of_three(past, num_steps):
    """Constant velocity with the mean of the last three steps."""
    before = past[:, -1:] - (past[:, -1:] - past[:, -4:-3]) / 3
    return constant_velocity(torch.cat([before, past[:, -1:]], dim=1), num_steps)


class PlainNetwork(nn.Module):
    """A rival of PathEncoder: the same features, all positions at once, two hidden layers."""

    def __init__(self, num_steps, num_hiddens, num_units):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(6 * num_steps, num_units), nn.ReLU(),
            nn.Linear(num_units, num_units), nn.ReLU(),
            nn.Linear(num_units, num_hiddens),
        )  # fmt: skip

    def forward(self, past):
        return self.layers(motion_features(past).flatten(1))[:, None]


class PlainEmbedding(FeatureEmbedding):
    """FeatureEmbedding without the ReLU."""

    def forward(self, features, start=0):
        return self.positions(self.dense(features), start)


class BareDecoder(PathDecoder):
    """Predict steps from steps, but without adding the input step."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.output.reset_parameters()

    def forward(self, steps, memory, memory_mask=None, caches=None):
        following, caches = super().forward(steps, memory, memory_mask, caches)
        return following - steps, caches


class PlaceDecoder(PathDecoder):
    """Predict positions from positions, as in the source; with or without adding the input."""

    def __init__(self, *sizes, added):
        super().__init__(*sizes)
        self.added = added
        if not added:
            # zero is a good start only if the output is added to the input
            self.output.reset_parameters()

    def forward(self, places, memory, memory_mask=None, caches=None):
        start = 0 if caches is None else cached_steps(caches)
        X, caches = self.stack(
            self.embedding(places / 3, start), memory, memory_mask, caches
        )
        return self.output(X) * 3 + self.added * places, caches


def mean_error(predicted, wanted):
    """The mean distance, and the number of distances."""
    errors = (predicted - wanted).norm(dim=-1)
    return errors.mean(), errors.numel()


def lens_of(past):
    """The full length for every row."""
    return torch.full((len(past),), past.shape[1], device=past.device)


def place_loss(net, batch):
    """walking_loss for a decoder of positions."""
    past, future = batch
    given = torch.cat([past[:, -1:], future[:, :-1]], dim=1)
    return mean_error(net(past, given, lens_of(past)), future)


@torch.no_grad()
def roll_out_places(net, past, num_steps):
    """roll_out for a decoder of positions."""
    return own_given(net.eval(), past, past[:, -1:], num_steps)


def noisy_loss(net, batch):
    """walking_loss with 2 cm of noise on the input steps."""
    past, future = batch
    given, following = steps_between(past, future)
    given = given + 0.02 * torch.randn_like(given)
    return mean_error(net(past, given, lens_of(past)), following)


def own_given(net, past, first, num_steps):
    """Run the decoder on its own output from first on, with gradients."""
    memory, caches = net.encoder(past), None
    output, outputs = first, []
    for _ in range(num_steps):
        output, caches = net.decoder(output, memory, caches=caches)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def own_steps_loss(net, batch):
    """walking_loss without teacher forcing."""
    past, future = batch
    given, following = steps_between(past, future)
    return mean_error(own_given(net, past, given[:, :1], future.shape[1]), following)


def own_places_loss(net, batch):
    """place_loss without teacher forcing."""
    past, future = batch
    return mean_error(own_given(net, past, past[:, -1:], future.shape[1]), future)


def gaussian_alone(net, batch):
    """The usual likelihood, which also trains the means."""
    past, future = batch
    return gaussian_loss(*net(past), future), future[..., 0].numel()


def unguarded_loss(net, batch, factor=0.1, detached=True):
    """forecasting_loss without one of its guards."""
    past, future = batch
    means, log_sigmas = net(past)
    distances = (means - future).norm(dim=-1)  # (batch, steps)
    centres = means.detach() if detached else means
    nats = gaussian_loss(centres, log_sigmas, future)
    return distances.mean() + factor * nats, distances.numel()


def squared_loss(net, batch):
    """forecasting_loss with squared distances for the means."""
    past, future = batch
    means, log_sigmas = net(past)
    squares = ((means - future) ** 2).sum(dim=-1)  # (batch, steps)
    nats = gaussian_loss(means.detach(), log_sigmas, future)
    return squares.mean() + 0.1 * nats, squares.numel()


def steps_loss(net, batch):
    """forecasting_loss with the errors of single steps for the means, as in walking_loss."""
    past, future = batch
    means, log_sigmas = net(past)
    nats = gaussian_loss(means.detach(), log_sigmas, future)
    (_, made), (_, following) = (steps_between(past, path) for path in (means, future))
    distances = (made - following).norm(dim=-1)  # (batch, steps)
    return distances.mean() + 0.1 * nats, distances.numel()


def sinusoids(num_steps, num_hiddens, base):
    """The positional table of chapter 3 with another base."""
    exponents = torch.arange(0, num_hiddens, 2) / num_hiddens
    angles = torch.arange(num_steps)[:, None] / base**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def make_walker(model):
    """The net of chapter 13 with one detail changed, its loss, and its roll-out."""
    sizes = SQUARE["sizes"]
    width, dropout = sizes[0], sizes[-1]
    if model.startswith("positions"):
        decoder = PlaceDecoder(*sizes, added="added" in model)
        loss = own_places_loss if "own" in model else place_loss
        return EncoderDecoder(PathEncoder(*sizes), decoder), loss, roll_out_places
    decoder = BareDecoder if "nothing added" in model else PathDecoder
    net = EncoderDecoder(PathEncoder(*sizes), decoder(*sizes))
    parts = net.encoder, net.decoder
    if "base" in model:
        for part in parts:
            part.embedding.positions.P.copy_(sinusoids(1000, width, 1000))
    if "bias" in model:
        net.decoder.output = nn.Linear(width, 2)
        nn.init.zeros_(net.decoder.output.weight)
    if "ReLU" in model:
        for part in parts:
            part.embedding = PlainEmbedding(
                part.embedding.dense.in_features, width, dropout
            )
    loss = noisy_loss if "noise" in model else walking_loss
    return net, own_steps_loss if "own" in model else loss, roll_out


def run_square(seed, model):
    """Train on paths of chapter 13, and test on others."""
    counts, sizes = SQUARE["paths"], SQUARE["sizes"]
    paths, test = (
        simulate_paths(n, seed)[0] for n, seed in zip(counts, (0, 2), strict=True)
    )
    past, future = test[:, :15], test[:, 15:]
    torch.manual_seed(seed)
    train_iter = batches([paths[:, :15], paths[:, 15:]], SQUARE["batch_size"])
    warmup_steps = SQUARE["warmup_steps"]
    fit = functools.partial(
        train, batches=train_iter, device=try_gpu(), warmup_steps=warmup_steps
    )
    found = {}
    told = re.search(r"(\d+) epochs", model)
    epochs = {"num_epochs": int(told[1])} if told else {}
    if rate := re.search(r"rate ([\d.]+)", model):
        epochs["lr"] = float(rate[1])
    rulers = {"constant velocity": constant_velocity, "mean of three": mean_of_three}
    if model in rulers:
        predicted = rulers[model](past, 25)
    elif model.startswith("forecaster"):
        encoder = PathEncoder(*sizes)
        if "network" in model:
            encoder = PlainNetwork(15, sizes[0], 512 if "wide" in model else 128)
        if "no positions" in model:
            encoder.embedding.positions.P.zero_()
        net = Forecaster(encoder, sizes[0], 25)
        losses = {
            "alone": gaussian_alone,
            "distance": squared_loss,
            "steps": steps_loss,
            "detach": functools.partial(unguarded_loss, detached=False),
            "1": functools.partial(unguarded_loss, factor=1.0),
        }
        loss = losses.get(model.split()[-1], forecasting_loss)
        if "wide" in model:
            epochs["lr"] = 0.002
        fit(net, loss=loss, **SQUARE["forecaster"] | epochs)
        with torch.no_grad():
            predicted, log_sigmas = (X.cpu() for X in net.eval()(past.to(try_gpu())))
        found["parameters"] = sum(p.numel() for p in net.parameters())
        found["nats"] = gaussian_loss(predicted, log_sigmas, future).item()
    else:
        net, loss, roll = make_walker(model)
        history = fit(net, loss=loss, **SQUARE["walker"] | epochs)
        predicted = roll(net, past.to(try_gpu()), 25).cpu()
        found["one_step"] = history.loss.iloc[-1]
    ade, fde = displacement_errors(predicted, future)
    distances = (predicted - future).norm(dim=-1)  # (paths, steps)
    found |= {"ade": ade, "fde": fde}
    found["rms"] = distances.pow(2).mean().sqrt().item()
    found["rms_final"] = distances[:, -1].pow(2).mean().sqrt().item()
    return found


def in_a_line(numbers):
    """Integers as one string: in a list, each would take a line of the ledger."""
    return " ".join(str(round(number)) for number in numbers.tolist())


@functools.cache
def scene(name):
    """All windows of a scene, their tracks, and the neighbours at the last observed step.

    Returns:
        Positions (windows, 20, 2); tracks (windows,); neighbours (windows, NUM_NEIGHBOURS, 4),
        nearest first, with relative position and velocity; the number of real ones (windows,).
    """
    tracks = read_tracks("eth-ucy", name)
    found = path_windows(tracks, OBSERVED + PREDICTED)
    at = {}  # (file, frame) -> pedestrian -> position
    for track in tracks:
        for frame, position in zip(track.frames.tolist(), track.positions, strict=True):
            at.setdefault((track.file, frame), {})[track.pedestrian] = position
    neighbours = torch.zeros(len(found.tracks), NUM_NEIGHBOURS, 4)
    counts = torch.zeros(len(found.tracks), dtype=torch.long)
    rows = zip(
        found.frames.tolist(), found.tracks.tolist(), found.positions, strict=True
    )
    for row, (frame, track, positions) in enumerate(rows):
        file, own = tracks[track].file, tracks[track].pedestrian
        now = frame + 10 * (OBSERVED - 1)
        here, before = at[file, now], at.get((file, now - 10), {})
        who = [p for p in here if p != own and p in before]
        if who:
            place = torch.stack([here[p] for p in who])
            velocity = (place - torch.stack([before[p] for p in who])) / 0.4
            features = torch.cat([place - positions[OBSERVED - 1], velocity], dim=1)
            nearest = features[:, :2].norm(dim=1).argsort()[:NUM_NEIGHBOURS]
            counts[row] = len(nearest)
            neighbours[row, : len(nearest)] = features[nearest]
    return found.positions, found.tracks, neighbours, counts


def turned(positions, neighbours):
    """Move the last observed position to the origin, and rotate its direction to the x axis."""
    origin = positions[:, OBSERVED - 1]
    way = origin - positions[:, OBSERVED - 3]
    angle = -torch.atan2(way[:, 1], way[:, 0])
    places, velocities = (rotate_paths(X, angle) for X in neighbours.split(2, dim=-1))
    paths = rotate_paths(positions - origin[:, None], angle)
    return paths, torch.cat([places, velocities], dim=-1)


class CrowdEncoder(nn.Module):
    """A PathEncoder with a token for each neighbour, before the walker's own tokens."""

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout):
        super().__init__()
        self.embedding = FeatureEmbedding(6, num_hiddens, dropout)
        self.others = nn.Linear(4, num_hiddens)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )

    def forward(self, past, neighbours, counts):
        # (batch, NUM_NEIGHBOURS, width)
        others = torch.relu(self.others(neighbours / 3))
        X = torch.cat([others, self.embedding(motion_features(past))], dim=1)
        places = torch.arange(X.shape[1], device=X.device)
        # (batch, tokens)
        mask = (places < counts[:, None]) | (places >= NUM_NEIGHBOURS)
        return self.stack(X, mask[:, None, None])


class CrowdForecaster(Forecaster):
    """A Forecaster that also sees the neighbours."""

    def forward(self, past, neighbours, counts):
        X = self.encoder(past, neighbours, counts)[:, -1]
        Y = self.output(X).unflatten(1, (-1, 2))
        return constant_velocity(past, Y.shape[1]) + Y, self.spread(X)


def augmented(batch, noise):
    """Scale and mirror at random, add noise to observed positions, then normalise the frame."""
    positions, neighbours, counts = batch
    rows = len(positions), 1, 1
    factor = torch.empty(rows).uniform_(*SCENE["scale"])
    mirror = torch.where(torch.rand(rows) < 0.5, 1.0, torch.tensor([1.0, -1.0]))
    share, std = NOISE[noise]
    shaken = torch.randn(len(positions), OBSERVED, 2) * std * (torch.rand(rows) < share)
    positions, neighbours = (
        positions * factor * mirror,
        neighbours * factor * mirror.repeat(1, 1, 2),
    )
    positions = torch.cat(
        [positions[:, :OBSERVED] + shaken, positions[:, OBSERVED:]], dim=1
    )
    return *turned(positions, neighbours), counts


def told(net, crowd, past):
    """The forecast of net for a past, with its crowd if the net uses one."""
    return net(past, *crowd)


def train_forecaster(names, noise, others, num_batches):
    """Train a net on the named scenes, with balanced numbers of windows."""
    data = [
        torch.cat(parts) for parts in zip(*(scene(name) for name in names), strict=True)
    ]
    del data[1]  # the tracks of the windows
    # Sample scenes by the square root of their size: else four windows in five are from univ.
    sizes = [len(scene(name)[0]) for name in names]
    weights = torch.cat([torch.full((size,), size**-0.5) for size in sizes])
    sizes = SCENE["sizes"]
    if others:
        net = CrowdForecaster(CrowdEncoder(*sizes), sizes[0], PREDICTED)
    else:
        net = Forecaster(PathEncoder(*sizes), sizes[0], PREDICTED)
    net.to(try_gpu())
    batch_size = SCENE["batch_size"]
    optimizer = torch.optim.Adam(net.parameters(), SCENE["lr"], fused=True)
    schedule = up_and_down(optimizer, SCENE["warmup_steps"], num_batches)
    drawn = torch.multinomial(weights, num_batches * batch_size, replacement=True)
    for rows in drawn.split(batch_size):
        paths, *crowd = augmented([array[rows] for array in data], noise)
        arrays = paths[:, :OBSERVED], paths[:, OBSERVED:], *crowd[: 2 * others]
        past, future, *crowd = (array.to(try_gpu()) for array in arrays)
        loss, _ = forecasting_loss(functools.partial(told, net, crowd), (past, future))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
    return net.eval()


@torch.no_grad()
def forecasts_of(net, name, others):
    """Means and log sigmas of all windows of a scene in their own frames, and the paths."""
    positions, _, neighbours, counts = scene(name)
    paths, neighbours = turned(positions, neighbours)
    arrays = paths[:, :OBSERVED], *(neighbours, counts)[: 2 * others]
    rows = zip(*(array.split(2048) for array in arrays), strict=True)
    parts = [net(*(array.to(try_gpu()) for array in row)) for row in rows]
    means, log_sigmas = (torch.cat(part).cpu() for part in zip(*parts, strict=True))
    return means, log_sigmas, paths


def jitter(paths):
    """The correlation of a change of step with the next one.

    With independent errors of the positions, a change is undone by the next one: pure errors give
    -2/3. On a smooth curve, changes continue.
    """
    changes = paths.diff(dim=1).diff(dim=1)  # (windows, steps - 2, 2)
    return ((changes[:, 1:] * changes[:, :-1]).sum() / (changes**2).sum()).item()


def regression(names):
    """Fit all future coordinates to all observed ones by least squares."""
    # In double precision, since columns are almost dependent for smooth paths.
    paths = torch.cat([turned(*scene(name)[::2])[0] for name in names]).double()
    past, future = paths.split([OBSERVED, PREDICTED], dim=1)
    return LinearRegression().fit(past.flatten(1), future.flatten(1))


def partial_futures(name):
    """The errors of constant velocity if incomplete windows count too, a common mistake."""
    errors = []
    for track in read_tracks("eth-ucy", name):
        even = (track.frames.diff() == 10).tolist()
        for start in range(len(even) - OBSERVED + 1):
            if all(even[start : start + OBSERVED - 1]):
                rest = even[start + OBSERVED - 1 : start + OBSERVED - 1 + PREDICTED]
                steps = [*rest, False].index(False)
                if steps >= 2:
                    end = start + OBSERVED
                    past = track.positions[None, start:end]
                    future = track.positions[None, end : end + steps]
                    predicted = constant_velocity(past, steps)
                    errors.append(displacement_errors(predicted, future))
    return torch.tensor(errors).mean(dim=0).tolist(), len(errors)


def run_scenes(seed, model, noise=None, others=False, num_batches=SCENE["num_batches"]):
    """Leave each scene out in turn: train on the others, test on it."""
    scenes = {}
    for name in SCENES:
        if model == "constant velocity, partial futures":
            errors, count = partial_futures(name)
            scenes[name] = {"ade": errors[0], "fde": errors[1], "windows": count}
            continue
        rest = [other for other in (*SCENES, "others") if other != name]
        positions, tracks, neighbours, _ = scene(name)
        paths, _ = turned(positions, neighbours)
        found = {"windows": len(paths)}
        if model == "mean of three":
            predicted = mean_of_three(paths[:, :OBSERVED], PREDICTED)
        elif model == "constant velocity":
            predicted = constant_velocity(paths[:, :OBSERVED], PREDICTED)
            found["jitter"] = jitter(paths)
        elif model == "linear regression":
            past = paths[:, :OBSERVED].double().flatten(1)
            predicted = torch.from_numpy(regression(rest).predict(past)).float()
            predicted = predicted.view(-1, PREDICTED, 2)
        else:
            torch.manual_seed(seed)
            net = train_forecaster(rest, noise, others, num_batches)
            predicted, log_sigmas, _ = forecasts_of(net, name, others)
            found["nats"] = gaussian_loss(
                predicted, log_sigmas, paths[:, OBSERVED:]
            ).item()
        found["ade"], found["fde"] = displacement_errors(predicted, paths[:, OBSERVED:])
        each = (predicted - paths[:, OBSERVED:]).norm(dim=-1).mean(dim=1)
        # A pedestrian's windows overlap, so the bootstrap must sample pedestrians.
        sums = torch.zeros(int(tracks.max()) + 1).index_add(0, tracks, each)
        counts = torch.bincount(tracks)
        found["windows_of_each"] = in_a_line(counts[counts > 0])
        found["ade_of_each_mm"] = in_a_line((1000 * sums / counts)[counts > 0])
        scenes[name] = found
    mean = {
        key: sum(s[key] for s in scenes.values()) / len(scenes)
        for key in ("ade", "fde")
    }
    return mean | {"scenes": scenes}


def run_pair(seed, noise, without, num_batches=SCENE["num_batches"]):
    """Train without two scenes; return the ADE on both."""
    torch.manual_seed(seed)
    rest = [other for other in (*SCENES, "others") if other not in without]
    net = train_forecaster(rest, noise, others=False, num_batches=num_batches)
    ades = {}
    for name in without:
        means, _, paths = forecasts_of(net, name, others=False)
        ades[name], _ = displacement_errors(means, paths[:, OBSERVED:])
    return {"ade": ades}


def run(seed, name, **setting):
    """Train once and test once; return the results as a dict for the ledger."""
    if name == "square":
        return run_square(seed, **setting)
    return (run_pair if "without" in setting else run_scenes)(seed, **setting)


def save_two(name="walk", seed=11):
    """Save the forecaster and the walker that the chapter looks at."""
    torch.set_num_threads(1)
    paths, _ = simulate_paths(SQUARE["paths"][0], seed=0)
    train_iter = batches([paths[:, :15], paths[:, 15:]], SQUARE["batch_size"])
    sizes, kept = SQUARE["sizes"], {}
    makers = {
        "forecaster": lambda: Forecaster(PathEncoder(*sizes), sizes[0], 25),
        "walker": lambda: EncoderDecoder(PathEncoder(*sizes), PathDecoder(*sizes)),
    }
    losses = {"forecaster": forecasting_loss, "walker": walking_loss}
    for net, make in makers.items():
        torch.manual_seed(seed)
        made, settings = make(), SQUARE[net] | {"warmup_steps": SQUARE["warmup_steps"]}
        train(made, train_iter, losses[net], device="cpu", **settings)
        kept[net] = made.state_dict()
    save_nets(name, kept, seed=seed, recipe=SQUARE)


if __name__ == "__main__":
    save_two()
