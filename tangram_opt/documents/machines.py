"""Machines with GPUs of several models: a node for each model, and the network that joins these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tangram_opt.data.cluster import Gpu, MachinePart, MatrixNetwork, Node, TierNetwork
from tangram_opt.errors import InputError

MAX_MATRIX_NODES: Final = 4_096
"""A matrix of more nodes than this holds too many links to be of use; tiers have no such limit."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as it stands in a rack.

    Attributes
    ----------
    name : str
        Its name.
    gpus : tuple of Gpu
        Its GPUs, in its own order.
    link_bytes_per_s : tuple of tuple of int
        Bandwidth between each ordered pair of them.
    host_memory_bytes : int or None
        Memory of the host.
    """

    name: str
    gpus: tuple[Gpu, ...]
    link_bytes_per_s: tuple[tuple[int, ...], ...]
    host_memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class _Part:
    """The GPUs of one model in a machine, and the machine by its number."""

    machine: int
    gpus: tuple[int, ...]


def split_machines(
    machines: Sequence[Machine], network: MatrixNetwork | TierNetwork
) -> tuple[tuple[Node, ...], MatrixNetwork | TierNetwork]:
    """Make the nodes of a cluster, each with GPUs of one model.

    Parameters
    ----------
    machines : sequence of Machine
        All machines.
    network : MatrixNetwork or TierNetwork
        Over the machines.

    Returns
    -------
    nodes : tuple of Node
        A machine whose GPUs are equal is a node. Of another one each kind of GPU is a node named ``machine/model``,
        with a share of the host memory by its number of GPUs.
    network : MatrixNetwork or TierNetwork
        Over the nodes. Parts of a machine have its links to other machines, and the slowest link between their GPUs
        to each other. Tiers stay tiers where such links fit in as further tiers inside the innermost one.

    Raises
    ------
    InputError
        The links of parts do not fit in as tiers, and the cluster is too large for a matrix.
    """
    parts = [_Part(number, gpus) for number, machine in enumerate(machines) for gpus in _kinds(machine)]
    nodes = tuple(_node(machines[part.machine], part.gpus) for part in parts)
    if len(parts) == len(machines):
        return nodes, network
    names = [node.name for node in nodes]
    tiers = _tiers_inside(machines, parts, names, network) if isinstance(network, TierNetwork) else None
    if tiers is not None:
        return nodes, tiers
    if len(parts) > MAX_MATRIX_NODES:
        raise InputError(
            f"network.tiers: {len(parts)} nodes, some of them parts of one machine with links that are no further "
            f"tier, expected at most {MAX_MATRIX_NODES} nodes then"
        )
    rows = tuple(tuple(_bandwidth(machines, network, source, target) for target in parts) for source in parts)
    return nodes, MatrixNetwork(rows)


def _kinds(machine: Machine) -> list[tuple[int, ...]]:
    """Numbers of the GPUs of each kind, kinds by their first GPU."""
    if machine.gpus.count(machine.gpus[0]) == len(machine.gpus):
        return [tuple(range(len(machine.gpus)))]
    kinds: dict[Gpu, list[int]] = {}
    for number, gpu in enumerate(machine.gpus):
        kinds.setdefault(gpu, []).append(number)
    return [tuple(numbers) for numbers in kinds.values()]


def _node(machine: Machine, gpus: tuple[int, ...]) -> Node:
    gpu = machine.gpus[gpus[0]]
    if len(gpus) == len(machine.gpus):
        return Node(machine.name, gpu, len(gpus), machine.link_bytes_per_s, machine.host_memory_bytes)
    links = tuple(tuple(machine.link_bytes_per_s[i][j] for j in gpus) for i in gpus)
    host_memory = machine.host_memory_bytes
    return Node(
        name=f"{machine.name}/{gpu.name}",
        gpu=gpu,
        gpus=len(gpus),
        link_bytes_per_s=links,
        host_memory_bytes=None if host_memory is None else host_memory * len(gpus) // len(machine.gpus),
        part_of=MachinePart(machine.name, gpus),
    )


def _between(machine: Machine, source: _Part, target: _Part) -> int:
    return min(machine.link_bytes_per_s[i][j] for i in source.gpus for j in target.gpus)


def _bandwidth(machines: Sequence[Machine], network: MatrixNetwork | TierNetwork, source: _Part, target: _Part) -> int:
    if source is target:
        return 0
    if source.machine == target.machine:
        return _between(machines[source.machine], source, target)
    return network.bandwidth_bytes_per_s(source.machine, target.machine)


def _tiers_inside(
    machines: Sequence[Machine], parts: Sequence[_Part], names: Sequence[str], network: TierNetwork
) -> TierNetwork | None:
    """Add a tier for each speed between the parts of a machine; None where tiers cannot say what these links are."""
    beside: dict[int, list[_Part]] = {}
    for part in parts:
        beside.setdefault(part.machine, []).append(part)
    inside: dict[int, int] = {}
    for number, own in beside.items():
        speeds = {_between(machines[number], a, b) for a in own for b in own if a is not b}
        if len(speeds) > 1 or any(speed < network.bandwidths_bytes_per_s[-1] for speed in speeds):
            return None
        inside[number] = max(speeds, default=0)
    added = sorted({speed for speed in inside.values() if speed})
    positions = tuple(
        (
            *network.positions[part.machine],
            *(machines[part.machine].name if speed <= inside[part.machine] else name for speed in added),
        )
        for part, name in zip(parts, names, strict=True)
    )
    return TierNetwork((*network.bandwidths_bytes_per_s, *added), positions)
