"""Suffixes of the pipeline for the recurrence, and how they grow at the front by one option, with bounds.

A suffix has a duration of its own, which it has whatever is in front of it, and a bound on the iteration time of all
its completions; see :mod:`.recurrence` and :mod:`.front_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.front_bounds import FrontBounds, Known
from tangram_opt.composition.relaxation import ends
from tangram_opt.composition.search import island_code
from tangram_opt.composition.stage_columns import stage_columns
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable, undominated

_PAIRS: Final = 1 << 16
"""Most (suffix, option) pairs that are looked at in one step."""


@dataclass(frozen=True)
class Suffixes(Known):
    """Suffixes with equally many options, as columns.

    Attributes
    ----------
    path : array of int, shape (suffixes, options)
        Rows of the table, front to back.
    used : array of int
        The islands of all classes, as a code.
    total, least : array of int
        What one micro-batch takes through a suffix and back, and a bound on its duration with all micro-batches.
    bound : array of int
        A bound on the iteration time of every completion.
    """

    path: Ints
    used: Ints
    total: Ints
    least: Ints
    bound: Ints


class Growth:
    """How suffixes grow by the options of a table, and what bounds them.

    Parameters
    ----------
    table : OptionTable
        The options.
    stop : callable
        Asked often; once it answers True the bounds of :attr:`front` are of no use.

    Attributes
    ----------
    table : OptionTable
        Without options that another one can replace: paths are rows of it.
    front : FrontBounds
        Bounds on what is in front of suffixes.
    """

    def __init__(self, table: OptionTable, stop: Callable[[], bool]) -> None:
        self.table = table = table.keep(undominated(table, stage_columns(table).respects()))
        self.columns = stage_columns(table)
        self.place_value = np.array(island_code(table.count.tolist()), dtype=np.int64)
        by_end = ends(table)
        self.front = FrontBounds(table, by_end, self.columns, stop)
        # Options by the atom behind their slice, and by class among those of an atom.
        classes = len(table.count)
        group = np.repeat(np.arange(table.atoms + 1), np.diff(by_end.start)) * classes + table.island[by_end.row]
        order = np.argsort(group, kind="stable")
        self.row = by_end.row[order]
        self.start = np.searchsorted(group[order], np.arange((table.atoms + 1) * classes)).reshape(-1, classes)
        self.sizes = np.diff(self.start.ravel(), append=len(order)).reshape(-1, classes)

    def cut(self, suffixes: Suffixes) -> tuple[Suffixes, Suffixes]:
        """Cut off the first suffixes, as many as are grown in one step."""
        pairs = np.cumsum(self.sizes[suffixes.atom].sum(axis=1))
        number = max(1, int(np.searchsorted(pairs, _PAIRS)))
        return suffixes.keep(slice(number)), suffixes.keep(slice(number, None))

    def prepend(self, suffixes: Suffixes, cutoff_ns: int) -> Suffixes:
        """Put every option that fits in front of suffixes, as far as the bounds stay below a cutoff."""
        table, n = self.table, self.table.micro_batches
        free = suffixes.used[:, None] // self.place_value % (table.count + 1) < table.count
        sizes = np.where(free, self.sizes[suffixes.atom], 0)
        parent = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
        sizes = sizes.ravel()
        within = np.arange(len(parent)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        row = self.row[np.repeat(self.start[suffixes.atom].ravel(), sizes) + within]
        link = table.round_trip_ns[table.exit[row], suffixes.entry[parent]]
        tolerated = np.minimum(suffixes.stages[parent], table.depth) <= table.limit[row]
        fits = np.flatnonzero(tolerated & (link < IMPOSSIBLE))
        parent, row, link = parent[fits], row[fits], link[fits]
        island = table.island[row]
        known = Known(
            code=suffixes.code[parent] + self.front.place_value[island],
            entry=table.entry[row],
            atom=suffixes.atom[parent] - table.length[row],
            stages=suffixes.stages[parent] + table.stages[row],
        )
        behind = suffixes.total[parent] + link
        total = behind + table.sum_ns[row]
        least = suffixes.least[parent] + link + table.sum_ns[row]
        ahead = self.front.sums_ns(known)
        bound = least + ahead
        # From the cheapest bound to the dearest, each for what the ones before have left.
        kept = np.flatnonzero(bound < cutoff_ns)
        bound[kept] = np.maximum(bound[kept], self.front.iteration_ns(known.keep(kept), total[kept]))
        kept = kept[bound[kept] < cutoff_ns]
        if len(kept):
            own = self.columns.least_ns(row[kept], suffixes.stages[parent[kept]], behind[kept], n)
            least[kept] = np.maximum(least[kept], own)
            bound[kept] = np.maximum(bound[kept], least[kept] + ahead[kept])
            kept = kept[bound[kept] < cutoff_ns]
        known = known.keep(kept)
        path = np.hstack([row[kept][:, None], suffixes.path[parent[kept]]])
        used = suffixes.used[parent[kept]] + self.place_value[island[kept]]
        return Suffixes(
            known.code, known.entry, known.atom, known.stages, path, used, total[kept], least[kept], bound[kept]
        )

    def meets_requirements(self, used: Ints) -> NDArray[np.bool_]:
        """Tell which codes contain an island of every required class."""
        table = self.table
        needed = np.flatnonzero(table.required)
        counted = used[:, None] // self.place_value[needed] % (table.count[needed] + 1)
        met: NDArray[np.bool_] = np.all(counted > 0, axis=1)
        return met

    def makespans(self, paths: Ints) -> Ints:
        """Run pipelines event by event."""
        table = self.table
        links = table.round_trip_ns[table.exit[paths[:, :-1]], table.entry[paths[:, 1:]]] // 2
        return self.columns.makespans(paths, links, table.micro_batches)
