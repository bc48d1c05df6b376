"""The islands of a cluster as a JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tangram_opt.cli.description import describe
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import Boundary, IslandGroup, boundaries, build_islands, evaluate, links, slowest_link
from tangram_opt.result import Result
from tangram_opt.show import island_notes


def describe_partition(problem: IslandsProblem, result: Result[Partition]) -> dict[str, Any]:
    """Describe the islands that were found, equal ones as one; rates are bytes or operations per second.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    result : Result
        With a partition, or without one.

    Returns
    -------
    dict
        What is known of every result, and islands by class, the links between classes, and what binds two of them
        apart; classes by number from 0. Nothing is said once for each pair of classes that is the same for many.
    """
    said = describe("islands", problem.name, result) | {
        "cluster": problem.cluster.name,
        "tolerances": asdict(problem.tolerances),
        "notes": list(island_notes(problem)),
    }
    partition = result.solution
    if partition is None:
        return said
    groups = build_islands(problem.cluster, partition)
    return said | {
        "compute_lost_flops_per_s": evaluate(problem, partition).compute_lost_flops_per_s,
        "slowest_link_bytes_per_s": slowest_link(problem, partition),
        "islands": [
            {
                "name": group.island.name,
                "members": group.node_names(problem.cluster),
                "gpu": group.island.gpu.name,
                "gpus": group.island.gpus,
                "gpus_per_node": group.island.gpus_per_node,
                "matmul_flops_per_s": group.island.gpu.matmul_flops_per_s,
                "memory_bytes": group.island.gpu.memory_bytes,
                "link_bytes_per_s": group.island.link_bytes_per_s,
                "network_bytes_per_s": group.island.network_bytes_per_s,
            }
            for group in groups
        ],
        "links": _links(groups, links(problem.cluster, groups)),
        "boundaries": _boundaries(boundaries(problem, groups)),
    }


def _links(groups: Sequence[IslandGroup], bandwidths: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Write the bandwidth that most links between islands have, and the others as ``[from, to, bandwidth]``."""
    pairs = [
        (a, b, bandwidths[a][b])
        for a, here in enumerate(groups)
        for b in range(len(groups))
        if a != b or here.count > 1
    ]
    usual = max(Counter(bandwidth for *_, bandwidth in pairs).items(), key=lambda each: each[1], default=(None, 0))[0]
    return {
        "usual_bytes_per_s": usual,
        "others_bytes_per_s": [list(pair) for pair in pairs if pair[2] != usual],
    }


def _boundaries(found: Iterable[Boundary]) -> list[dict[str, Any]]:
    """Gather the pairs of classes that are apart by the same, with the nodes that show it of the first pair."""
    gathered: dict[tuple[str, ...], dict[str, Any]] = {}
    for each in found:
        by = tuple(apart.what for apart in each.apart) or (("network",) if each.network else ())
        same = gathered.setdefault(
            by,
            {
                "by": list(by),
                "example": {
                    "apart": [asdict(apart) for apart in each.apart],
                    "network": None if each.network is None else asdict(each.network),
                },
                "pairs": [],
            },
        )
        same["pairs"].append([each.first, each.second])
    return list(gathered.values())
