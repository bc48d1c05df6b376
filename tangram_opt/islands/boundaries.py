"""What keeps two islands from being one: every condition that an island of all their nodes would violate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands.explanation import Apart, Step
from tangram_opt.islands.groups import IslandGroup
from tangram_opt.islands.likeness import Figures, Limits, figures, ratio_limits, unlike
from tangram_opt.islands.network import Links, links_of


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why two islands are two.

    Attributes
    ----------
    first, second : int
        Their classes, by number; a class of several islands has a boundary to itself.
    apart : tuple of Apart
        For each respect in which they are unlike the two nodes that differ most; or two nodes without a link.
    network : Step or None
        Where they are alike and linked, the third node that a faster link would put into an island of both.

    Notes
    -----
    Without any of these the two could be one island, which islands that are proven fewest never can.
    """

    first: int
    second: int
    apart: tuple[Apart, ...]
    network: Step | None


def boundaries(problem: IslandsProblem, groups: Sequence[IslandGroup]) -> Iterator[Boundary]:
    """Find for each pair of island classes what keeps their first islands from being one.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    groups : sequence of IslandGroup
        The classes of its islands.

    Yields
    ------
    Boundary
        By the numbers of the classes.
    """
    links = links_of(problem)
    known, limits = [figures(node) for node in problem.cluster.nodes], ratio_limits(problem.tolerances)
    for a, here in enumerate(groups):
        for b in range(a, len(groups)):
            if a < b or here.count > 1:
                other = here.members[1] if a == b else groups[b].members[0]
                union = sorted((*here.members[0], *other))
                apart = _unlike(problem, known, limits, union) or _unlinked(problem, links, union)
                yield Boundary(a, b, apart, None if apart else _faster_outside(problem, links, union))


def _unlike(
    problem: IslandsProblem, known: Sequence[Figures], limits: Limits, union: Sequence[int]
) -> tuple[Apart, ...]:
    nodes = problem.cluster.nodes
    found = unlike({i: known[i] for i in union}, limits)
    return tuple(Apart(nodes[each.low].name, nodes[each.high].name, each.what, each.least, each.most) for each in found)


def _unlinked(problem: IslandsProblem, links: Links, union: Sequence[int]) -> tuple[Apart, ...]:
    one, other, slowest = links.slowest(union)
    if slowest:
        return ()
    first, second = (problem.cluster.nodes[i].name for i in (one, other))
    return (Apart(first, second, "link", 0, problem.cluster.network.bandwidth_bytes_per_s(other, one)),)


def _faster_outside(problem: IslandsProblem, links: Links, union: Sequence[int]) -> Step | None:
    witness = links.faster_outside(union)
    if witness is None:
        return None
    u, v, w = witness
    first, second, third = (problem.cluster.nodes[i].name for i in witness)
    network = problem.cluster.network
    return Step(first, second, third, network.bandwidth_bytes_per_s(u, v), network.bandwidth_bytes_per_s(u, w))
