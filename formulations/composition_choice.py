"""Which formulations are exact for a problem, and which of them is the strongest.

The order was measured: fixing the slowest stage beats minimising it, not modelling the order beats modelling it, and
the order of islands is less than the places of options, unless islands come in many copies or with many pairs of ports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from formulations import composition_arc_flow_milp as arc_flow
from formulations import composition_circuit as circuit
from formulations import composition_deadline as deadline
from formulations import composition_sweep as sweep
from formulations.composition_data import CompositionData
from tangram_opt.errors import InputError


@dataclass(frozen=True, slots=True)
class Formulation:
    """A formulation by its name.

    Attributes
    ----------
    name : str
        What users call it.
    not_exact : callable
        Says why it does not apply to a problem; None where it does.
    suits : str
        Where it is exact, for the log.
    """

    name: str
    not_exact: Callable[[CompositionData], str | None]
    suits: str


def _at_once(not_exact: Callable[[CompositionData], str | None]) -> Callable[[CompositionData], str | None]:
    """Leave the period to the sweep: as a variable it would be multiplied with the choice of options."""
    by_period = "the period form is left to the sweep, for which the period is a constant"
    return lambda data: by_period if data.by_period else not_exact(data)


FORMULATIONS: Final = (
    Formulation("sweep", sweep.not_exact, "limits on the slowest stage can be tried one after the other"),
    Formulation("deadline", _at_once(deadline.not_exact), "all boundaries cost the same, so the order does not matter"),
    Formulation("circuit", _at_once(circuit.not_exact), "atoms are alike, so only the order of islands matters"),
    Formulation("arc-flow", _at_once(arc_flow.not_exact), "every place of every option is modelled"),
)
"""Strongest first, as a rule."""


def exact_formulations(data: CompositionData, offered: Sequence[str]) -> list[Formulation]:
    """List the formulations that are exact for a problem.

    Parameters
    ----------
    data : CompositionData
        The problem.
    offered : sequence of str
        Names to choose from.

    Returns
    -------
    list of Formulation
        Strongest first.
    """
    exact = [each for each in FORMULATIONS if each.name in offered and each.not_exact(data) is None]
    order_matters = deadline.not_exact(data) is not None
    if order_matters and circuit.not_exact(data) is None and circuit.arcs(data) > arc_flow.places(data):
        exact.sort(key=lambda each: each.name == "circuit")
    return exact


def choose(data: CompositionData, offered: Sequence[str], name: str) -> Formulation:
    """Find a formulation by its name, ``auto`` for the strongest.

    Parameters
    ----------
    data : CompositionData
        The problem.
    offered : sequence of str
        Names to choose from.
    name : str
        As the user gave it.

    Returns
    -------
    Formulation
        Exact for the problem.

    Raises
    ------
    InputError
        There is none of that name, or it is not exact for the problem.
    """
    exact = exact_formulations(data, offered)
    if name == "auto":
        return exact[0]
    if name not in offered:
        raise InputError(f"formulation: {name!r}, expected one of auto, {', '.join(offered)}")
    for each in FORMULATIONS:
        if each.name == name and each not in exact:
            raise InputError(
                f"formulation: {name!r} is not exact for problem {data.problem.name!r}: {each.not_exact(data)}"
            )
    return next(each for each in exact if each.name == name)
