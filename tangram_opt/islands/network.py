"""The network of an islands problem as its conditions see it: links at least as fast as the tolerances ask are equal.

Both kinds of network answer the same questions about an island, each from its own structure: a matrix from its
entries, tiers from the units that nodes share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tangram_opt.data.cluster import MatrixNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.islands.bandwidths import FASTEST, IntArray, faster_outside
from tangram_opt.islands.likeness import ratio_limit


@dataclass(frozen=True)
class MatrixLinks:
    """Links one by one.

    Attributes
    ----------
    bandwidths : ndarray of int64, nodes x nodes
        Bytes per second from the row's node to the column's, ``FASTEST`` on the diagonal.
    limit : Fraction
        A link out of an island may be this many times as fast as one inside.
    """

    bandwidths: IntArray
    limit: Fraction

    @property
    def fastest(self) -> int:
        """The fastest link; 0 where there are no two nodes."""
        return int(self.bandwidths[~np.eye(len(self.bandwidths), dtype=bool)].max(initial=0))

    def row(self, node: int) -> IntArray:
        """Bandwidths from a node to all others, ``FASTEST`` to itself."""
        row: IntArray = self.bandwidths[node]
        return row

    def slowest(self, island: Sequence[int]) -> tuple[int, int, int]:
        """Find the slowest link inside an island of two nodes or more: its nodes and its bandwidth."""
        chosen = np.array(island)
        inside = self.bandwidths[np.ix_(chosen, chosen)]
        first, second = divmod(int(inside.argmin()), len(island))
        return island[first], island[second], int(inside[first, second])

    def faster_outside(self, island: Sequence[int]) -> tuple[int, int, int] | None:
        """Find nodes u, v inside and w outside such that the link to w is faster than the one to v allows (C3)."""
        return faster_outside(self.bandwidths, np.array(island), self.limit)


@dataclass(frozen=True)
class TierLinks:
    """Links by the innermost tier that two nodes share.

    Attributes
    ----------
    bandwidths : tuple of int
        Bytes per second of each tier, outermost first, strictly increasing: tiers that count as equally fast are one.
    places : ndarray of int64, tiers x nodes
        The unit of each node in each tier; all are in unit 0 of the outermost.
    limit : Fraction
        A link out of an island may be this many times as fast as one inside.
    """

    bandwidths: tuple[int, ...]
    places: IntArray
    limit: Fraction

    @property
    def tiers(self) -> int:
        """Number of tiers."""
        return len(self.bandwidths)

    @property
    def fastest(self) -> int:
        """Bandwidth of the innermost tier, even where no two nodes share a unit of it."""
        return self.bandwidths[-1]

    def row(self, node: int) -> IntArray:
        """Bandwidths from a node to all others, ``FASTEST`` to itself."""
        shared = (self.places[1:] == self.places[1:, node, None]).sum(axis=0)
        row: IntArray = np.array(self.bandwidths, dtype=np.int64)[shared]
        row[node] = FASTEST
        return row

    def whole_tier(self, tier: int) -> int:
        """First tier that is faster than the links of a tier allow, or the number of tiers if there is none.

        An island across units of `tier` holds every unit of the tier returned wholly or not at all; single nodes
        count as the units behind the innermost tier.
        """
        return next((i for i, b in enumerate(self.bandwidths) if b > self.limit * self.bandwidths[tier]), self.tiers)

    def shared_tier(self, island: Sequence[int]) -> int:
        """Innermost tier that all nodes of an island share."""
        units = self.places[:, np.array(island)]
        return int((units == units[:, :1]).all(axis=1).sum()) - 1

    def slowest(self, island: Sequence[int]) -> tuple[int, int, int]:
        """Find the slowest link inside an island of two nodes or more: its nodes and its bandwidth."""
        tier = self.shared_tier(island)
        if tier + 1 == self.tiers:
            return island[0], island[1], self.bandwidths[tier]
        units = self.places[tier + 1]
        other = next(node for node in island if units[node] != units[island[0]])
        return island[0], other, self.bandwidths[tier]

    def faster_outside(self, island: Sequence[int]) -> tuple[int, int, int] | None:
        """Find nodes u, v inside and w outside such that the link to w is faster than the one to v allows (C3)."""
        tier = self.shared_tier(island)
        whole = self.whole_tier(tier)
        if len(island) < 2 or whole == self.tiers:
            return None
        units = self.places[whole]
        counts = np.bincount(units[np.array(island)], minlength=int(units.max()) + 1)
        torn = np.flatnonzero((counts > 0) & (counts < np.bincount(units)))
        if not torn.size:
            return None
        members = set(island)
        inside = next(node for node in island if units[node] == torn[0])
        outside = next(int(node) for node in np.flatnonzero(units == torn[0]) if int(node) not in members)
        nearer = self.places[tier + 1]
        far = next(node for node in island if nearer[node] != nearer[inside])
        return inside, far, outside


Links = MatrixLinks | TierLinks


def fastest_told_apart(tolerances: Tolerances) -> int:
    """Bandwidth from which on all links count as equally fast, in bytes per second."""
    return min(tolerances.fast_link_bytes_per_s or int(FASTEST), int(FASTEST))


def links_of(problem: IslandsProblem) -> Links:
    """Make the links of a problem, as fast as its tolerances tell apart.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    MatrixLinks or TierLinks
        Over the nodes of the cluster in their order.
    """
    limit = ratio_limit(problem.tolerances.network)
    fastest = fastest_told_apart(problem.tolerances)
    network = problem.cluster.network
    if isinstance(network, MatrixNetwork):
        entries = np.array(network.matrix_bytes_per_s, dtype=np.int64).reshape(network.size, network.size)
        bandwidths = np.minimum(entries, fastest)
        np.fill_diagonal(bandwidths, FASTEST)
        return MatrixLinks(bandwidths, limit)
    capped = [min(bandwidth, fastest) for bandwidth in network.bandwidths_bytes_per_s]
    kept = [tier for tier, bandwidth in enumerate(capped) if tier == 0 or bandwidth > capped[tier - 1]]
    places = np.zeros((len(kept), network.size), dtype=np.int64)
    for row, tier in enumerate(kept):
        ids: dict[tuple[str, ...], int] = {}
        places[row] = [ids.setdefault(position[:tier], len(ids)) for position in network.positions]
    return TierLinks(tuple(capped[tier] for tier in kept), places, limit)
