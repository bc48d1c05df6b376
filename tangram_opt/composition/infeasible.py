"""Why a composition problem has no solution, in the user's terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tangram_opt.composition.exact import Best, BoxSearch
from tangram_opt.composition.placement import depth_limit, positions
from tangram_opt.composition.table import option_table
from tangram_opt.data.composition import CompositionProblem, Option

_UNLIMITED_BYTES: Final = 1 << 62


def why_infeasible(problem: CompositionProblem, stop: Callable[[], bool]) -> str:
    """Find the condition that rules out every composition.

    Conditions are added one by one, from the tiling of the model to the required classes; the first one with which
    nothing is possible any more is at fault.

    Parameters
    ----------
    problem : CompositionProblem
        A problem without a solution.
    stop : callable
        Asked often; the search for the reason ends once it answers True.

    Returns
    -------
    str
        One sentence.
    """
    # Whether there is a solution does not depend on them.
    problem = replace(problem, objective="closed", depths="standard")
    atom = _uncovered(problem, problem.options)
    if atom is not None:
        return f"no option covers atom {atom} ({problem.signatures[atom]!r})"
    classes = {island.name: island for island in problem.islands}
    fitting = tuple(o for o in problem.options if depth_limit(o, classes[o.island], problem.micro_batches) != -1)
    atom = _uncovered(problem, fitting)
    if atom is not None:
        over = min(
            max(s.static_bytes + s.in_flight_bytes for s in o.stages) - classes[o.island].memory_bytes
            for o in problem.options
            if any(first <= atom < first + o.length for first in positions(problem, o))
        )
        return (
            f"every option that covers atom {atom} ({problem.signatures[atom]!r}) needs more memory than its island "
            f"class has, even as the last of the pipeline: the nearest by {max(over, 1)} bytes"
        )
    memory_only = replace(
        problem, required=(), options=tuple(replace(option, max_stages_after=None) for option in problem.options)
    )
    stated_only = replace(
        problem,
        required=(),
        islands=tuple(replace(island, memory_bytes=_UNLIMITED_BYTES) for island in problem.islands),
    )
    islands_only = replace(memory_only, islands=stated_only.islands)
    tiling_only = replace(
        islands_only, islands=tuple(replace(island, count=problem.length) for island in islands_only.islands)
    )
    tiling = "the slices of the options cannot tile the model's atoms, even with unlimited islands"
    islands = "there are not enough islands: no tiling of the model uses each class at most as often as it has islands"
    memory = "some stage runs out of memory at its place in the pipeline, in every tiling that the islands allow"
    stated = "more stages come after some option than its max_stages_after, in every tiling that the islands allow"
    both = "memory and max_stages_after together rule out every tiling that the islands allow"
    required = f"no allowed composition uses all required island classes ({', '.join(problem.required)})"
    for relaxed, reason in (
        (tiling_only, tiling),
        (islands_only, islands),
        (memory_only, memory),
        (stated_only, stated),
        (replace(problem, required=()), both),
    ):
        solvable = _solvable(relaxed, stop)
        if solvable is None:
            return "proven; the search for the condition at fault was stopped before its end"
        if not solvable:
            return reason
    return required


def _uncovered(problem: CompositionProblem, options: tuple[Option, ...]) -> int | None:
    covered = {
        atom
        for option in options
        for first in positions(problem, option)
        for atom in range(first, first + option.length)
    }
    return next((atom for atom in range(problem.length) if atom not in covered), None)


def _solvable(problem: CompositionProblem, stop: Callable[[], bool]) -> bool | None:
    """Tell whether there is any composition; None where the search was stopped."""
    search = BoxSearch(option_table(problem), Best(), lambda: bool(search.best.options) or stop(), lambda: None)
    search.run()
    if search.best.options:
        return True
    return None if search.open else False
