"""The search for the islands of a cluster: one for each part, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable

from formulations.islands_levels import PartSearch, SolveLevel
from formulations.search import Search
from tangram_opt.backend import SolveOptions
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.agglomerative import agglomerate_part
from tangram_opt.islands.answer import Bounds, partition_of
from tangram_opt.islands.bandwidths import FASTEST
from tangram_opt.islands.blocks import Block
from tangram_opt.islands.conditions import check
from tangram_opt.islands.crowds import Crowd
from tangram_opt.islands.evaluation import evaluate
from tangram_opt.islands.parts import Groups, Part, adopted, whole_part
from tangram_opt.islands.splitting import Split, split
from tangram_opt.result import StopReason


class IslandsSearch(Search[IslandsProblem, Partition]):
    """The search for the best partition of a cluster.

    Parameters
    ----------
    problem : IslandsProblem
        The problem.
    options : SolveOptions
        Limits, and who listens.
    """

    def __init__(self, problem: IslandsProblem, options: SolveOptions) -> None:
        super().__init__(problem, options, self._costs)
        self.settled: list[Block] = []
        self.crowds: tuple[Crowd, ...] = ()
        self.parts: list[PartSearch] = []

    def begin(self, *, split_up: bool) -> None:
        """Split the problem, and find islands to start from.

        Parameters
        ----------
        split_up : bool
            Whether structure may settle what it can, and every partition that the conditions allow is a solution. With
            constraints of the user's own only what a solver finds for all blocks is.
        """
        problem, hint = self.problem, _hint(self.problem, self.options.hint)
        components = split(problem, self.stopped) if split_up else Split((), (whole_part(problem),))
        self.settled = [island for component in components.settled for island in component]
        self.crowds = components.crowds
        for part in sorted(components.parts, key=lambda part: part.size):
            groups = _start(part, hint, self.stopped) if split_up else None
            self.parts.append(PartSearch(part, groups, self._combine))

    def solve(self, solve: SolveLevel) -> None:
        """Search level by level, at each the small parts first."""
        self._combine()
        self.prove(self._fewest)
        for each in self.parts:
            if not self.stopped():
                others = self._fewest - each.fewest_islands
                each.prove_islands(solve, lambda bound, others=others: self.hear(others + bound))  # type: ignore[misc]
                self.prove(self._fewest)
        for each in self.parts:
            if not self.stopped():
                each.prove_lost(solve)
        for each in self.parts:
            if not self.stopped():
                each.prove_link(solve, self.stopped)

    @property
    def why_unproved(self) -> StopReason:
        """Why it stopped, where nothing is proven: crowds are not searched at all."""
        reason = super().why_unproved
        return StopReason.HEURISTIC if self.crowds and reason is StopReason.PRECISION else reason

    @property
    def infeasible(self) -> bool:
        """Whether there is proven to be no partition."""
        return any(each.infeasible for each in self.parts)

    @property
    def bounds(self) -> Bounds:
        """What is proven of the three levels: islands and losses add up, the slowest link is that of any part."""
        if not self.settled and not self.parts and not self.crowds:
            return None, None, None
        lost = [island.flops_per_s - island.gpus * island.low[0] for island in self.settled]
        links = [island.slowest_link for island in self.settled]
        lost += [each.least_lost_flops_per_s for each in self.parts]
        links += [each.fastest_link_bytes_per_s for each in self.parts]
        lost += [crowd.least_lost_flops_per_s for crowd in self.crowds]
        links += [crowd.fastest_link_bytes_per_s for crowd in self.crowds]
        slowest = min(links)
        return self._fewest, sum(lost), 0 if slowest == FASTEST else slowest

    @property
    def _fewest(self) -> int:
        searched: list[PartSearch | Crowd] = [*self.parts, *self.crowds]
        return len(self.settled) + sum(each.fewest_islands for each in searched)

    def _costs(self, partition: Partition) -> tuple[int, int, int]:
        violated = check(self.problem, partition)
        if violated:
            raise RuntimeError(f"a solution of {self.problem.name!r} is not allowed: {violated[0]}")
        return evaluate(self.problem, partition).costs

    def _combine(self) -> None:
        """Offer the partition that the best islands of all parts make."""
        islands = [island.nodes for island in self.settled]
        islands += [island.nodes for crowd in self.crowds for island in crowd.islands]
        for each in self.parts:
            if each.groups is None:
                return
            blocks = each.part.blocks
            islands += [tuple(node for block in group for node in blocks[block].nodes) for group in each.groups]
        self.offer(partition_of(self.problem, islands))


def _hint(problem: IslandsProblem, hint: object) -> list[list[int]] | None:
    """Islands of a hint by node indices, if it is a valid partition."""
    if not isinstance(hint, Partition) or check(problem, hint):
        return None
    index = {node.name: i for i, node in enumerate(problem.cluster.nodes)}
    return [[index[name] for name in island] for island in hint.islands]


def _start(part: Part, hint: list[list[int]] | None, stopped: Callable[[], bool]) -> Groups:
    """The better of the agglomerative islands and those of a hint."""
    starts = [agglomerate_part(part, stopped)]
    if hint is not None and part.allows(groups := adopted(part, hint)):
        starts.append(groups)
    return min(starts, key=lambda groups: part.value(groups).costs)
