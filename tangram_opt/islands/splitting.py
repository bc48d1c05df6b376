"""From an islands problem to what structure settles without a search, and the parts that need one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands.blocks import Block, join
from tangram_opt.islands.flat import along_a_line, apart, binding
from tangram_opt.islands.likeness import Limits, ratio_limits
from tangram_opt.islands.network import MatrixLinks, TierLinks, links_of
from tangram_opt.islands.parts import Part, components, open_part, whole_part
from tangram_opt.islands.tiers import bandwidths_between, families

Settled = tuple[Block, ...]
"""Islands of a component that are best in every objective, each as one block."""


@dataclass(frozen=True, slots=True)
class Split:
    """An islands problem in independent components.

    Attributes
    ----------
    settled : tuple of Settled
        Components that structure alone decides.
    parts : tuple of Part
        All others.
    """

    settled: tuple[Settled, ...]
    parts: tuple[Part, ...]


def split(problem: IslandsProblem) -> Split:
    """Split a problem into independent components, and settle those that need no search.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    Split
        Every node is in one of the components. A best partition of each makes a best partition of the problem.
    """
    links = links_of(problem)
    if isinstance(links, MatrixLinks):
        found = list(_components(whole_part(problem)))
    else:
        found = list(_of_tiers(problem, links))
    return Split(
        tuple(each for each in found if not isinstance(each, Part)),
        tuple(each for each in found if isinstance(each, Part)),
    )


def _of_tiers(problem: IslandsProblem, links: TierLinks) -> Iterator[Settled | Part]:
    limits = ratio_limits(problem.tolerances)
    for family in families(problem.cluster.nodes, links, limits):
        if links.bandwidths[family.outer] == 0:
            yield from ((block,) for block in family.blocks)
            continue
        for piece in apart(family.blocks, limits) if family.free(links) else [family.blocks]:
            islands = None if family.outer < family.inner else _along_a_line(piece, limits)
            if islands is None:
                yield from _components(open_part(piece, bandwidths_between(piece, links), links.limit, limits))
            else:
                yield tuple(join(island, links.bandwidths[family.outer]) for island in islands)


def _along_a_line(blocks: Sequence[Block], limits: Limits) -> list[list[Block]] | None:
    return along_a_line(blocks, limits) if binding(blocks, limits) else [list(blocks)]


def _components(part: Part) -> Iterator[Settled | Part]:
    for each in components(part):
        if each.together.all():
            group = tuple(range(each.size))
            yield (join(each.blocks, each.slowest_link(group)),)
        else:
            yield each
