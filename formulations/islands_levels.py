"""The three levels of a part, one after the other: fewest islands, least compute lost, fastest slowest link.

Each level is solved with the best values of those before it as limits, and only once they are proven. The first two
are objectives of a model. The third is a search over the bandwidths that occur: is there still such a partition when
all slower links are left out of islands?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tangram_opt.islands.evaluation import PartitionValue
from tangram_opt.islands.parts import Groups, Part


@dataclass(frozen=True, slots=True)
class Target:
    """What a model is to minimise: the first of the number of islands and the compute lost that has no limit.

    Attributes
    ----------
    most_islands : int or None
        Limit on the number of islands.
    most_lost_flops_per_s : int or None
        Limit on the compute lost. With both limits any solution will do.
    """

    most_islands: int | None = None
    most_lost_flops_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class LevelFound:
    """What a solver found out about one level.

    Attributes
    ----------
    groups : Groups or None
        The best islands.
    bound : int or None
        Proven lower bound of what the target minimises.
    infeasible : bool
        Whether there is proven to be no partition within the limits.
    """

    groups: Groups | None
    bound: int | None
    infeasible: bool = False


class SolveLevel(Protocol):
    """Solves a model of a part for one level."""

    def __call__(
        self,
        part: Part,
        target: Target,
        start: Groups | None,
        on_groups: Callable[[Groups], object],
        on_bound: Callable[[int], object],
    ) -> LevelFound:
        """Solve it, from a start that is within the limits."""
        ...


class PartSearch:
    """The search for the best partition of a part.

    Parameters
    ----------
    part : Part
        The part.
    groups : Groups or None
        Islands to start from.
    on_better : callable
        Called when there are better islands.

    Attributes
    ----------
    value : PartitionValue or None
        Of the best islands.
    fewest_islands : int
        Proven bound of the first level.
    least_lost_flops_per_s, fastest_link_bytes_per_s : int or None
        Those of the others, as far as the levels before are proven.
    infeasible : bool
        Whether there is proven to be no partition.
    """

    def __init__(self, part: Part, groups: Groups | None, on_better: Callable[[], object]) -> None:
        self.part = part
        self.groups = groups
        self.value: PartitionValue | None = None if groups is None else part.value(groups)
        self.on_better = on_better
        self.fewest_islands = part.strangers
        self.least_lost_flops_per_s: int | None = None
        self.fastest_link_bytes_per_s: int | None = None
        self.infeasible = False

    def run(self, solve: SolveLevel, stopped: Callable[[], bool], on_bound: Callable[[int], object]) -> None:
        """Prove the levels one after the other, until one cannot be proven or the search is stopped.

        Parameters
        ----------
        solve : callable
            Solves a model.
        stopped : callable
            Whether to stop.
        on_bound : callable
            Called with bounds of the number of islands that a solver claims while it runs.
        """
        if not stopped() and self._prove_islands(solve, on_bound) and not stopped() and self._prove_lost(solve):
            self._prove_link(solve, stopped)

    def improve(self, groups: Groups) -> None:
        """Take note of islands."""
        if not self.part.allows(groups):
            raise RuntimeError(f"a solver's islands are not allowed: blocks {groups}")
        value = self.part.value(groups)
        if self.value is None or value.costs < self.value.costs:
            self.groups, self.value = groups, value
            self.on_better()

    def _prove_islands(self, solve: SolveLevel, on_bound: Callable[[int], object]) -> bool:
        if self.value is None or self.value.islands > self.fewest_islands:
            found = self._solve(solve, self.part, Target(), self.groups, on_bound)
            self.infeasible = found.infeasible
            if found.bound is not None:
                self.fewest_islands = max(self.fewest_islands, found.bound)
        return self.value is not None and self.value.islands == self.fewest_islands

    def _prove_lost(self, solve: SolveLevel) -> bool:
        assert self.value is not None
        # What the nodes of a block lose among themselves they lose in every island.
        least = sum(self.part.lost_with(block, block) for block in range(self.part.size))
        if self.value.compute_lost_flops_per_s > least:
            target = Target(self.value.islands)
            found = self._solve(solve, self.part, target, self.groups, lambda _: None)
            if found.bound is not None:
                least = max(least, found.bound)
        self.least_lost_flops_per_s = least
        return self.value.compute_lost_flops_per_s == least

    def _prove_link(self, solve: SolveLevel, stopped: Callable[[], bool]) -> None:
        assert self.value is not None
        part, target = self.part, Target(self.value.islands, self.value.compute_lost_flops_per_s)
        both_ways = np.minimum(part.bandwidths, part.bandwidths.T)[np.triu(part.together, 1)]
        fastest = min(block.slowest_link for block in part.blocks)
        if self.value.islands < part.size:
            fastest = min(fastest, int(both_ways.max()))
        candidates = sorted({fastest, *(int(bandwidth) for bandwidth in both_ways if bandwidth < fastest)})
        while candidates and not stopped():
            # Whether the middle one can be reached halves them.
            candidates = [each for each in candidates if self.value.slowest_link_bytes_per_s < each]
            if not candidates:
                break
            middle = len(candidates) // 2
            found = self._solve(solve, part.at_least(candidates[middle]), target, None, lambda _: None)
            if found.infeasible:
                candidates = candidates[:middle]
            elif self.value.slowest_link_bytes_per_s < candidates[middle]:
                break
        self.fastest_link_bytes_per_s = max([self.value.slowest_link_bytes_per_s, *candidates])

    def _solve(
        self, solve: SolveLevel, part: Part, target: Target, start: Groups | None, on_bound: Callable[[int], object]
    ) -> LevelFound:
        found = solve(part, target, start, self.improve, on_bound)
        if found.groups is not None:
            self.improve(found.groups)
        return found
