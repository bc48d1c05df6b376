"""The network as an array over *units*: sets of nodes that are in the same place and of no difference to it.

On a network of tiers the nodes of one innermost unit have equal links to every other node and the fastest links to
each other, so tens of thousands of nodes become as many rows as there are places in the network.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

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


def reach(bandwidths: IntArray, limit: Fraction) -> IntArray:
    """Fastest link out of an island that a link inside it allows, in bytes per second: `limit` times as fast, exactly.

    Parameters
    ----------
    bandwidths : ndarray of int64
        Of links inside, in bytes per second.
    limit : Fraction
        1 + the tolerance of the network.

    Returns
    -------
    ndarray of int64
        Rounded down, which decides the same as bandwidths are integers; of the same shape.
    """
    if limit == 1:
        return bandwidths
    values, places = np.unique(bandwidths, return_inverse=True)
    tops = [min(int(value) * limit.numerator // limit.denominator, int(FASTEST)) for value in values]
    return np.array(tops, dtype=np.int64)[places].reshape(bandwidths.shape)


def faster_outside(bandwidths: IntArray, island: IntArray, limit: Fraction) -> tuple[int, int, int] | None:
    """Find a link out of an island that is faster than one inside it allows (C3).

    Parameters
    ----------
    bandwidths : ndarray of int64, units x units
        Links, with ``FASTEST`` on the diagonal where a unit has no link of its own.
    island : ndarray of int
        Indices of the island's units.
    limit : Fraction
        1 + the tolerance of the network.

    Returns
    -------
    tuple of int or None
        Units u, v inside and w outside such that the link from u to w is faster than the one from u to v allows.
    """
    rows = bandwidths[island]
    inside = rows[:, island]
    rows[:, island] = -1
    tops = reach(inside.min(axis=1, initial=FASTEST), limit)
    bad = np.flatnonzero(tops < rows.max(axis=1, initial=-1))
    if not bad.size:
        return None
    first = bad[0]
    return int(island[first]), int(island[inside[first].argmin()]), int(rows[first].argmax())


def _tier_bandwidths(network: TierNetwork, nodes: Sequence[int]) -> IntArray:
    shared = np.zeros((len(nodes), len(nodes)), dtype=np.intp)
    for depth in range(1, len(network.bandwidths_bytes_per_s)):
        ids: dict[tuple[str, ...], int] = {}
        paths = np.array([ids.setdefault(network.positions[node][:depth], len(ids)) for node in nodes])
        shared += paths[:, None] == paths[None, :]
    return np.array(network.bandwidths_bytes_per_s, dtype=np.int64)[shared]
