"""Which formulations are exact for an islands problem, and which of them is taken for each level of each part.

The order is that of their relaxations: islands written out leave the least for a search, largest islands are fewer
than all of them, and where islands have names no partition is searched twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from formulations import islands_anchors as anchors
from formulations import islands_cover as cover
from formulations import islands_representatives as representatives
from formulations import islands_set_partition as set_partition
from formulations.islands_levels import Target
from formulations.islands_sets import Tick
from tangram_opt.errors import InputError
from tangram_opt.islands.parts import Part

FORMULATIONS: Final[Mapping[str, Callable[[Part, Target, Tick], str | None]]] = {
    "cover": cover.not_exact,
    "set-partition": set_partition.not_exact,
    "anchors": anchors.not_exact,
    "representatives": representatives.not_exact,
}
"""Strongest first, with what says why it is not exact for a level of a part; None where it is."""
LEVELS: Final = (Target(), Target(most_islands=1))
"""One target for each kind of model: about the number of islands, and about what comes after it."""

MANY_SETS: Final = 2_000
"""With more of them a cover takes longer than islands with names, where these are the smaller model."""


def exact_formulations(parts: Sequence[Part], offered: Sequence[str]) -> tuple[str, ...]:
    """List the formulations that are exact for all levels of some parts.

    Parameters
    ----------
    parts : sequence of Part
        The parts.
    offered : sequence of str
        Names to choose from.

    Returns
    -------
    tuple of str
        Strongest first.
    """
    return tuple(
        name for name in FORMULATIONS if name in offered and all(_why_not(part, name) is None for part in parts)
    )


def check_exact(part: Part, name: str) -> None:
    """Refuse a formulation, by an InputError, that is not exact for a part."""
    reason = _why_not(part, name)
    if reason is not None:
        raise InputError(f"formulation: {name!r} is not exact for this problem: {reason}")


def choose(part: Part, target: Target, offered: Sequence[str], name: str, tick: Tick) -> str:
    """Choose the formulation for a level of a part.

    Parameters
    ----------
    part : Part
        The part.
    target : Target
        The level.
    offered : sequence of str
        Names to choose from.
    name : str
        The formulation that is wanted; ``auto`` for the strongest that is exact.
    tick : callable
        May end the work.

    Returns
    -------
    str
        The one that is wanted, unless it is not exact: a part without its slow links can have more sets to write out
        than it had before. Then, and for ``auto``, the strongest that is, but names for islands instead of a cover by
        very many sets.
    """
    if name != "auto" and FORMULATIONS[name](part, target, tick) is None:
        return name
    exact = (each for each in FORMULATIONS if each in offered and FORMULATIONS[each](part, target, tick) is None)
    strongest = next(exact)
    if strongest == "cover" and "anchors" in offered:
        sets = cover.islands_of(part, target, tick)
        assert sets is not None
        if len(sets) > MANY_SETS and part.size * len(anchors.names_of(part, target)) < len(sets):
            return "anchors"
    return strongest


def _why_not(part: Part, name: str) -> str | None:
    return next(
        (reason for level in LEVELS if (reason := FORMULATIONS[name](part, level, lambda: None)) is not None), None
    )
