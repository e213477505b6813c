"""Runs of chapter 15: pictures, with positions and without."""

import functools

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini import try_gpu
from d2lmini.support.chapters import CHAPTERS

RECIPE = {"batches": 1000, "batch_size": 64, "lr": 0.002, "new": 1000, "width": 32}
RECIPES = {"pictures": RECIPE}
# Eight pixels are two patches: both sides cut the shapes in the same ways. Seven are not.
TASKS = "which shape", "disc left of cross", "the same, 7 pixels apart"
EXPERIMENTS = {
    "pictures": [
        {"task": task, "positions": positions}
        for task in TASKS
        for positions in ("sinusoids", "none")
    ],
}


def run(seed, task, positions):
    """Train once; the share of right classes of new pictures."""
    device = try_gpu()
    chapter = from_chapter(
        CHAPTERS["language"], "draw_shapes", "draw_pairs", "patches", "Beholder"
    )
    is_shape = task == TASKS[0]
    draw = chapter["draw_shapes" if is_shape else "draw_pairs"]
    if task == TASKS[2]:
        draw = functools.partial(draw, apart=7)
    torch.manual_seed(seed)
    net = chapter["Beholder"](RECIPE["width"], num_classes=4 if is_shape else 2)
    if positions == "none":
        net.positions = nn.Identity()
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPE["lr"])
    generator = torch.Generator().manual_seed(seed)
    for _ in range(RECIPE["batches"]):
        images, classes = draw(RECIPE["batch_size"], generator)
        loss = F.cross_entropy(net(images.to(device)), classes.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, classes = draw(RECIPE["new"], torch.Generator().manual_seed(1000 + seed))
    with torch.no_grad():
        guess = net.eval()(images.to(device)).argmax(-1).cpu()
    return {"right": (guess == classes).float().mean().item()}
