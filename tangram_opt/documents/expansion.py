"""From a cluster document to the cluster: groups machine by machine, and the network link by link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tangram_opt.catalogue import find_gpu
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, TierNetwork, check_square
from tangram_opt.data.units import GIGA, TERA
from tangram_opt.documents.clusters import MAX_NODES, ClusterDocument, GpuOverrides, NodeGroup, Tier
from tangram_opt.documents.machines import MAX_MATRIX_NODES, Machine, split_machines
from tangram_opt.documents.reading import join
from tangram_opt.errors import InputError


def to_cluster(document: ClusterDocument) -> Cluster:
    """Spell out a cluster document.

    Parameters
    ----------
    document : ClusterDocument
        As it was written.

    Returns
    -------
    Cluster
        Node by node, in integers; a machine with several GPU models is a node for each of them.

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
    machines = [each for index, group in enumerate(document.nodes) for each in _machines(group, f"nodes[{index}]")]
    names = [group.name for group in document.nodes]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InputError(f"nodes[{index}].name: {name!r} is also the name of a group before it, expected another")
    nodes, network = split_machines(machines, _network(document, total))
    try:
        return Cluster(document.name, nodes, network)
    except ValueError as error:
        raise InputError(str(error)) from None


def _machines(group: NodeGroup, path: str) -> Iterator[Machine]:
    gpus = _gpus(group, group.gpu_overrides, path)
    links = _links(group.intra_node_gb_per_s, group.gpus_per_node, path)
    host_memory = None if group.host_memory_gb is None else round(group.host_memory_gb * GIGA)
    width = len(str(group.count))
    names = [group.name if group.count == 1 else f"{group.name}-{n:0{width}d}" for n in range(1, group.count + 1)]
    for name in group.node_overrides:
        if name not in names:
            known = names[0] if group.count == 1 else f"one of {names[0]} to {names[-1]}"
            raise InputError(f"{join(f'{path}.node_overrides', name)}: no node of this name, expected {known}")
    for name in names:
        own = group.node_overrides.get(name)
        if own is None:
            yield Machine(name, gpus, links, host_memory)
            continue
        changed = own.model_dump(exclude_none=True, exclude={"intra_node_gb_per_s"})
        at = join(f"{path}.node_overrides", name)
        both = group.gpu_overrides.model_copy(update=changed)
        own_links = links if own.intra_node_gb_per_s is None else _links(own.intra_node_gb_per_s, len(gpus), at)
        yield Machine(name, _gpus(group, both, path, at), own_links, host_memory)


def _gpus(group: NodeGroup, overrides: GpuOverrides, path: str, overrides_path: str | None = None) -> tuple[Gpu, ...]:
    """The GPUs of a machine, in its own order."""
    overrides_path = overrides_path or f"{path}.gpu_overrides"
    if isinstance(group.gpu, str):
        return (_gpu(group.gpu, overrides, f"{path}.gpu", overrides_path),) * group.gpus_per_node
    if len(group.gpu) != group.gpus_per_node:
        raise InputError(f"{path}.gpu: {len(group.gpu)} GPUs, expected the {group.gpus_per_node} of gpus_per_node")
    return tuple(_gpu(name, overrides, f"{path}.gpu[{index}]", overrides_path) for index, name in enumerate(group.gpu))


def _gpu(name: str, overrides: GpuOverrides, path: str, overrides_path: str) -> Gpu:
    try:
        gpu = find_gpu(name)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    changes = {
        "memory_bytes": (overrides.memory_gb, GIGA),
        "peak_flops_per_s": (overrides.peak_tflops, TERA),
        "matmul_flops_per_s": (overrides.matmul_tflops, TERA),
        "memory_bytes_per_s": (overrides.memory_gb_per_s, GIGA),
        "host_link_bytes_per_s": (overrides.host_link_gb_per_s, GIGA),
    }
    figures: dict[str, Any] = {
        name: round(value * unit) for name, (value, unit) in changes.items() if value is not None
    }
    gpu = replace(gpu, **figures)
    if gpu.matmul_flops_per_s > gpu.peak_flops_per_s:
        raise InputError(
            f"{overrides_path}: matrix products at {gpu.matmul_flops_per_s / TERA:g} TFLOP/s, "
            f"expected at most the peak of {gpu.peak_flops_per_s / TERA:g}"
        )
    if overrides.derate is not None:
        gpu = replace(gpu, matmul_flops_per_s=round(gpu.matmul_flops_per_s * overrides.derate))
    return gpu


def _links(given: float | Sequence[Sequence[float]] | None, gpus: int, path: str) -> tuple[tuple[int, ...], ...]:
    path = f"{path}.intra_node_gb_per_s"
    if isinstance(given, Sequence):
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
