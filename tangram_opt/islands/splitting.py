"""From an islands problem to what structure settles without a search, and the parts that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands.blocks import Block, join
from tangram_opt.islands.crowds import Crowd, flat_crowd
from tangram_opt.islands.flat import along_a_line, apart, binding
from tangram_opt.islands.likeness import Limits, ratio_limits
from tangram_opt.islands.network import MatrixLinks, TierLinks, links_of
from tangram_opt.islands.parts import MOST_BLOCKS, Part, merged_blocks, open_parts
from tangram_opt.islands.tiers import bandwidths_between, families

MOST_FREE_BLOCKS: Final = 4_000
"""Blocks of a part at most where the network asks for nobody, so that pairs are all there is to write down."""
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
        All others that can be searched.
    crowds : tuple of Crowd
        Those with too many blocks for that.
    """

    settled: tuple[Settled, ...]
    parts: tuple[Part, ...]
    crowds: tuple[Crowd, ...] = ()


def split(problem: IslandsProblem, stopped: Callable[[], bool] = lambda: False) -> Split:
    """Split a problem into independent components, and settle those that need no search.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    stopped : callable
        Whether the islands of crowds so far will do.

    Returns
    -------
    Split
        Every node is in one of the components. A best partition of each makes a best partition of the problem.
    """
    links = links_of(problem)
    if isinstance(links, MatrixLinks):
        blocks, bandwidths = merged_blocks(problem, links)
        limits = ratio_limits(problem.tolerances)
        found = list(_settled(open_parts(blocks, bandwidths, links.limit, limits, MOST_BLOCKS, stopped)))
    else:
        found = list(_of_tiers(problem, links, stopped))
    return Split(
        tuple(each for each in found if isinstance(each, tuple)),
        tuple(each for each in found if isinstance(each, Part)),
        tuple(each for each in found if isinstance(each, Crowd)),
    )


def _of_tiers(
    problem: IslandsProblem, links: TierLinks, stopped: Callable[[], bool]
) -> Iterator[Settled | Part | Crowd]:
    limits = ratio_limits(problem.tolerances)
    for family in families(problem.cluster.nodes, links, limits):
        if links.bandwidths[family.outer] == 0:
            yield from ((block,) for block in family.blocks)
            continue
        free, link = family.free(links), links.bandwidths[family.outer]
        flat = family.outer == family.inner
        for piece in apart(family.blocks, limits) if free else [family.blocks]:
            islands = _along_a_line(piece, limits) if flat else None
            if islands is not None:
                yield tuple(join(island, link) for island in islands)
            elif flat and free and len(piece) > MOST_FREE_BLOCKS:
                yield flat_crowd(piece, limits, link)
            else:
                most = MOST_FREE_BLOCKS if free else MOST_BLOCKS
                bandwidths = bandwidths_between(piece, links)
                yield from _settled(open_parts(piece, bandwidths, links.limit, limits, most, stopped))


def _along_a_line(blocks: Sequence[Block], limits: Limits) -> list[list[Block]] | None:
    return along_a_line(blocks, limits) if binding(blocks, limits) else [list(blocks)]


def _settled(found: Iterator[Part | Crowd]) -> Iterator[Settled | Part | Crowd]:
    for each in found:
        if isinstance(each, Part) and each.together.all():
            group = tuple(range(each.size))
            yield (join(each.blocks, each.slowest_link(group)),)
        else:
            yield each
