"""The islands of a partition as a JSON object."""

from __future__ import annotations

from typing import Any

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import build_islands, links


def describe_partition(problem: IslandsProblem, partition: Partition) -> dict[str, Any]:
    """Describe the islands, equal ones as one; rates are bytes or operations per second."""
    groups = build_islands(problem.cluster, partition)
    return {
        "cluster": problem.cluster.name,
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
    }
