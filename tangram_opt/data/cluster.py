"""A cluster: nodes that hold equal GPUs, and the network between them."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model as the catalogue states it.

    Attributes
    ----------
    name : str
        Name in the catalogue, for example ``A100-80GB-PCIe``.
    peak_flops_per_s : int
        Dense half-precision peak with 32-bit accumulation.
    matmul_flops_per_s : int
        What large matrix products reach of it.
    memory_bytes : int
        Memory that a process can see.
    memory_bytes_per_s : int
        Bandwidth of that memory.
    host_link_bytes_per_s : int
        Bandwidth to host memory, one direction.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    peak_flops_per_s: PositiveInt
    matmul_flops_per_s: PositiveInt
    memory_bytes: PositiveInt
    memory_bytes_per_s: PositiveInt
    host_link_bytes_per_s: PositiveInt


@dataclass(frozen=True, slots=True)
class MachinePart:
    """Which part of a machine a node is, where the machine has GPUs of several models.

    Attributes
    ----------
    machine : str
        Name of the machine.
    gpus : tuple of int
        Numbers of the node's GPUs in the machine.
    """

    __pydantic_config__ = STRICT

    machine: NonEmptyStr
    gpus: tuple[NonNegativeInt, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A machine with equal GPUs, or the equal GPUs of a machine that has others too.

    Attributes
    ----------
    name : str
        Unique in the cluster.
    gpu : Gpu
        The model of all its GPUs.
    gpus : int
        How many of them.
    link_bytes_per_s : tuple of tuple of int
        Bandwidth between each ordered pair of its GPUs, one direction; the diagonal is 0.
    host_memory_bytes : int or None
        Memory of the host; None where it is not known (then nothing is offloaded to it).
    part_of : MachinePart or None
        The machine that it is a part of; None for a whole machine.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    gpu: Gpu
    gpus: PositiveInt
    link_bytes_per_s: tuple[tuple[NonNegativeInt, ...], ...]
    host_memory_bytes: PositiveInt | None = None
    part_of: MachinePart | None = None

    def __post_init__(self) -> None:
        check_square(self.link_bytes_per_s, self.gpus, f"node {self.name!r}: link_bytes_per_s")
        if self.part_of is not None and len(self.part_of.gpus) != self.gpus:
            raise ValueError(
                f"node {self.name!r}: part_of: {len(self.part_of.gpus)} GPUs of machine {self.part_of.machine!r}, "
                f"expected {self.gpus}"
            )

    @property
    def intra_bandwidth_bytes_per_s(self) -> int:
        """Slowest link between two of its GPUs; 0 for a node with one GPU."""
        return slowest_link(self.link_bytes_per_s)


@dataclass(frozen=True, slots=True)
class MatrixNetwork:
    """A network given link by link, possibly asymmetric; the diagonal is 0."""

    __pydantic_config__ = STRICT

    matrix_bytes_per_s: tuple[tuple[NonNegativeInt, ...], ...]

    def __post_init__(self) -> None:
        check_square(self.matrix_bytes_per_s, len(self.matrix_bytes_per_s), "network matrix")

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.matrix_bytes_per_s)

    def bandwidth_bytes_per_s(self, source: int, target: int) -> int:
        """Bandwidth from node `source` to another node `target`, 0 where they are not connected."""
        return self.matrix_bytes_per_s[source][target]


@dataclass(frozen=True, slots=True)
class TierNetwork:
    """A hierarchical network: the bandwidth of two nodes is that of the innermost tier they share.

    Attributes
    ----------
    bandwidths_bytes_per_s : tuple of int
        One per tier from the outermost (the whole cluster) to the innermost (one switch), never decreasing.
    positions : tuple of tuple of str
        For each node its unit in every tier below the outermost, outermost first: one name fewer than there
        are tiers. Names are compared along the whole path, so the racks of two pods may share a name.
    """

    __pydantic_config__ = STRICT

    bandwidths_bytes_per_s: tuple[NonNegativeInt, ...]
    positions: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        tiers = len(self.bandwidths_bytes_per_s)
        if tiers == 0:
            raise ValueError("network tiers: expected at least one tier")
        if any(a > b for a, b in zip(self.bandwidths_bytes_per_s, self.bandwidths_bytes_per_s[1:], strict=False)):
            raise ValueError(
                f"network tiers: bandwidths {list(self.bandwidths_bytes_per_s)} bytes/s decrease inwards, "
                "expected an inner tier to be at least as fast as the tier around it"
            )
        for index, position in enumerate(self.positions):
            if len(position) != tiers - 1:
                raise ValueError(
                    f"network position of node {index}: {len(position)} names, expected {tiers - 1} "
                    "(one for each tier below the outermost)"
                )

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.positions)

    def bandwidth_bytes_per_s(self, source: int, target: int) -> int:
        """Bandwidth of the innermost tier that both nodes share."""
        shared = 0
        for a, b in zip(self.positions[source], self.positions[target], strict=True):
            if a != b:
                break
            shared += 1
        return self.bandwidths_bytes_per_s[shared]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes and the network that joins them.

    Attributes
    ----------
    name : str
        What the cluster is called in reports.
    nodes : tuple of Node
        With distinct names.
    network : MatrixNetwork or TierNetwork
        Over the nodes in the same order.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    nodes: tuple[Node, ...]
    network: MatrixNetwork | TierNetwork

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("nodes: expected at least one node")
        if self.network.size != len(self.nodes):
            raise ValueError(f"network: {self.network.size} nodes, expected {len(self.nodes)}")
        seen: set[str] = set()
        for node in self.nodes:
            if node.name in seen:
                raise ValueError(f"nodes: two nodes are named {node.name!r}, expected distinct names")
            seen.add(node.name)

    @property
    def gpus(self) -> int:
        """Number of GPUs in the cluster."""
        return sum(node.gpus for node in self.nodes)


def slowest_link(matrix: tuple[tuple[int, ...], ...]) -> int:
    """Smallest off-diagonal entry of a square matrix, 0 for a matrix of one row."""
    return min((value for i, row in enumerate(matrix) for j, value in enumerate(row) if i != j), default=0)


def check_square(matrix: tuple[tuple[int, ...], ...], size: int, what: str) -> None:
    """Raise ValueError unless `matrix` is `size` x `size` with a zero diagonal."""
    if len(matrix) != size:
        raise ValueError(f"{what}: {len(matrix)} rows, expected {size}")
    for i, row in enumerate(matrix):
        if len(row) != size:
            raise ValueError(f"{what}: row {i} has {len(row)} entries, expected {size}")
        if row[i] != 0:
            raise ValueError(f"{what}: entry ({i}, {i}) is {row[i]}, expected 0 on the diagonal")
