"""The conditions of paper section 4.1, in exact integers: what a partition into islands may not violate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tangram_opt.data.cluster import Node
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.islands.likeness import RESPECTS, figures, ratio_limits, unlike
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


def _likeness(nodes: Sequence[Node], island: Sequence[int], tolerances: Tolerances) -> Iterator[str]:
    """Sentences about (C1) and (C2)."""
    if not island:
        return
    for each in unlike({i: figures(nodes[i]) for i in island}, ratio_limits(tolerances)):
        low, high = nodes[each.low].name, nodes[each.high].name
        if each.what == RESPECTS[0]:
            yield f"nodes {low!r} and {high!r} have {each.least} and {each.most} GPUs"
        else:
            yield (
                f"{each.what} of node {high!r} ({each.most}) is more than {float(each.limit):g} times "
                f"that of node {low!r} ({each.least})"
            )


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
