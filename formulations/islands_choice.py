"""Which formulations are exact for an islands problem, and which of them is taken for each of its parts.

The order is that of their relaxations: islands written out leave the least for a search, and largest islands are fewer
than all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from formulations import islands_cover as cover
from formulations import islands_representatives as representatives
from formulations import islands_set_partition as set_partition
from tangram_opt.errors import InputError
from tangram_opt.islands.parts import Part

FORMULATIONS: Final[Mapping[str, Callable[[Part], str | None]]] = {
    "cover": cover.not_exact,
    "set-partition": set_partition.not_exact,
    "representatives": representatives.not_exact,
}
"""Strongest first, with what says why it is not exact for a part; None where it is."""


def exact_formulations(parts: Sequence[Part], offered: Sequence[str]) -> tuple[str, ...]:
    """List the formulations that are exact for all of some parts.

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
        name
        for name, not_exact in FORMULATIONS.items()
        if name in offered and all(not_exact(part) is None for part in parts)
    )


def choose(part: Part, offered: Sequence[str], name: str) -> str:
    """Find a formulation by its name, ``auto`` for the strongest that is exact.

    Parameters
    ----------
    part : Part
        The part.
    offered : sequence of str
        Names to choose from.
    name : str
        As the user gave it.

    Returns
    -------
    str
        Name of a formulation that is exact for the part.

    Raises
    ------
    InputError
        There is none of that name, or it is not exact for the part.
    """
    if name == "auto":
        return exact_formulations([part], offered)[0]
    reason = FORMULATIONS[name](part)
    if reason is not None:
        raise InputError(f"formulation: {name!r} is not exact for this problem: {reason}")
    return name
