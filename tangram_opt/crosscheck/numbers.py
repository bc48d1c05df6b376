"""Random numbers that are the same in every version of Python: only `random()` itself is promised to be."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")


def real(rng: random.Random, low: float, high: float) -> float:
    """A number between two others."""
    return low + (high - low) * rng.random()


def integer(rng: random.Random, low: int, high: int) -> int:
    """An integer between two others, both included."""
    return low + int((high - low + 1) * rng.random())


def choice(rng: random.Random, items: Sequence[ItemT]) -> ItemT:
    """One of several."""
    return items[integer(rng, 0, len(items) - 1)]
