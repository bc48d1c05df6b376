"""From a partition to the islands that planning sees: homogenised figures, and equal islands as one class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from tangram_opt.data.cluster import Cluster, Gpu, Node
from tangram_opt.data.island import Island, Partition
from tangram_opt.errors import InputError
from tangram_opt.islands.bandwidths import FASTEST, IntArray, gather_units


@dataclass(frozen=True, slots=True)
class IslandGroup:
    """A class of equal islands: same figures, and same links to each other and to every other island.

    Attributes
    ----------
    island : Island
        What each of them looks like; its name is that of the class.
    members : tuple of tuple of int
        Node indices of each island, ascending.
    """

    island: Island
    members: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """Number of islands in the class."""
        return len(self.members)

    def node_names(self, cluster: Cluster) -> list[list[str]]:
        """Names of the nodes of each island."""
        return [[cluster.nodes[index].name for index in member] for member in self.members]


def build_islands(cluster: Cluster, partition: Partition) -> tuple[IslandGroup, ...]:
    """Homogenise the islands of a partition and gather equal ones into classes.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    partition : Partition
        A valid partition of its nodes, see :func:`tangram_opt.islands.check`.

    Returns
    -------
    tuple of IslandGroup
        Classes by their first node, named after their GPU and its number: ``T4 x16``.

    Raises
    ------
    InputError
        When the partition names a node that the cluster does not have.
    """
    index = {node.name: i for i, node in enumerate(cluster.nodes)}
    for name in (name for island in partition.islands for name in island):
        if name not in index:
            raise InputError(f"partition of {partition.problem!r}: node {name!r}, expected nodes of {cluster.name!r}")
    islands = sorted(tuple(sorted(index[name] for name in island)) for island in partition.islands)
    bandwidths = _slowest_links(cluster, islands)
    figures = [_homogenise([cluster.nodes[i] for i in nodes], int(bandwidths[k, k])) for k, nodes in enumerate(islands)]
    classes: list[list[int]] = []
    by_figures: dict[Island, list[list[int]]] = {}
    for number, island in enumerate(figures):
        alike = by_figures.setdefault(island, [])
        own = next((members for members in alike if _interchangeable(bandwidths, members[0], number)), None)
        if own is None:
            own = []
            alike.append(own)
            classes.append(own)
        own.append(number)
    names = _class_names([figures[members[0]] for members in classes])
    return tuple(
        IslandGroup(replace(figures[members[0]], name=name), tuple(islands[k] for k in members))
        for name, members in zip(names, classes, strict=True)
    )


def links(cluster: Cluster, groups: Sequence[IslandGroup]) -> tuple[tuple[int, ...], ...]:
    """Bandwidths between the islands of classes.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    groups : sequence of IslandGroup
        Its classes.

    Returns
    -------
    tuple of tuple of int, classes x classes
        Bytes per second of the slowest link from a node of one island to a node of the other, from the row's class
        to the column's class; on the diagonal between two islands of the class, 0 where it has only one.
    """
    islands = [group.members[0] for group in groups]
    bandwidths = _slowest_links(cluster, islands)
    for k, group in enumerate(groups):
        bandwidths[k, k] = _slowest_links(cluster, group.members[:2])[0, 1] if group.count > 1 else 0
    return tuple(tuple(int(value) for value in row) for row in bandwidths)


def _slowest_links(cluster: Cluster, islands: Sequence[Sequence[int]]) -> IntArray:
    """Slowest node-to-node bandwidth from island to island; on the diagonal inside it, 0 for a single node."""
    owner = {node: k for k, nodes in enumerate(islands) for node in nodes}
    units = gather_units(cluster.network, [owner.get(node) for node in range(len(cluster.nodes))])
    owners = np.array([owner.get(members[0], -1) for members in units.members])
    order = np.argsort(owners, kind="stable")
    order = order[np.searchsorted(owners[order], 0) :]
    starts = np.searchsorted(owners[order], np.arange(len(islands)))
    rows = np.minimum.reduceat(units.bandwidths[np.ix_(order, order)], starts, axis=0)
    slowest: IntArray = np.minimum.reduceat(rows, starts, axis=1)
    slowest[slowest == FASTEST] = 0
    return slowest


def _homogenise(nodes: Sequence[Node], network_bytes_per_s: int) -> Island:
    """The island that every one of `nodes` can stand in for, figure by figure."""
    gpus = {node.gpu for node in nodes}
    worst = {field.name: min(getattr(gpu, field.name) for gpu in gpus) for field in fields(Gpu) if field.name != "name"}
    gpu = Gpu(name="/".join(sorted({gpu.name for gpu in gpus})), **worst)
    matrices = {node.link_bytes_per_s for node in nodes}
    link_bytes_per_s = tuple(tuple(map(min, zip(*rows, strict=True))) for rows in zip(*matrices, strict=True))
    host_memories = [node.host_memory_bytes for node in nodes if node.host_memory_bytes is not None]
    return Island(
        name=f"{gpu.name} x{len(nodes) * nodes[0].gpus}",
        gpu=gpu,
        nodes=len(nodes),
        gpus_per_node=nodes[0].gpus,
        link_bytes_per_s=link_bytes_per_s,
        network_bytes_per_s=network_bytes_per_s,
        host_memory_bytes=min(host_memories) if len(host_memories) == len(nodes) else None,
    )


def _interchangeable(bandwidths: IntArray, one: int, other: int) -> bool:
    """Whether two islands have the same links to each other, and to and from every third."""
    if bandwidths[one, other] != bandwidths[other, one]:
        return False
    third = np.ones(len(bandwidths), dtype=bool)
    third[[one, other]] = False
    return bool(
        (bandwidths[one, third] == bandwidths[other, third]).all()
        and (bandwidths[third, one] == bandwidths[third, other]).all()
    )


def _class_names(islands: Sequence[Island]) -> list[str]:
    """The islands' own names, with a letter behind those that several classes share."""
    names = [island.name for island in islands]
    seen: dict[str, int] = {}
    result = []
    for name in names:
        if names.count(name) == 1:
            result.append(name)
            continue
        seen[name] = seen.get(name, 0) + 1
        result.append(f"{name} {_letters(seen[name])}")
    return result


def _letters(number: int) -> str:
    """1 is a, 26 is z, 27 is aa."""
    text = ""
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
