"""Whether the answers of several solvers to one problem can all be true, found out without a solver.

Every solution is checked and evaluated anew; what remains must fit together: no bound above an objective, and no
solution where another solver proved that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tangram_opt import composition, islands
from tangram_opt.backend import Problem
from tangram_opt.crosscheck.runs import Answer, Run
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.schedule import ScheduleProblem
from tangram_opt.pipeline.split import check_schedule, iteration_ns
from tangram_opt.result import Outcome, Result

Costs = tuple[int, ...]
"""Objectives in order of importance, as numbers of which less is better."""


class Fault(StrEnum):
    """What is wrong with the answers."""

    CRASH = "crash"
    """A solver raised an exception, or its process ended."""
    NOT_ALLOWED = "not allowed"
    """A solution violates a condition of the problem."""
    WRONG_OBJECTIVE = "wrong objective"
    """A solution is not worth what its solver says."""
    WRONG_BOUND = "wrong bound"
    """A solution is better than what another solver, or the same one, proved to be the best possible."""
    NOT_INFEASIBLE = "not infeasible"
    """There is a solution where a solver proved that there is none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction among the answers to one problem.

    Attributes
    ----------
    fault : Fault
        Its kind.
    runs : tuple of Run
        The run at fault, and the one that shows it, if there is another.
    text : str
        One sentence.
    """

    fault: Fault
    runs: tuple[Run, ...]
    text: str


def contradictions(problem: Problem, answered: Sequence[tuple[Run, Answer]]) -> tuple[Finding, ...]:
    """Find what cannot all be true.

    Parameters
    ----------
    problem : IslandsProblem or CompositionProblem or ScheduleProblem
        The problem.
    answered : sequence of (Run, Answer)
        Runs on this problem. Those that ran out of time say nothing, and contradict nothing.

    Returns
    -------
    tuple of Finding
        Empty where all agree.
    """
    findings = [
        Finding(Fault.CRASH, (run,), f"{label(run)} failed: {answer.failure}")
        for run, answer in answered
        if answer.failure is not None
    ]
    results = [(run, answer.result) for run, answer in answered if answer.result is not None]
    witness: tuple[Run, Costs] | None = None
    for run, result in results:
        if result.solution is None:
            continue
        worth = _worth(problem, result.solution)
        if isinstance(worth, str):
            findings.append(Finding(Fault.NOT_ALLOWED, (run,), f"{label(run)} gives a wrong solution: {worth}"))
            continue
        claimed = _claimed(result)
        if claimed != worth[: len(claimed)]:
            text = f"{label(run)} gives a solution of {_text(worth)} and says that it is worth {_text(claimed)}"
            findings.append(Finding(Fault.WRONG_OBJECTIVE, (run,), text))
        if witness is None or worth < witness[1]:
            witness = run, worth
    if witness is not None:
        findings += [finding for run, result in results for finding in _refuted(run, result, *witness)]
    return tuple(findings)


def label(run: Run) -> str:
    """Name a run by solver and formulation."""
    return f"{run.solver}/{run.formulation}"


def _refuted(run: Run, result: Result[Any], witness: Run, worth: Costs) -> list[Finding]:
    runs = (run,) if run is witness else (run, witness)
    if result.outcome is Outcome.INFEASIBLE:
        text = f"{label(run)} proves that there is no solution, {label(witness)} has one of {_text(worth)}"
        return [Finding(Fault.NOT_INFEASIBLE, runs, text)]
    proven = _proven(result)
    if worth[: len(proven)] < proven:
        text = f"{label(run)} proves a bound of {_text(proven)}, {label(witness)} has a solution of {_text(worth)}"
        return [Finding(Fault.WRONG_BOUND, runs, text)]
    return []


def _worth(problem: Problem, solution: Any) -> Costs | str:
    """Objectives of an allowed solution, or the first condition that it violates."""
    if isinstance(problem, CompositionProblem):
        violations = composition.check(problem, solution)
        return violations[0] if violations else (composition.evaluate(problem, solution).objective_ns,)
    if isinstance(problem, ScheduleProblem):
        violations = check_schedule(problem, solution)
        return violations[0] if violations else (iteration_ns(problem, solution),)
    violations = islands.check(problem, solution)
    return violations[0] if violations else islands.evaluate(problem, solution).costs


def _claimed(result: Result[Any]) -> Costs:
    """Objectives as the solver states them."""
    levels = (-level.value if level.larger_is_better else level.value for level in result.levels)
    return (*([] if result.objective is None else [result.objective]), *levels)


def _proven(result: Result[Any]) -> Costs:
    """Bounds of the objectives: that of a further one counts where those before it are proven."""
    if result.bound is None:
        return ()
    bounds = [result.bound]
    proven = result.bound == result.objective
    for level in result.levels:
        if not proven or level.bound is None:
            break
        bounds.append(-level.bound if level.larger_is_better else level.bound)
        proven = level.bound == level.value
    return tuple(bounds)


def _text(costs: Costs) -> str:
    return ", ".join(str(abs(cost)) for cost in costs)
