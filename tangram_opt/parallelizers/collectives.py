"""Times of collective operations, from the bandwidths of an island (all arrays over layouts).

A group of `size` ranks that lie `stride` GPUs apart spans ``size * stride`` neighbouring GPUs. Inside a node it runs
at the slowest link of such a group. Across nodes every ring that passes through a node shares the node's network
link with the ``min(stride, GPUs per node)`` rings beside it.

References
----------
Ring algorithms: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tangram_opt.data.island import Island
from tangram_opt.data.units import NS_PER_S

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def ring_bandwidth(island: Island, size: IntArray, stride: IntArray) -> FloatArray:
    """Bytes per second and rank of rings of `size` ranks that lie `stride` GPUs apart; infinite for one rank."""
    return np.array([_ring_bandwidth(island, int(k), int(q)) for k, q in zip(size, stride, strict=True)])


def transfer_ns(message_bytes: FloatArray, bandwidth: FloatArray | int) -> FloatArray:
    """Time to send `message_bytes`: none for nothing, infinite where there is no bandwidth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(message_bytes > 0, NS_PER_S * message_bytes / bandwidth, 0.0)


def all_gather_ns(message_bytes: FloatArray, size: IntArray, bandwidth: FloatArray) -> FloatArray:
    """Time to gather (or to reduce and scatter) `message_bytes` in all, a share of it on each of `size` ranks."""
    return transfer_ns(message_bytes * (size - 1) / size, bandwidth)


def all_reduce_ns(message_bytes: FloatArray, size: IntArray, bandwidth: FloatArray) -> FloatArray:
    """Time to sum `message_bytes` on each of `size` ranks: a reduce-scatter and an all-gather."""
    return 2 * all_gather_ns(message_bytes, size, bandwidth)


def all_to_all_ns(island: Island, message_bytes: FloatArray, size: IntArray, stride: IntArray) -> FloatArray:
    """Time to send `message_bytes` from each rank, in equal parts to all `size` ranks of its group.

    What stays in the node runs over its links; what leaves it shares the node's network link with all its GPUs.
    """
    node = island.gpus_per_node
    ranks_in_node = np.minimum(size, np.maximum(1, node // stride))
    leaving = message_bytes * (1 - ranks_in_node / size)
    inside = message_bytes * (ranks_in_node - 1) / size
    network_ns = transfer_ns(leaving * node, island.network_bytes_per_s)
    inside_ns = transfer_ns(inside, ring_bandwidth(island, ranks_in_node, stride))
    return np.asarray(np.maximum(network_ns, inside_ns))


def host_bandwidth(island: Island) -> int:
    """Bytes per second between a GPU and its host while the other GPUs of the node use theirs.

    GPUs whose links to one another are slower than the link to the host talk through the host, and what was measured
    between them is what that path can carry.
    """
    if island.gpus_per_node == 1:
        return island.gpu.host_link_bytes_per_s
    return min(island.gpu.host_link_bytes_per_s, island.group_bandwidth_bytes_per_s(island.gpus_per_node))


def _ring_bandwidth(island: Island, size: int, stride: int) -> float:
    if size == 1:
        return float("inf")
    node = island.gpus_per_node
    span = size * stride
    if span <= node:
        return float(island.group_bandwidth_bytes_per_s(span))
    network = island.network_bytes_per_s / min(stride, node)
    inside = float(island.group_bandwidth_bytes_per_s(node)) if stride < node else float("inf")
    return min(network, inside)
