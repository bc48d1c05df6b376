"""Machines with GPUs of several models, whose parts the network keeps from islands with other machines.

The parts of such a machine are nodes with a link of their own, most often faster than any network. Whoever is in an
island over a slower link than that has its sibling in it too (C3), and where the two are unlike there is no such
island.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np

from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands.closure import BoolArray
from tangram_opt.islands.explanation import explain
from tangram_opt.islands.likeness import Figures, Limits, figures, ratio_limits, unlike
from tangram_opt.islands.network import MatrixLinks, links_of

DIGITS: Final = 10_000
"""Tolerances are stated to four decimals, rounded up."""


@dataclass(frozen=True, slots=True)
class KeptApart:
    """Parts of machines that are in no island with another machine because of a sibling.

    Attributes
    ----------
    machines : tuple of str
        Names of machines of which the same is true.
    gpu, sibling : str
        GPU models of the part, and of the other part of the same machine.
    inside_bytes_per_s : int
        From the part to its sibling.
    outside_bytes_per_s : int
        The fastest from the part to a node of another machine with which it is alike, and linked.
    network_tolerance : float
        From it on the sibling is no obstacle; rounded up.
    """

    machines: tuple[str, ...]
    gpu: str
    sibling: str
    inside_bytes_per_s: int
    outside_bytes_per_s: int
    network_tolerance: float


def kept_apart(problem: IslandsProblem) -> tuple[KeptApart, ...]:
    """Find the parts of machines that could be in an island with another machine, were it not for a sibling.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    tuple of KeptApart
        Of each part the sibling with the fastest link among those that it cannot be with and to which its link is
        faster than its links to all like nodes of other machines allow.
    """
    found: defaultdict[tuple[str, str, int, int], list[str]] = defaultdict(list)
    for machine, gpu, sibling, inside, outside in _parts(problem):
        found[gpu, sibling, inside, outside].append(machine)
    kept = []
    for (gpu, sibling, inside, outside), machines in found.items():
        tolerance = ceil((Fraction(inside, outside) - 1) * DIGITS) / DIGITS
        kept.append(KeptApart(tuple(machines), gpu, sibling, inside, outside, tolerance))
    return tuple(kept)


def _parts(problem: IslandsProblem) -> Iterator[tuple[str, str, str, int, int]]:
    """Machine, GPU, GPU of the sibling, and bandwidths inside and outside."""
    nodes = problem.cluster.nodes
    machines: defaultdict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(nodes):
        if node.part_of is not None:
            machines[node.part_of.machine].append(index)
    if not machines:
        return
    links = links_of(problem)
    kinds: dict[Figures, int] = {}
    kind = np.array([kinds.setdefault(figures(node), len(kinds)) for node in nodes])
    alike = _alike(list(kinds), ratio_limits(problem.tolerances))
    for machine, own in machines.items():
        for part in own:
            row = links.row(part)
            back = links.bandwidths[:, part] if isinstance(links, MatrixLinks) else row
            like = alike[kind[part]][kind] & (back > 0)
            like[own] = False
            outside = int(row[like].max(initial=0))
            for other in sorted(own, key=lambda other: -int(row[other])):
                inside = int(row[other])
                if other == part or not outside or inside <= links.limit * outside:
                    continue
                names = nodes[part].name, nodes[other].name
                if not alike[kind[part], kind[other]] or not explain(problem, *names).together:
                    yield machine, nodes[part].gpu.name, nodes[other].gpu.name, inside, outside
                    break


def _alike(kinds: Sequence[Figures], limits: Limits) -> BoolArray:
    return np.array([[not any(unlike({0: a, 1: b}, limits)) for b in kinds] for a in kinds])
