"""Draw random cases; all sizes differ, so that no axis can be mistaken for another."""

from random import Random

import torch
from torch import Tensor


class Dice:
    """A source of sizes and numbers for cases, reproducible from the seed.

    Args:
        random: the source of randomness, such as random.Random(1).
    """

    def __init__(self, random: Random):
        self.random = random
        self.generator = torch.Generator().manual_seed(random.getrandbits(32))

    def number(self, low: int, high: int) -> int:
        """An integer from low to high, inclusive."""
        return self.random.randint(low, high)

    def sizes(self, number: int, low: int = 2) -> list[int]:
        """This many sizes, all different."""
        return self.random.sample(range(low, low + 2 * number), number)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def below(self, high: int, *shape: int) -> Tensor:
        """Integers from 0 to high - 1."""
        return torch.randint(high, shape, generator=self.generator)

    def true(self, probability: float, *shape: int) -> Tensor:
        """Booleans that are True with this probability."""
        return torch.rand(*shape, generator=self.generator) < probability

    def lengths(self, batch: int, longest: int, shortest: int = 1) -> Tensor:
        """Lengths of sentences, from shortest to longest."""
        return shortest + self.below(longest - shortest + 1, batch)

    def directions(self, *shape: int) -> Tensor:
        """Unit vectors along the last axis."""
        return torch.nn.functional.normalize(self.normal(*shape), dim=-1)

    def weights(self, *shape: int) -> Tensor:
        """Rows that sum to 1, along the last axis."""
        return torch.softmax(self.normal(*shape), dim=-1)


class Branch:
    """tanh(X @ W): a function that keeps the shape and prints on one line."""

    def __init__(self, W):
        self.W = W

    def __call__(self, X):
        return torch.tanh(X @ self.W)

    def __repr__(self):
        return f"<branch of width {len(self.W)}>"
