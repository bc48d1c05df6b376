"""The answer to an instance, for people or as one JSON object, with the exit code it calls for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from tangram_opt.backend import Problem
from tangram_opt.cli.output import as_document, print_json, save, say_notes, stdout_console
from tangram_opt.cli.text import kind_of, summarise
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import NoPlanError
from tangram_opt.result import Outcome, Result
from tangram_opt.show import machine_notes, print_composition, print_partition, print_plan, times_ns


def give_answer(problem: Problem | PlanningProblem, result: Result[Any], *, as_json: bool, output: Path | None) -> None:
    """Print and save what was found.

    Parameters
    ----------
    problem : IslandsProblem or CompositionProblem or PlanningProblem
        What was solved.
    result : Result
        What was found.
    as_json : bool
        One JSON object instead of text.
    output : Path or None
        Where to save the solution, if there is one.

    Raises
    ------
    NoPlanError
        When there is no solution; the JSON object is printed all the same.
    """
    kind = kind_of(problem)
    # Saved first: what is printed may find no reader, and an answer that cannot be saved is an error instead.
    if result.solution is not None and output is not None:
        save(result.solution, output)
    notes = machine_notes(problem.cluster) if isinstance(problem, IslandsProblem | PlanningProblem) else ()
    if as_json:
        times = {"iteration_ns_by_objective": times_ns(result.solution)} if isinstance(result.solution, Plan) else {}
        print_json(describe(kind, problem.name, result) | times | {"notes": list(notes)})
    else:
        say_notes(notes)
        if result.solution is not None:
            print_solution(problem, result.solution, stdout_console())
    if result.solution is None:
        found = "infeasible" if result.outcome is Outcome.INFEASIBLE else f"no solution found ({result.stop_reason})"
        raise NoPlanError(f"{problem.name}: {found}{': ' if result.log else ''}{'; '.join(result.log)}")
    if not as_json:
        stdout_console().print(summarise(kind, result))


def describe(kind: str, instance: str, result: Result[Any]) -> dict[str, Any]:
    """Make the JSON object of a result; times in it are nanoseconds, or seconds where the name ends in ``_s``."""
    return {
        "instance": instance,
        "kind": kind,
        "solver": result.solver,
        "solver_version": result.solver_version,
        "formulation": result.formulation,
        "outcome": result.outcome,
        "stop_reason": result.stop_reason,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "levels": [{"name": level.name, "value": level.value, "bound": level.bound} for level in result.levels],
        "wall_s": result.wall_s,
        "solution": None if result.solution is None else as_document(result.solution),
        "log": list(result.log),
    }


def print_solution(problem: Problem | PlanningProblem, solution: Any, console: Console) -> None:
    """Print a partition, a composition or a plan."""
    if isinstance(problem, IslandsProblem):
        print_partition(problem, solution, console)
    elif isinstance(problem, CompositionProblem):
        print_composition(problem, solution, console)
    else:
        print_plan(solution, console)
