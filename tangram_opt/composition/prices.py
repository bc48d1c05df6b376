"""Prices of a Lagrangian relaxation, and what every search for the least sum of times under them answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.table import Ints, OptionTable

_PATIENCE: Final = 12
"""Price steps in a row that may gain next to nothing."""


@dataclass(frozen=True)
class Found:
    """Outcome of a search.

    Attributes
    ----------
    sum_ns : int
        Cost of the options found; IMPOSSIBLE where none below the cutoff were.
    rows : tuple of int
        Rows of the table, front to back.
    floor_ns : int
        Nothing that was dropped for width costs less; IMPOSSIBLE where nothing was dropped.
    """

    sum_ns: int
    rows: tuple[int, ...]
    floor_ns: int


class Relaxed(Protocol):
    """A relaxation for given prices, with the lower bound on the sum of times that it gives."""

    @property
    def price_ns(self) -> Ints:
        """The prices."""
        ...

    @property
    def bound_ns(self) -> int:
        """Lower bound; IMPOSSIBLE where there is no composition at all."""
        ...


RelaxedT = TypeVar("RelaxedT", bound=Relaxed)


class Way(Protocol):
    """A way to the least sum of times with the options of a table: a relaxation, and a search that it guides.

    No stage is slower than `slowest_ns`, and no period longer where that is the objective.
    """

    def __init__(self, table: OptionTable, slowest_ns: int) -> None: ...

    @staticmethod
    def free(table: OptionTable) -> Ints:
        """Prices of nothing."""
        ...

    def relax(self, price_ns: Ints) -> Any:
        """Compute the relaxation for given prices."""
        ...

    def improve(
        self, relaxed: Any, target_ns: int, hoped: Callable[[int], int], rounds: int, stop: Callable[[], bool]
    ) -> Any:
        """Raise prices until the bound reaches a target, or what is hoped for given a bound."""
        ...

    def search(self, relaxed: Any, cutoff_ns: int, width: int, stop: Callable[[], bool]) -> Found:
        """Find the cheapest options below a cutoff with about so many labels at a time."""
        ...


def raise_prices(
    relax: Callable[[NDArray[np.float64]], RelaxedT],
    slope: Callable[[RelaxedT], Ints],
    start: RelaxedT,
    target_ns: int,
    rounds: int,
    stop: Callable[[], bool],
) -> RelaxedT:
    """Look for prices with a better bound, by subgradient steps of Polyak's length.

    Parameters
    ----------
    relax : callable
        Computes the relaxation for prices, which it rounds to allowed ones.
    slope : callable
        A subgradient of the bound; 0 where a price cannot move that way.
    start : Relaxed
        To begin with.
    target_ns : int
        Stop where the bound reaches it; what the bound is hoped to reach.
    rounds : int
        Most steps.
    stop : callable
        Asked at every step; the search ends once it answers True.

    Returns
    -------
    Relaxed
        The one with the best bound.
    """
    best = current = start
    direction = np.zeros(len(start.price_ns))
    share = 1.0
    idle = 0
    for _ in range(rounds):
        if best.bound_ns >= target_ns or idle == _PATIENCE or stop():
            break
        steepest = slope(current)
        # Part of the direction before is kept, which dampens the zigzag of plain subgradients.
        direction = steepest + direction / 2
        squared = float(direction @ direction)
        if not steepest.any() or not squared:
            break
        move = share * (target_ns - current.bound_ns) / squared
        current = relax(current.price_ns + move * direction)
        idle = 0 if 16 * (current.bound_ns - best.bound_ns) > target_ns - best.bound_ns else idle + 1
        if current.bound_ns > best.bound_ns:
            best = current
        else:
            share *= 0.8
    return best
