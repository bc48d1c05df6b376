"""Cluster documents as people write them: groups of equal nodes, and a network of tiers or of a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from annotated_types import Ge, Le
from pydantic import BaseModel, Field

from tangram_opt.catalogue import find_gpu
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork, check_square
from tangram_opt.data.constraints import STRICT, NonEmptyStr
from tangram_opt.data.units import GIGA, TERA
from tangram_opt.documents.reading import join
from tangram_opt.errors import InputError

MAX_NODES: Final = 100_000
MAX_MATRIX_NODES: Final = 4_096
"""A matrix of more nodes than this holds too many links to be of use; tiers have no such limit."""
MAX_GPUS_PER_NODE: Final = 256

Gigabytes = Annotated[float, Ge(1e-9), Le(1e9)]
Teraflops = Annotated[float, Ge(1e-12), Le(1e6)]
LinkGigabytes = Annotated[float, Ge(0), Le(1e9)]


class _Document(BaseModel):
    model_config = STRICT


class GpuOverrides(_Document):
    """Figures that differ from the catalogue: a MIG slice, a power cap, a narrow slot."""

    memory_gb: Gigabytes | None = Field(default=None, description="Memory of a GPU in GB of 10^9 bytes.")
    peak_tflops: Teraflops | None = Field(
        default=None, description="Dense half-precision peak, 10^12 operations per second."
    )
    matmul_tflops: Teraflops | None = Field(default=None, description="What large matrix products reach of the peak.")
    memory_gb_per_s: Gigabytes | None = Field(
        default=None, description="Bandwidth of GPU memory, 10^9 bytes per second."
    )
    host_link_gb_per_s: Gigabytes | None = Field(
        default=None, description="Bandwidth to host memory, one direction, 10^9 bytes per second."
    )


class NodeGroup(_Document):
    """A node, or a number of equal nodes."""

    name: NonEmptyStr = Field(
        description="Name of the node; of a group with count above 1 the nodes are name-1, name-2, ..., "
        "with leading zeros where the count has more digits."
    )
    count: Annotated[int, Ge(1), Le(MAX_NODES)] = Field(default=1, description="Number of equal nodes.")
    gpu: NonEmptyStr = Field(description="GPU model, in any spelling that the catalogue knows.")
    gpus_per_node: Annotated[int, Ge(1), Le(MAX_GPUS_PER_NODE)] = Field(description="GPUs in each node.")
    intra_node_gb_per_s: Gigabytes | tuple[tuple[LinkGigabytes, ...], ...] | None = Field(
        default=None,
        description="Bandwidth between the GPUs of a node, one direction, 10^9 bytes per second: one number, or a "
        "matrix from GPU to GPU with 0 on the diagonal. Not needed for a node with one GPU.",
    )
    host_memory_gb: Gigabytes | None = Field(
        default=None, description="Memory of the host in GB of 10^9 bytes; without it nothing is offloaded to the host."
    )
    position: Mapping[str, NonEmptyStr] | tuple[NonEmptyStr, ...] | None = Field(
        default=None,
        description="Where the nodes are in the network of tiers: the unit in each tier below the outermost, as a "
        "mapping by tier name or as a list from the outside in.",
    )
    gpu_overrides: GpuOverrides = Field(default=GpuOverrides(), description="Figures that differ from the catalogue.")


class Tier(_Document):
    """One level of a hierarchical network."""

    name: NonEmptyStr = Field(description="What its units are: cluster, pod, rack, switch, ...")
    gb_per_s: LinkGigabytes = Field(
        description="Bandwidth between two nodes that share a unit of this tier and none further in, one direction, "
        "10^9 bytes per second."
    )


class NetworkDocument(_Document):
    """The network between nodes, in exactly one of three ways. Bandwidths are 10^9 bytes per second, one direction."""

    tiers: tuple[Tier, ...] | None = Field(
        default=None, description="Tiers from the outermost (the whole cluster) to the innermost."
    )
    matrix_gb_per_s: tuple[tuple[LinkGigabytes, ...], ...] | None = Field(
        default=None, description="From node (row) to node (column), with 0 on the diagonal; it may be asymmetric."
    )
    between_groups_gb_per_s: (
        Mapping[str, Mapping[str, LinkGigabytes]] | tuple[tuple[LinkGigabytes, ...], ...] | None
    ) = Field(
        default=None,
        description="From group to group, as a matrix in the order of the groups or as a mapping of mappings by "
        "name; the diagonal is between the nodes of one group. In the mapping a pair that is given in one direction "
        "only holds for both, and a group of one node needs no diagonal.",
    )


class ClusterDocument(_Document):
    """A cluster: groups of equal nodes and the network between them."""

    name: NonEmptyStr = Field(description="What the cluster is called in reports.")
    nodes: tuple[NodeGroup, ...] = Field(description="Groups of equal nodes.")
    network: NetworkDocument | None = Field(default=None, description="Not needed for a cluster of one node.")


def to_cluster(document: ClusterDocument) -> Cluster:
    """Spell out a cluster document.

    Parameters
    ----------
    document : ClusterDocument
        As it was written.

    Returns
    -------
    Cluster
        Node by node, in integers.

    Raises
    ------
    InputError
        When it is not consistent; the text starts with the path inside the document.
    """
    if not document.nodes:
        raise InputError("nodes: [], expected at least one node")
    total = sum(group.count for group in document.nodes)
    if total > MAX_NODES:
        raise InputError(f"nodes: {total} nodes in all groups, expected at most {MAX_NODES}")
    nodes = [node for index, group in enumerate(document.nodes) for node in _nodes(group, f"nodes[{index}]")]
    names = [group.name for group in document.nodes]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InputError(f"nodes[{index}].name: {name!r} is also the name of a group before it, expected another")
    network = _network(document, total)
    try:
        return Cluster(document.name, tuple(nodes), network)
    except ValueError as error:
        raise InputError(str(error)) from None


def _nodes(group: NodeGroup, path: str) -> Iterator[Node]:
    gpu = _gpu(group, path)
    links = _links(group, path)
    host_memory = None if group.host_memory_gb is None else round(group.host_memory_gb * GIGA)
    width = len(str(group.count))
    for number in range(1, group.count + 1):
        name = group.name if group.count == 1 else f"{group.name}-{number:0{width}d}"
        yield Node(name, gpu, group.gpus_per_node, links, host_memory)


def _gpu(group: NodeGroup, path: str) -> Gpu:
    try:
        gpu = find_gpu(group.gpu)
    except InputError as error:
        raise InputError(f"{path}.gpu: {error}") from None
    own = group.gpu_overrides
    changes = {
        "memory_bytes": (own.memory_gb, GIGA),
        "peak_flops_per_s": (own.peak_tflops, TERA),
        "matmul_flops_per_s": (own.matmul_tflops, TERA),
        "memory_bytes_per_s": (own.memory_gb_per_s, GIGA),
        "host_link_bytes_per_s": (own.host_link_gb_per_s, GIGA),
    }
    figures: dict[str, Any] = {
        name: round(value * unit) for name, (value, unit) in changes.items() if value is not None
    }
    gpu = replace(gpu, **figures)
    if gpu.matmul_flops_per_s > gpu.peak_flops_per_s:
        raise InputError(
            f"{path}.gpu_overrides: matrix products at {gpu.matmul_flops_per_s / TERA:g} TFLOP/s, "
            f"expected at most the peak of {gpu.peak_flops_per_s / TERA:g}"
        )
    return gpu


def _links(group: NodeGroup, path: str) -> tuple[tuple[int, ...], ...]:
    given, gpus = group.intra_node_gb_per_s, group.gpus_per_node
    path = f"{path}.intra_node_gb_per_s"
    if isinstance(given, tuple):
        return _matrix(given, gpus, path)
    if given is None:
        if gpus > 1:
            raise InputError(f"{path}: missing, expected a bandwidth for the {gpus} GPUs of a node")
        return ((0,),)
    bandwidth = round(given * GIGA)
    return tuple(tuple(0 if i == j else bandwidth for j in range(gpus)) for i in range(gpus))


def _matrix(rows: Sequence[Sequence[float]], size: int, path: str) -> tuple[tuple[int, ...], ...]:
    matrix = tuple(tuple(round(value * GIGA) for value in row) for row in rows)
    try:
        check_square(matrix, size, path)
    except ValueError as error:
        raise InputError(str(error)) from None
    return matrix


def _network(document: ClusterDocument, total: int) -> MatrixNetwork | TierNetwork:
    network = document.network
    if network is None:
        if total > 1:
            raise InputError(f"network: missing, expected the network between the {total} nodes")
        return MatrixNetwork(((0,),))
    given = [name for name in type(network).model_fields if getattr(network, name) is not None]
    if len(given) != 1:
        raise InputError(
            f"network: {' and '.join(given) or 'empty'}, "
            f"expected exactly one of {', '.join(type(network).model_fields)}"
        )
    if network.tiers is not None:
        return _tier_network(network.tiers, document.nodes)
    for index, group in enumerate(document.nodes):
        if group.position is not None:
            raise InputError(f"nodes[{index}].position: given, expected none as the network has no tiers")
    if total > MAX_MATRIX_NODES:
        raise InputError(
            f"network.{given[0]}: {total} nodes, expected at most {MAX_MATRIX_NODES}; larger clusters need tiers"
        )
    if network.matrix_gb_per_s is not None:
        return MatrixNetwork(_matrix(network.matrix_gb_per_s, total, "network.matrix_gb_per_s"))
    return _group_network(network.between_groups_gb_per_s, document.nodes)


def _tier_network(tiers: Sequence[Tier], groups: Sequence[NodeGroup]) -> TierNetwork:
    inner = [tier.name for tier in tiers[1:]]
    if len(set(inner)) < len(inner):
        raise InputError(f"network.tiers: the names are {', '.join(inner)}, expected distinct names")
    positions: list[tuple[str, ...]] = []
    for index, group in enumerate(groups):
        position = _position(group.position, inner, f"nodes[{index}].position")
        positions += [position] * group.count
    try:
        return TierNetwork(tuple(round(tier.gb_per_s * GIGA) for tier in tiers), tuple(positions))
    except ValueError as error:
        raise InputError(str(error)) from None


def _position(given: Mapping[str, str] | Sequence[str] | None, inner: Sequence[str], path: str) -> tuple[str, ...]:
    expected = f"expected one unit for each of {', '.join(inner)}" if inner else "expected none for a single tier"
    if given is None:
        if inner:
            raise InputError(f"{path}: missing, {expected}")
        return ()
    if isinstance(given, Mapping):
        for name in given:
            if name not in inner:
                raise InputError(f"{join(path, name)}: no such tier below the outermost, {expected}")
        for name in inner:
            if name not in given:
                raise InputError(f"{join(path, name)}: missing, {expected}")
        return tuple(given[name] for name in inner)
    if len(given) != len(inner):
        raise InputError(f"{path}: {len(given)} units, {expected}")
    return tuple(given)


def _group_network(given: Any, groups: Sequence[NodeGroup]) -> MatrixNetwork:
    path = "network.between_groups_gb_per_s"
    bandwidths = _named_bandwidths(given, groups, path) if isinstance(given, Mapping) else given
    if len(bandwidths) != len(groups) or any(len(row) != len(groups) for row in bandwidths):
        sizes = ", ".join(str(len(row)) for row in bandwidths)
        raise InputError(
            f"{path}: {len(bandwidths)} rows of {sizes} entries, expected {len(groups)} x {len(groups)}, one per group"
        )
    matrix: list[tuple[int, ...]] = []
    for source, group in enumerate(groups):
        row = [
            round(bandwidths[source][target] * GIGA) for target, other in enumerate(groups) for _ in range(other.count)
        ]
        for _ in range(group.count):
            own = len(matrix)
            matrix.append((*row[:own], 0, *row[own + 1 :]))
    return MatrixNetwork(tuple(matrix))


def _named_bandwidths(
    given: Mapping[str, Mapping[str, float]], groups: Sequence[NodeGroup], path: str
) -> list[list[float]]:
    names = [group.name for group in groups]
    for source, row in given.items():
        for name, place in ((source, path), *((target, join(path, source)) for target in row)):
            if name not in names:
                raise InputError(f"{join(place, name)}: no group of this name, expected one of {', '.join(names)}")
    bandwidths: list[list[float]] = []
    for source, group in zip(names, groups, strict=True):
        bandwidths.append([])
        for target in names:
            value = given.get(source, {}).get(target)
            if value is None:
                value = given.get(target, {}).get(source)
            if value is None and source == target and group.count == 1:
                value = 0
            if value is None:
                raise InputError(f"{join(join(path, source), target)}: missing, expected a bandwidth")
            bandwidths[-1].append(value)
    return bandwidths
