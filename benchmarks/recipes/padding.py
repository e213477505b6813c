"""Runs of chapter 2: what padding does to a trained network that may read it."""

import torch
from torch import nn
from torch.nn import functional as F

from d2lmini import MultiHeadAttention, padding_mask

LONGEST, COLUMNS, WIDTH, HEADS, LAYERS = 10, 12, 32, 2, 2
TESTED = 10, 11, 12, 13, 14, 16, 20, 24
DIGITS, PAD, BOS = 4, 4, 5
MASKED = "every layer", "first layer only", "no layer"
EXPERIMENTS = {
    "padding": [
        *({"masked": masked, "bos": False, "updates": 1000} for masked in MASKED),
        {"masked": "every layer", "bos": True, "updates": 1000},
        {"masked": "every layer", "bos": False, "updates": 8000},
    ],
}
RECIPES = {
    "padding": {"lr": 0.003, "batch_size": 64, "longest": LONGEST, "columns": COLUMNS,
                "width": WIDTH, "layers": LAYERS},
}  # fmt: skip


class Counter(nn.Module):
    """Pre-norm blocks without positions: how often does each digit stand in the string?"""

    def __init__(self, masked):
        super().__init__()
        self.masked = masked
        self.embedding = nn.Embedding(BOS + 1, WIDTH)
        self.attentions = nn.ModuleList(
            MultiHeadAttention(WIDTH, HEADS, 0.0) for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.ffns = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(WIDTH),
                nn.Linear(WIDTH, 64),
                nn.ReLU(),
                nn.Linear(64, WIDTH),
            )
            for _ in range(LAYERS)
        )
        self.output = nn.Linear(WIDTH, 5)

    def forward(self, tokens, mask):
        X = self.embedding(tokens)
        parts = zip(self.norms, self.attentions, self.ffns, strict=True)
        for i, (norm, attention, ffn) in enumerate(parts):
            hides = self.masked == "every layer" or (
                self.masked == "first layer only" and i == 0
            )
            Y = norm(X)
            X = X + attention(Y, Y, Y, mask if hides else None)
            X = X + ffn(X)
        return self.output(X)


def strings(num, columns, bos):
    """Digits, padded to so many columns; their lengths; and how often each stands there, less 1."""
    valid_lens = torch.randint(2, LONGEST + 1, (num,))
    real = torch.arange(columns) < valid_lens[:, None]  # (num, columns)
    tokens = torch.randint(DIGITS, (num, columns)).where(real, torch.tensor(PAD))
    counts = (tokens[:, :, None] == tokens[:, None]).sum(-1).clamp(max=5) - 1
    if bos:
        tokens, real = F.pad(tokens, (1, 0), value=BOS), F.pad(real, (1, 0))
        counts, valid_lens = F.pad(counts, (1, 0)), valid_lens + 1
    return tokens, padding_mask(valid_lens, tokens.shape[1]), real, counts


def run(seed, masked, bos, updates):
    """Train on strings padded to COLUMNS; test the net on strings padded otherwise."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    net = Counter(masked)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for _ in range(updates):
        tokens, mask, real, counts = strings(64, COLUMNS, bos)
        loss = F.cross_entropy(net(tokens, mask)[real], counts[real])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = {"seed": seed}
    for columns in TESTED:
        tokens, mask, real, counts = strings(2000, columns, bos)
        with torch.no_grad():
            right = net(tokens, mask).argmax(-1) == counts
        found[f"right_{columns}"] = right[real].float().mean().item()
    return found
