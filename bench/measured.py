"""One run of a solver, and what is made of many: times with failures, means, ratios."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

PAR = 10
"""A failure counts as this many time limits (PAR10)."""
SHIFT_S = 0.01
"""Shift of the geometric means: far below it, differences do not count."""
RATIO_SHIFT_S = 0.001
"""Shift of both times of a ratio: shorter times are mostly noise."""
SHORTEST_S = 1e-4
"""The best time of a performance profile is at least this; times are rounded to it."""


@dataclass(frozen=True)
class Measured:
    """A run; the fields are the columns of the raw table."""

    instance: str
    solver: str
    formulation: str
    seed: int
    outcome: str
    stop_reason: str
    objective: int | None
    bound: int | None
    wall_s: float
    peak_memory_mb: int | None
    error: str | None

    @property
    def method(self) -> str:
        """Solver and formulation."""
        return f"{self.solver} {self.formulation}"

    @property
    def proved(self) -> bool:
        """Whether it ended with a right answer and a proof."""
        return self.outcome in ("optimal", "infeasible")


def times(rows: Iterable[Measured], limit_s: float) -> dict[str, dict[str, float]]:
    """Time of each method on each instance: the median over seeds, where a failure counts as `PAR` time limits."""
    gathered: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        gathered[row.method][row.instance].append(row.wall_s if row.proved else PAR * limit_s)
    return {
        method: {instance: median(values) for instance, values in found.items()} for method, found in gathered.items()
    }


def mean(values: Iterable[float]) -> float:
    """Shifted geometric mean: exp(mean(log(t + s))) - s."""
    logs = [math.log(value + SHIFT_S) for value in values]
    return math.exp(sum(logs) / len(logs)) - SHIFT_S


def ratio(slow: dict[str, float], fast: dict[str, float], limit_s: float) -> tuple[float, int]:
    """Geometric mean of how many times slower one method is, and on how many instances.

    Only instances count that the fast one solves; where the slow one fails its time limit counts, so that the ratio
    is a lower bound.
    """
    common = [name for name in slow.keys() & fast.keys() if fast[name] <= limit_s]
    logs = [math.log((min(slow[name], limit_s) + RATIO_SHIFT_S) / (fast[name] + RATIO_SHIFT_S)) for name in common]
    return (math.exp(sum(logs) / len(logs)) if logs else math.nan), len(logs)


def family(instance: str) -> str:
    """Family of an instance: the first word of its name."""
    return instance.split("-")[0]


def profile(found: Sequence[dict[str, float]], limit_s: float) -> list[list[float]]:
    """Performance profile (Dolan and Moré 2002): for each method its ratios to the best method, sorted.

    Only instances that some method solves count; a failure, and an instance that a method cannot take, is an infinite
    ratio.
    """
    ratios: list[list[float]] = [[] for _ in found]
    for name in sorted(set().union(*found)):
        times = [own.get(name, math.inf) for own in found]
        best = min(times)
        if best <= limit_s:
            for own, value in zip(ratios, times, strict=True):
                own.append(value / max(best, SHORTEST_S) if value <= limit_s else math.inf)
    return [sorted(own) for own in ratios]
