"""The figure of signal and gradient in a deep stack, for different wirings of its layers."""

import torch
from torch.nn import functional as F

from d2lmini.figures.choices import check_between, check_one_of
from d2lmini.figures.stills import curves
from d2lmini.figures.widget import Figure, as_lists

WIDTH, MOST_LAYERS, NUM_POINTS = 16, 100, 24
WIRINGS = ["plain", "shortcuts", "post-norm", "pre-norm"]
TRIES = [
    (
        "A better start",
        {"scale": 2.45},
        "Plain layers hand on a signal now. Shortcuts alone make it grow like interest.",
    ),
    (
        "Silent branches",
        {"scale": 0.0},
        "Every branch adds nothing: three wirings pass the signal on, plain layers nothing.",
    ),
    (
        "A hundred layers",
        {"depth": 100, "layer": 100},
        "Both norms keep the signal in bounds. Shortcuts alone let signal and gradient grow.",
    ),
]


def explore_depth(depth=32, scale=1.0, brief=False) -> Figure:
    """Show signal and gradient in a stack of ReLU layers of width 16, wired in four ways.

    Args:
        depth: number of layers: 2, 6, 12, 18, 32, 50 or 100.
        scale: of the initial weights, between 0 and 3; 1 is the initialisation of nn.Linear,
            √6 = 2.45 that of He et al. There are no biases.
        brief: show a plain stack and one with shortcuts alone.
    Raises:
        ValueError: depth or scale is none of these.
    Source: chapter 7.
    """
    check_one_of("depth", depth, (2, 6, 12, 18, 32, 50, MOST_LAYERS))
    check_between("scale", scale, 0, 3)
    state = {"depth": depth, "scale": scale, "layer": depth}
    net = start()
    wirings = WIRINGS[:2] if brief else WIRINGS
    spreads = {kind: stack(kind, net, depth, scale)["spread"] for kind in wirings}
    picture = curves(range(depth + 1), spreads, "layer", "distances", yscale="log")
    ends = [f"{kind} {spread[-1]:.1g}" for kind, spread in spreads.items()]
    alt = (
        f"How far apart the points are, layer by layer, in stacks of {depth} layers: at the "
        f"entrance {spreads['plain'][0]:.1g}, and at the exit {', '.join(ends)}."
    )
    layers = net.pop("layers").to(torch.int8).numpy().tobytes()
    data = as_lists(net) | {"width": WIDTH}
    return Figure(
        "depth.js", state, picture, alt, data, layers, tries=TRIES, brief=brief
    )


def start():
    """Draw points, their targets and the weights; those of the layers are multiples of 1/127."""
    generator = torch.Generator().manual_seed(0)

    def uniform(*shape):
        return torch.rand(shape, generator=generator) * 2 - 1

    points = uniform(NUM_POINTS, 2)
    return {
        "points": points,
        "targets": torch.sin(3 * points[:, 0]) * torch.cos(3 * points[:, 1]),
        "enter": uniform(WIDTH, 2) / 2**0.5,
        "leave": uniform(WIDTH) / WIDTH**0.5,
        "layers": (uniform(MOST_LAYERS, WIDTH, WIDTH) * 127).round(),
    }


def stack(kind, net, depth, scale):
    """Compute the spread of the points and the size of the gradient at each depth of a stack."""
    net = {name: tensor.double() for name, tensor in net.items()}
    layers = net["layers"][:depth] * scale / 127 / WIDTH**0.5
    h = (net["points"] @ net["enter"].T).requires_grad_()
    streams = [h]
    for W in layers:
        read = F.layer_norm(h, (WIDTH,)) if kind == "pre-norm" else h
        made = torch.relu(read) @ W.T
        h = made if kind == "plain" else h + made
        h = F.layer_norm(h, (WIDTH,)) if kind == "post-norm" else h
        streams.append(h)
    seen = F.layer_norm(h, (WIDTH,)) if kind == "pre-norm" else h
    loss = (seen @ net["leave"] - net["targets"]).square().mean()
    gradients = torch.autograd.grad(loss, streams)
    return {
        "spread": [(h - h.mean(0)).square().mean().sqrt().item() for h in streams],
        "gradient": [g.norm().item() for g in gradients],
    }
