"""Backends for islands with a mistake each; the mistakes are those that models of islands make."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from formulations import islands_levels, islands_representatives
from formulations.cpsat import CpSat
from tangram_opt.backend import SolveOptions
from tangram_opt.data.cluster import MatrixNetwork
from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands import AgglomerativeBackend, parts
from tangram_opt.islands.blocks import join
from tangram_opt.result import Outcome, Result, StopReason

EXACT = CpSat()


@dataclass(frozen=True)
class PlantedIslands:
    """A backend that solves another problem than the one that it was given."""

    name: str = "planted"
    summary = "a backend with a mistake"
    exact = True

    def version(self) -> str:
        return "1"

    def missing(self) -> str | None:
        return None

    def unsupported(self, problem: Any) -> str | None:
        return None if isinstance(problem, IslandsProblem) else "islands only"

    def formulations(self, problem: Any) -> tuple[str, ...]:
        return ("representatives",)

    def mistaken(self, problem: IslandsProblem) -> IslandsProblem:
        """The problem as the mistake has it."""
        return problem

    def solve(self, problem: IslandsProblem, options: SolveOptions) -> Result[Any]:
        return EXACT.solve(self.mistaken(problem), replace(options, formulation="representatives"))


class IgnoresNetwork(PlantedIslands):
    """Takes all links for equally fast."""

    def mistaken(self, problem):
        return replace(problem, tolerances=replace(problem.tolerances, fast_link_bytes_per_s=1))


class OneDirection(PlantedIslands):
    """Takes the faster direction of each link for both."""

    def mistaken(self, problem):
        network = problem.cluster.network
        if not isinstance(network, MatrixNetwork):
            return problem
        rows, size = network.matrix_bytes_per_s, range(network.size)
        both = MatrixNetwork(tuple(tuple(max(rows[i][j], rows[j][i]) for j in size) for i in size))
        return replace(problem, cluster=replace(problem.cluster, network=both))


class StrictTolerance(PlantedIslands):
    """Wants ratios below 1 + tolerance, not up to it."""

    def mistaken(self, problem):
        t = problem.tolerances
        return replace(problem, tolerances=replace(t, compute=t.compute - 1e-9))


class LooseTolerance(PlantedIslands):
    """Rounds ratios down to whole per cent."""

    def mistaken(self, problem):
        t = problem.tolerances
        return replace(problem, tolerances=replace(t, compute=t.compute + 0.01, memory=t.memory + 0.01))


class NoSlack(PlantedIslands):
    """Forgets the tolerance of the network."""

    def mistaken(self, problem):
        return replace(problem, tolerances=replace(problem.tolerances, network=0.0))


class Patched(PlantedIslands):
    """Runs the exact backend with one of its functions replaced, and its self-checks off."""

    def solve(self, problem, options):
        with self.mistake(), _unchecked():
            return super().solve(problem, options)

    def mistake(self):
        raise NotImplementedError


class MergesByBoxAlone(Patched):
    """Merges nodes that are equally good, wherever they are."""

    def mistake(self):
        def merge(blocks, bandwidths):
            classes: dict[Any, list[int]] = {}
            for u, block in enumerate(blocks):
                classes.setdefault(block.box, []).append(u)
            firsts = [members[0] for members in classes.values()]
            merged = [join([blocks[u] for u in members], 9) for members in classes.values()]
            return merged, bandwidths[np.ix_(firsts, firsts)]

        return mock.patch.object(parts, "merge_twins", merge)


class ForgetsImplications(Patched):
    """Leaves out the rows by which two blocks draw in a third, and closures with them."""

    def mistake(self):
        def none(bandwidths, limit, together):
            return together, {}

        return mock.patch.object(parts, "pair_closures", none)


class ForgetsReasons(Patched):
    """Leaves out one kind of row: two blocks, none of them the first of their island, draw in a third."""

    def mistake(self):
        honest = islands_representatives.implications

        def without(part, data, r):
            drawn, _, apart = honest(part, data, r)
            return drawn, [], apart

        return mock.patch.object(islands_representatives, "implications", without)


class ClaimsLost(PlantedIslands):
    """Calls the compute that happens to be lost the least, once the number of islands is proven."""

    def solve(self, problem, options):
        exact = super().solve(problem, options)
        greedy = AgglomerativeBackend().solve(problem, replace(options, formulation="auto"))
        if greedy.objective != exact.objective:
            return exact
        levels = tuple(replace(level, bound=level.value) for level in greedy.levels)
        return replace(
            greedy, bound=greedy.objective, levels=levels, outcome=Outcome.OPTIMAL, stop_reason=StopReason.PROVED
        )


class MisstatesLink(PlantedIslands):
    """States a slowest link that is faster than it is."""

    def solve(self, problem, options):
        result = super().solve(problem, options)
        lost, link = result.levels
        return replace(result, levels=(lost, replace(link, value=link.value + 1, bound=link.bound + 1)))


class MisstatesLost(PlantedIslands):
    """States less compute lost than there is, and calls that proven."""

    def solve(self, problem, options):
        result = super().solve(problem, options)
        lost, link = result.levels
        return replace(result, levels=(replace(lost, value=lost.value - 1, bound=lost.bound - 1), link))


class ForgetsLost(PlantedIslands):
    """Takes the compute lost that the search for the fewest islands left for the least."""

    def solve(self, problem, options):
        def prove_lost(search, solve):
            search.least_lost_flops_per_s = search.value.compute_lost_flops_per_s

        with mock.patch.object(islands_levels.PartSearch, "prove_lost", prove_lost):
            return super().solve(problem, options)


class ForgetsLink(PlantedIslands):
    """Takes the slowest link that the first two levels left for the fastest."""

    def solve(self, problem, options):
        def prove_link(search, solve, stopped):
            search.fastest_link_bytes_per_s = search.value.slowest_link_bytes_per_s

        with mock.patch.object(islands_levels.PartSearch, "prove_link", prove_link):
            return super().solve(problem, options)


@contextmanager
def _unchecked():
    """Let wrong islands pass the self-checks of the backend, as those of a backend without them would."""

    def no_check(problem, partition):
        return ()

    def allows(part, groups):
        return True

    with (
        mock.patch("formulations.islands_search.check", no_check),
        mock.patch("tangram_opt.islands.answer.check", no_check),
        mock.patch.object(parts.Part, "allows", allows),
    ):
        yield
