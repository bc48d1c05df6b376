"""The conditions of paper section 4.1, in exact integers: what a partition into islands may not violate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tangram_opt.data.cluster import Node
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.islands.likeness import ATTRIBUTES, attributes, ratio_limits
from tangram_opt.islands.network import Links, links_of


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
    nodes, in either direction, is at least as fast as any link from the first of them to a node outside, where links
    that the tolerances do not tell apart are equally fast. Source: paper section 4.1, equations 1 to 3. Beyond the
    paper, nodes of an island have a link in both directions: one of 0 bytes/s is none.
    """
    nodes = problem.cluster.nodes
    index = {node.name: i for i, node in enumerate(nodes)}
    found = list(_membership(problem, partition, index))
    islands = [[index[name] for name in island if name in index] for island in partition.islands]
    links = links_of(problem)
    for number, island in enumerate(islands):
        what = f"island {number + 1} ({', '.join(partition.islands[number][:3])}{', ...' if len(island) > 3 else ''})"
        found += [f"{what}: {text}" for text in _likeness(nodes, island, problem.tolerances)]
        found += [f"{what}: {text}" for text in _proximity(problem, links, sorted(set(island)))]
    return tuple(found)


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
    for position, what in enumerate(ATTRIBUTES):
        low, high = (pick(members, key=lambda node: attributes(node)[position]) for pick in (min, max))
        least, most = attributes(low)[position], attributes(high)[position]
        if most > limits[position] * least:
            found.append(
                f"{what} of node {high.name!r} ({most}) is more than {float(limits[position]):g} times "
                f"that of node {low.name!r} ({least})"
            )
    return found


def _proximity(problem: IslandsProblem, links: Links, island: Sequence[int]) -> list[str]:
    """Sentences about (C3) and missing links."""
    if len(island) < 2:
        return []
    nodes, network = problem.cluster.nodes, problem.cluster.network
    found = []
    first, second, slowest = links.slowest(island)
    if slowest == 0:
        found.append(f"there is no link from node {nodes[first].name!r} to {nodes[second].name!r}")
    witness = links.faster_outside(island)
    if witness is not None:
        u, v, w = witness
        slow, fast = (network.bandwidth_bytes_per_s(u, node) for node in (v, w))
        found.append(
            f"the link from node {nodes[u].name!r} to {nodes[v].name!r} inside it ({slow} bytes/s) is slower than "
            f"the one to {nodes[w].name!r} outside ({fast} bytes/s)"
        )
    return found
