"""Which island of a class, and which GPUs of it, run each stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.data.plan import GpuRange
from tangram_opt.islands import IslandGroup


@dataclass(frozen=True, slots=True)
class PlacedStage:
    """Where one stage runs.

    Attributes
    ----------
    pick, stage : int
        The stage is number `stage` of the option that pick number `pick` uses.
    island : str
        Name of the island.
    gpus : tuple of GpuRange
        Its GPUs.
    """

    pick: int
    stage: int
    island: str
    gpus: tuple[GpuRange, ...]


def place(
    cluster: Cluster, groups: Sequence[IslandGroup], problem: CompositionProblem, composition: Composition
) -> list[PlacedStage]:
    """Place the stages of a composition, front to back.

    Parameters
    ----------
    cluster : Cluster
        It has the nodes.
    groups : sequence of IslandGroup
        Island classes with their members.
    problem, composition : CompositionProblem, Composition
        What is placed.

    Returns
    -------
    list of PlacedStage
        The islands of a class are taken in their order, and the GPUs of an island node by node, so the stages of
        an option stand on neighbouring GPUs, as the parallelizers' transfer times take for granted.
    """
    by_name = {group.island.name: group for group in groups}
    used: defaultdict[str, int] = defaultdict(int)
    placed = []
    for number, pick in enumerate(composition.picks):
        option = problem.options[pick.option]
        group = by_name[option.island]
        member = used[option.island]
        used[option.island] += 1
        first = 0
        for index, stage in enumerate(option.stages):
            gpus = _gpu_ranges(cluster, group.members[member], first, stage.gpus)
            placed.append(PlacedStage(number, index, member_name(group, member), gpus))
            first += stage.gpus
    return placed


def member_name(group: IslandGroup, member: int) -> str:
    """Name of one island of a class: the name of the class, numbered where it has several."""
    return group.island.name if group.count == 1 else f"{group.island.name} #{member + 1}"


def _gpu_ranges(cluster: Cluster, nodes: Sequence[int], first: int, count: int) -> tuple[GpuRange, ...]:
    """GPUs `first` to ``first + count - 1`` of some nodes, counted node by node."""
    ranges = []
    start = 0
    for node in (cluster.nodes[index] for index in nodes):
        low, high = max(first, start), min(first + count, start + node.gpus)
        if low < high:
            ranges.append(GpuRange(node.name, low - start, high - low))
        start += node.gpus
    return tuple(ranges)
