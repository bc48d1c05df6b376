"""The network as an array over *units*: sets of nodes that are in the same place and of no difference to it.

On a network of tiers the nodes of one innermost unit have equal links to every other node and the fastest links to
each other, so tens of thousands of nodes become as many rows as there are places in the network.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.cluster import MatrixNetwork, TierNetwork

IntArray = NDArray[np.int64]

FASTEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Units:
    """Nodes gathered into units.

    Attributes
    ----------
    members : tuple of tuple of int
        Node indices of each unit, ascending; units by their first node.
    bandwidths : ndarray of int64, units x units
        Bytes per second from a node of the row's unit to a node of the column's unit. The diagonal is the bandwidth
        between two nodes of the unit, and ``FASTEST`` for a unit of one node, which has no such link.
    """

    members: tuple[tuple[int, ...], ...]
    bandwidths: IntArray


def gather_units(network: MatrixNetwork | TierNetwork, labels: Iterable[Hashable]) -> Units:
    """Gather nodes into units.

    Parameters
    ----------
    network : MatrixNetwork or TierNetwork
        The network over the nodes.
    labels : iterable of hashable, one per node
        Nodes with different labels are never in one unit.

    Returns
    -------
    Units
        One unit per node on a matrix; one per label and innermost place on tiers.
    """
    if isinstance(network, MatrixNetwork):
        bandwidths = np.array(network.matrix_bytes_per_s, dtype=np.int64).reshape(network.size, network.size)
        np.fill_diagonal(bandwidths, FASTEST)
        return Units(tuple((node,) for node in range(network.size)), bandwidths)
    places: dict[Hashable, list[int]] = {}
    for node, label in enumerate(labels):
        places.setdefault((label, network.positions[node]), []).append(node)
    members = tuple(tuple(nodes) for nodes in places.values())
    bandwidths = _tier_bandwidths(network, [nodes[0] for nodes in members])
    alone = [unit for unit, nodes in enumerate(members) if len(nodes) == 1]
    bandwidths[alone, alone] = FASTEST
    return Units(members, bandwidths)


def _tier_bandwidths(network: TierNetwork, nodes: Sequence[int]) -> IntArray:
    shared = np.zeros((len(nodes), len(nodes)), dtype=np.intp)
    for depth in range(1, len(network.bandwidths_bytes_per_s)):
        ids: dict[tuple[str, ...], int] = {}
        paths = np.array([ids.setdefault(network.positions[node][:depth], len(ids)) for node in nodes])
        shared += paths[:, None] == paths[None, :]
    return np.array(network.bandwidths_bytes_per_s, dtype=np.int64)[shared]
