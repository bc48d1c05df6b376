"""What a report must say of machines that count as several nodes."""

from __future__ import annotations

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.units import GIGA
from tangram_opt.islands import KeptApart, kept_apart
from tangram_opt.show.names import compress_names
from tangram_opt.show.units import decimals

Parts = tuple[tuple[str, tuple[int, ...]], ...]


def machine_notes(cluster: Cluster) -> tuple[str, ...]:
    """Say which machines have GPUs of several models, and as what nodes they count.

    Parameters
    ----------
    cluster : Cluster
        The cluster.

    Returns
    -------
    tuple of str
        A sentence for each kind of such machines; empty where there are none.
    """
    machines: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for node in cluster.nodes:
        if node.part_of is not None:
            machines.setdefault(node.part_of.machine, []).append((node.gpu.name, node.part_of.gpus))
    alike: dict[Parts, list[str]] = {}
    for name, parts in machines.items():
        alike.setdefault(tuple(parts), []).append(name)
    return tuple(_note(parts, names) for parts, names in alike.items())


def island_notes(problem: IslandsProblem) -> tuple[str, ...]:
    """Say what :func:`machine_notes` says, and which of these machines the network keeps from islands with others.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    tuple of str
        Sentences.
    """
    return (*machine_notes(problem.cluster), *map(_kept_apart, kept_apart(problem)))


def _kept_apart(kept: KeptApart) -> str:
    one = len(kept.machines) == 1
    where = f"machine {kept.machines[0]}" if one else f"machines {compress_names(kept.machines)}"
    inside, outside = (decimals(speed / GIGA, 3) for speed in (kept.inside_bytes_per_s, kept.outside_bytes_per_s))
    return (
        f"{kept.gpu} of {where} is in no island with another machine: its link to the {kept.sibling} beside it "
        f"({inside} GB/s), with which it can be in none, is faster than those to like nodes elsewhere "
        f"(at most {outside} GB/s); --network-tolerance {kept.network_tolerance:g} or more lifts that"
    )


def _note(parts: Parts, names: list[str]) -> str:
    subject = f"machine {names[0]} counts" if len(names) == 1 else f"machines {compress_names(names)} count"
    each = " and ".join(f"{gpu} (GPU{'s' if len(gpus) > 1 else ''} {_numbers(gpus)})" for gpu, gpus in parts)
    return f"{subject} as {len(parts)} nodes, one for each GPU model: {each}"


def _numbers(gpus: tuple[int, ...]) -> str:
    return compress_names([str(gpu) for gpu in gpus]).strip("[]")
