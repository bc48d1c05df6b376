"""The islands of a cluster as a JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import boundaries, build_islands, evaluate, links
from tangram_opt.result import Result
from tangram_opt.show import machine_notes


def describe_partition(problem: IslandsProblem, result: Result[Partition]) -> dict[str, Any]:
    """Describe the islands that were found, equal ones as one; rates are bytes or operations per second.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    result : Result
        With a partition.

    Returns
    -------
    dict
        Islands by class, the links between classes, and what binds two of them apart; classes by number from 0.
    """
    partition = result.solution
    if partition is None:
        raise ValueError("a partition to describe is needed")
    groups = build_islands(problem.cluster, partition)
    return {
        "cluster": problem.cluster.name,
        "tolerances": asdict(problem.tolerances),
        "solver": result.solver,
        "outcome": result.outcome,
        "objective": result.objective,
        "bound": result.bound,
        "wall_s": result.wall_s,
        **evaluate(problem, partition)._asdict(),
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
        "links_bytes_per_s": links(problem.cluster, groups),
        "boundaries": [asdict(each) for each in boundaries(problem, groups)],
        "notes": list(machine_notes(problem.cluster)),
    }
