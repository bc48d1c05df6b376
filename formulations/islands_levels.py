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
    known_islands : int or None
        There is a partition of so many islands; solutions with more need not be in a model.
    """

    most_islands: int | None = None
    most_lost_flops_per_s: int | None = None
    known_islands: int | None = None

    def cost(self, islands: int, lost_flops_per_s: int) -> int:
        """What something costs that adds so many islands and loses so much compute."""
        if self.most_islands is None:
            return islands
        return lost_flops_per_s if self.most_lost_flops_per_s is None else 0


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
    fewest_islands, least_lost_flops_per_s, fastest_link_bytes_per_s : int
        Proven bounds of the levels.
    infeasible : bool
        Whether there is proven to be no partition.
    """

    def __init__(self, part: Part, groups: Groups | None, on_better: Callable[[], object]) -> None:
        self.part = part
        self.groups = groups
        self.value: PartitionValue | None = None if groups is None else part.value(groups)
        self.on_better = on_better
        self.fewest_islands = len(part.strangers)
        # What the nodes of a block lose among themselves, and their slowest link, they have in every island.
        self.least_lost_flops_per_s = part.lost_alone
        self.fastest_link_bytes_per_s = min(block.slowest_link for block in part.blocks)
        self.infeasible = False

    def improve(self, groups: Groups) -> None:
        """Take note of islands."""
        if not self.part.allows(groups):
            raise RuntimeError(f"a solver's islands are not allowed: blocks {groups}")
        value = self.part.value(groups)
        if self.value is None or value.costs < self.value.costs:
            self.groups, self.value = groups, value
            self.on_better()

    def prove_islands(self, solve: SolveLevel, on_bound: Callable[[int], object]) -> None:
        """Look for the fewest islands; `on_bound` hears of bounds that the solver claims while it runs."""
        if self.value is not None and self.value.islands == self.fewest_islands:
            return
        target = Target(known_islands=None if self.value is None else self.value.islands)
        found = self._solve(solve, self.part, target, self.groups, on_bound)
        self.infeasible = found.infeasible
        if found.bound is not None:
            self.fewest_islands = max(self.fewest_islands, found.bound)

    def prove_lost(self, solve: SolveLevel) -> None:
        """Look for the least compute lost, if the number of islands is proven."""
        if self.value is None or self.value.islands > self.fewest_islands:
            return
        if self.value.compute_lost_flops_per_s > self.least_lost_flops_per_s:
            found = self._solve(solve, self.part, Target(self.value.islands), self.groups, lambda _: None)
            if found.bound is not None:
                self.least_lost_flops_per_s = max(self.least_lost_flops_per_s, found.bound)

    def prove_link(self, solve: SolveLevel, stopped: Callable[[], bool]) -> None:
        """Look for the fastest slowest link, if the compute lost is proven."""
        if self.value is None or self.value.compute_lost_flops_per_s != self.least_lost_flops_per_s:
            return
        part, target = self.part, Target(self.value.islands, self.value.compute_lost_flops_per_s)
        both_ways = np.minimum(part.bandwidths, part.bandwidths.T)[np.triu(part.together, 1)]
        fastest = self.fastest_link_bytes_per_s
        if self.value.islands < part.size:
            fastest = min(fastest, int(both_ways.max()))
        candidates = sorted({fastest, *(int(bandwidth) for bandwidth in both_ways if bandwidth < fastest)})
        while not stopped():
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
