"""What a partition into islands is worth, without a solver."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.likeness import attributes
from tangram_opt.islands.network import links_of


class PartitionValue(NamedTuple):
    """The objectives of a partition, in order of importance.

    Attributes
    ----------
    islands : int
        Number of islands; fewer are better.
    compute_lost_flops_per_s : int
        Over all GPUs, what each reaches in matrix products above the slowest of its island: an island is shown to
        planning as equal GPUs of the slowest kind. Less is better.
    slowest_link_bytes_per_s : int
        The slowest link between two nodes of one island, over all islands with two nodes or more, where links that
        count as equally fast are as fast as the slowest of these; faster is better. 0 where all islands are single
        nodes, which says nothing: every other partition then has fewer islands.
    """

    islands: int
    compute_lost_flops_per_s: int
    slowest_link_bytes_per_s: int

    @property
    def costs(self) -> tuple[int, int, int]:
        """The objectives as numbers of which less is better: a better partition has a smaller tuple."""
        return self.islands, self.compute_lost_flops_per_s, -self.slowest_link_bytes_per_s


def slowest_link(problem: IslandsProblem, partition: Partition) -> int:
    """Find the slowest link between two nodes of one island, as fast as it is.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    partition : Partition
        Valid, see :func:`tangram_opt.islands.check`.

    Returns
    -------
    int
        Bytes per second; 0 where all islands are single nodes. The objective of :func:`evaluate` is less where the
        tolerances take fast links for equally fast.
    """
    as_they_are = replace(problem, tolerances=replace(problem.tolerances, fast_link_bytes_per_s=None))
    return evaluate(as_they_are, partition).slowest_link_bytes_per_s


def evaluate(problem: IslandsProblem, partition: Partition) -> PartitionValue:
    """Evaluate a partition.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    partition : Partition
        Valid, see :func:`tangram_opt.islands.check`.

    Returns
    -------
    PartitionValue
        Its objectives.
    """
    nodes = problem.cluster.nodes
    index = {node.name: i for i, node in enumerate(nodes)}
    links = links_of(problem)
    lost, slowest = 0, []
    for names in partition.islands:
        island = [index[name] for name in names]
        compute = [attributes(nodes[i])[0] for i in island]
        least = min(compute)
        lost += sum(nodes[i].gpus * (own - least) for i, own in zip(island, compute, strict=True))
        if len(island) > 1:
            slowest.append(links.slowest(island)[2])
    return PartitionValue(len(partition.islands), lost, min(slowest, default=0))
