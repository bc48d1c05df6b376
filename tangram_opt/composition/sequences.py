"""The cheapest sequence of options, for every table: the relaxation and the search of the two modules named so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.potentials import potentials
from tangram_opt.composition.prices import Found, raise_prices
from tangram_opt.composition.relaxation import Relaxation, allowed_price, ends, raise_along_capacity, relax, slope
from tangram_opt.composition.search import search
from tangram_opt.composition.table import Ints, OptionTable


class Sequences:
    """The options of a table, to be put in order.

    Parameters
    ----------
    table : OptionTable
        Any.
    slowest_ns : int
        The period to keep, where the objective is the period form; otherwise nothing, as the options keep it.
    """

    def __init__(self, table: OptionTable, slowest_ns: int) -> None:
        self.table = table
        self.by_end = ends(table)
        self.excess = potentials(table, slowest_ns) if table.by_period else None

    @staticmethod
    def free(table: OptionTable) -> Ints:
        """Islands at no price."""
        return np.zeros_like(table.count)

    def relax(self, price_ns: Ints) -> Relaxation:
        """Compute the distances for given prices of islands."""
        return relax(self.table, self.by_end, price_ns)

    def improve(
        self, relaxed: Relaxation, target_ns: int, hoped: Callable[[int], int], rounds: int, stop: Callable[[], bool]
    ) -> Relaxation:
        """Raise prices towards a target; see :func:`.prices.raise_prices`."""

        def allowed(price: NDArray[np.float64]) -> Relaxation:
            return self.relax(allowed_price(self.table, price))

        relaxed = raise_along_capacity(self.table, self.by_end, relaxed, target_ns)
        target_ns = min(target_ns, hoped(relaxed.bound_ns))
        return raise_prices(allowed, lambda at: slope(self.table, at), relaxed, target_ns, rounds, stop)

    def search(self, relaxed: Relaxation, cutoff_ns: int, width: int, stop: Callable[[], bool]) -> Found:
        """Find the cheapest sequence below a cutoff; see :func:`.search.search`."""
        return search(self.table, self.by_end, self.excess, relaxed, cutoff_ns, width, stop)
