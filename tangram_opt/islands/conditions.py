"""The conditions of paper section 4.1, in exact integers: what a partition into islands may not violate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tangram_opt.data.cluster import Node
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.islands.bandwidths import FASTEST, IntArray, Units, gather_units


def check(problem: IslandsProblem, partition: Partition) -> tuple[str, ...]:
    """Find the conditions that a partition violates.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    partition : Partition
        The islands, by node names.

    Returns
    -------
    tuple of str
        One sentence for each violated condition of each island, with nodes that show it; empty for a valid
        partition.

    Notes
    -----
    Every node is in exactly one island. (C1) The nodes of an island have equally many GPUs, and their compute and
    memory differ by at most the tolerances. (C2) So do their intra-node bandwidths. (C3) The link between two of its
    nodes, in either direction, is at least as fast as any link from the first of them to a node outside. Source:
    paper section 4.1, equations 1 to 3.
    """
    nodes = problem.cluster.nodes
    index = {node.name: i for i, node in enumerate(nodes)}
    found = list(_membership(problem, partition, index))
    islands = [[index[name] for name in island if name in index] for island in partition.islands]
    label = {node: number for number, island in enumerate(islands) for node in island}
    units = gather_units(problem.cluster.network, [label.get(node) for node in range(len(nodes))])
    owner = np.array([-1 if (of := label.get(unit[0])) is None else of for unit in units.members])
    for number, island in enumerate(islands):
        what = f"island {number + 1} ({', '.join(partition.islands[number][:3])}{', ...' if len(island) > 3 else ''})"
        found += [f"{what}: {text}" for text in _likeness(nodes, island, problem.tolerances)]
        witness = proximity_violation(units.bandwidths, np.flatnonzero(owner == number))
        if witness is not None:
            found.append(f"{what}: {_proximity_text(nodes, units, witness)}")
    return tuple(found)


def ratio_limit(tolerance: float) -> Fraction:
    """1 + tolerance, exactly as the tolerance is written: 0.2 is one fifth, not the binary number next to it."""
    return 1 + Fraction(str(tolerance))


def attributes(node: Node) -> tuple[int, int, int]:
    """What the tolerances bound: compute (matrix products), memory, and intra-node bandwidth of a node."""
    return node.gpu.matmul_flops_per_s, node.gpu.memory_bytes, node.intra_bandwidth_bytes_per_s


def ratio_limits(tolerances: Tolerances) -> tuple[Fraction, Fraction, Fraction]:
    """Largest allowed ratio of each of the `attributes` inside an island."""
    return ratio_limit(tolerances.compute), ratio_limit(tolerances.memory), ratio_limit(tolerances.intra_bandwidth)


def proximity_violation(bandwidths: IntArray, island: IntArray) -> tuple[int, int, int] | None:
    """Find a link out of an island that is faster than one inside (C3).

    Parameters
    ----------
    bandwidths : ndarray of int64, units x units
        See :class:`Units`.
    island : ndarray of int
        Indices of the island's units.

    Returns
    -------
    tuple of int or None
        Units u, v inside and w outside such that the link from u to v is slower than the one from u to w.
    """
    rows = bandwidths[island]
    inside = rows[:, island]
    outside = rows.copy()
    outside[:, island] = -1
    slowest, fastest = inside.min(axis=1, initial=FASTEST), outside.max(axis=1, initial=-1)
    bad = np.flatnonzero(slowest < fastest)
    if not bad.size:
        return None
    first = bad[0]
    return int(island[first]), int(island[inside[first].argmin()]), int(outside[first].argmax())


def _membership(problem: IslandsProblem, partition: Partition, index: dict[str, int]) -> list[str]:
    found = []
    if partition.problem != problem.name:
        found.append(f"the partition is of problem {partition.problem!r}, expected {problem.name!r}")
    times = Counter(name for island in partition.islands for name in island)
    found += [f"node {name!r} is not in the cluster" for name in times if name not in index]
    found += [f"node {name!r} is named {count} times, expected once" for name, count in times.items() if count > 1]
    found += [f"node {name!r} is in no island" for name in index if name not in times]
    found += [f"island {number + 1} has no nodes" for number, island in enumerate(partition.islands) if not island]
    return found


def _likeness(nodes: Sequence[Node], island: Sequence[int], tolerances: Tolerances) -> list[str]:
    """Sentences about (C1) and (C2)."""
    found: list[str] = []
    members = [nodes[i] for i in island]
    if not members:
        return found
    few, many = (pick(members, key=lambda node: node.gpus) for pick in (min, max))
    if few.gpus < many.gpus:
        found.append(f"nodes {few.name!r} and {many.name!r} have {few.gpus} and {many.gpus} GPUs")
    limits = ratio_limits(tolerances)
    for position, what in enumerate(("compute", "memory", "intra-node bandwidth")):
        low, high = (pick(members, key=lambda node: attributes(node)[position]) for pick in (min, max))
        least, most = attributes(low)[position], attributes(high)[position]
        if most > limits[position] * least:
            found.append(
                f"{what} of node {high.name!r} ({most}) is more than {float(limits[position]):g} times "
                f"that of node {low.name!r} ({least})"
            )
    return found


def _proximity_text(nodes: Sequence[Node], units: Units, witness: tuple[int, int, int]) -> str:
    first, second, outer = (units.members[unit] for unit in witness)
    u, v, w = first[0], second[-1], outer[0]
    slow, fast = (units.bandwidths[witness[0], unit] for unit in witness[1:])
    return (
        f"the link from node {nodes[u].name!r} to {nodes[v].name!r} inside it ({slow} bytes/s) is slower than "
        f"the one to {nodes[w].name!r} outside ({fast} bytes/s)"
    )
