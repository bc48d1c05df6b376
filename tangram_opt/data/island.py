"""GPU islands: the homogeneous parts of a cluster (paper section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tangram_opt.data.cluster import Cluster, Gpu, check_square, slowest_link
from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeFloat, NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far the nodes of one island may differ, and what counts as a faster link (paper section 4.1).

    Attributes
    ----------
    compute, memory, intra_bandwidth : float
        Of the nodes of an island: max/min <= 1 + tolerance.
    network : float
        A link out of an island is faster than one inside only when it is more than 1 + tolerance times as fast.
    fast_link_bytes_per_s : int or None
        Links between nodes that are at least this fast count as equally fast; None tells all speeds apart.
    """

    __pydantic_config__ = STRICT

    compute: NonNegativeFloat = 0.2
    memory: NonNegativeFloat = 0.2
    intra_bandwidth: NonNegativeFloat = 0.2
    network: NonNegativeFloat = 0.0
    fast_link_bytes_per_s: PositiveInt | None = None


@dataclass(frozen=True, slots=True)
class IslandsProblem:
    """Partition the nodes of a cluster into the fewest islands."""

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    cluster: Cluster
    tolerances: Tolerances = Tolerances()


@dataclass(frozen=True, slots=True)
class Partition:
    """A solution of an islands problem: the node names of each island."""

    __pydantic_config__ = STRICT

    problem: NonEmptyStr
    islands: tuple[tuple[NonEmptyStr, ...], ...]


@dataclass(frozen=True, slots=True)
class Island:
    """What a homogeneous parallelizer is shown: equal nodes, equal GPUs, one speed between nodes.

    Where its nodes differ within the tolerances every figure is the worst of them, so no plan is promised
    more than each node can give.

    Attributes
    ----------
    name : str
        Name of the island, or of its class where several islands are alike.
    gpu : Gpu
        The least capable GPU of the island, figure by figure.
    nodes : int
        Number of nodes.
    gpus_per_node : int
        GPUs in each of them.
    link_bytes_per_s : tuple of tuple of int
        Bandwidth between the GPUs of a node, the slowest over the nodes, entry by entry.
    network_bytes_per_s : int
        Slowest link between two of its nodes; 0 for a single node.
    host_memory_bytes : int or None
        Host memory of a node.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    gpu: Gpu
    nodes: PositiveInt
    gpus_per_node: PositiveInt
    link_bytes_per_s: tuple[tuple[NonNegativeInt, ...], ...]
    network_bytes_per_s: NonNegativeInt
    host_memory_bytes: PositiveInt | None = None

    def __post_init__(self) -> None:
        check_square(self.link_bytes_per_s, self.gpus_per_node, f"island {self.name!r}: link_bytes_per_s")

    @property
    def gpus(self) -> int:
        """Number of GPUs in the island."""
        return self.nodes * self.gpus_per_node

    def group_bandwidth_bytes_per_s(self, size: int) -> int:
        """Slowest link inside the aligned groups of `size` neighbouring GPUs of a node.

        Parameters
        ----------
        size : int
            Number of GPUs per group, at least 2 and at most `gpus_per_node`.

        Returns
        -------
        int
            Bytes per second. Groups are GPUs 0..size-1, size..2*size-1, and so on, as far as they are whole:
            two GPUs joined by a bridge are fast together even where the links across bridges are slow.
        """
        return _slowest_in_groups(self.link_bytes_per_s, size)


@lru_cache(maxsize=1024)
def _slowest_in_groups(links: tuple[tuple[int, ...], ...], size: int) -> int:
    """Cached, since cost models ask for the same few groups of the same nodes again and again."""
    starts = range(0, len(links) - size + 1, size)
    return min(slowest_link(tuple(row[s : s + size] for row in links[s : s + size])) for s in starts)
