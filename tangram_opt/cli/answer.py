"""The answer to an instance, for people or as one JSON object, with the exit code it calls for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from tangram_opt.backend import Problem
from tangram_opt.cli.description import describe
from tangram_opt.cli.output import print_json, save, say_notes, stdout_console
from tangram_opt.cli.partition import describe_partition
from tangram_opt.cli.text import kind_of, summarise
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import NoPlanError
from tangram_opt.result import Outcome, Result
from tangram_opt.show import island_notes, print_composition, print_partition, print_plan, times_ns


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
    if as_json:
        times = {"iteration_ns_by_objective": times_ns(result.solution)} if isinstance(result.solution, Plan) else {}
        print_json(_describe(kind, problem, result) | times)
    else:
        say_notes(_notes(problem))
        if result.solution is not None:
            print_solution(problem, result.solution, stdout_console())
    if result.solution is None:
        found = "infeasible" if result.outcome is Outcome.INFEASIBLE else f"no solution found ({result.stop_reason})"
        raise NoPlanError(f"{problem.name}: {found}{': ' if result.log else ''}{'; '.join(result.log)}")
    if not as_json:
        stdout_console().print(summarise(kind, result))


def _describe(kind: str, problem: Problem | PlanningProblem, result: Result[Any]) -> dict[str, Any]:
    if isinstance(problem, IslandsProblem):
        return describe_partition(problem, result)
    return describe(kind, problem.name, result) | {"notes": list(_notes(problem))}


def _notes(problem: Problem | PlanningProblem) -> tuple[str, ...]:
    """What must be said of a cluster, whatever was found."""
    if isinstance(problem, PlanningProblem):
        return island_notes(IslandsProblem(problem.name, problem.cluster, problem.tolerances))
    return island_notes(problem) if isinstance(problem, IslandsProblem) else ()


def print_solution(problem: Problem | PlanningProblem, solution: Any, console: Console) -> None:
    """Print a partition, a composition or a plan."""
    if isinstance(problem, IslandsProblem):
        print_partition(problem, solution, console)
    elif isinstance(problem, CompositionProblem):
        print_composition(problem, solution, console)
    else:
        print_plan(solution, console)
