"""All solvers on the same problems: whether they agree, and if not, how small a problem shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tangram_opt import solvers as registry
from tangram_opt.backend import Backend, Problem
from tangram_opt.crosscheck.agreement import Fault, Finding, contradictions, label
from tangram_opt.crosscheck.runs import Answer, Run, Worker, answers
from tangram_opt.crosscheck.shrink import shrink
from tangram_opt.errors import InputError
from tangram_opt.result import Level

SHRINK_S: Final = 60.0
"""How long one disagreement is made smaller."""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one run.

    Attributes
    ----------
    instance, solver, formulation : str
        Which run.
    outcome : str
        One of :class:`~tangram_opt.result.Outcome`, or ``error`` where the solver failed.
    stop_reason : str
        One of :class:`~tangram_opt.result.StopReason`, ``killed`` where the solver did not stop at its time limit, or
        ``error``.
    objective, bound : int or None
        As the solver says: nanoseconds for compositions, a count for islands.
    levels : tuple of Level
        Further objectives with their bounds, as the solver says: of islands.
    wall_s : float
        Time of the solve.
    peak_memory_bytes : int or None
        Of the process.
    error : str or None
        How it failed.
    """

    instance: str
    solver: str
    formulation: str
    outcome: str
    stop_reason: str
    objective: int | None
    bound: int | None
    levels: tuple[Level, ...]
    wall_s: float
    peak_memory_bytes: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Answers to one problem that cannot all be true.

    Attributes
    ----------
    fault : Fault
        What kind of contradiction.
    solvers : tuple of str
        Solver and formulation of the run at fault, and of the one that shows it.
    text : str
        One sentence.
    problem : IslandsProblem or CompositionProblem
        Where it was found.
    shrunk : IslandsProblem or CompositionProblem or None
        The smallest problem found on which the same runs show the same kind of contradiction; None where an earlier
        disagreement of this kind among the same runs was made smaller already.
    """

    fault: Fault
    solvers: tuple[str, ...]
    text: str
    problem: Problem
    shrunk: Problem | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a cross-check found.

    Attributes
    ----------
    rows : tuple of Row
        One per run: problems in their order, then solvers, then formulations.
    disagreements : tuple of Disagreement
        Empty where all agree.
    """

    rows: tuple[Row, ...]
    disagreements: tuple[Disagreement, ...]

    @property
    def agree(self) -> bool:
        """Whether no answer contradicts another one, its own solution, or the problem."""
        return not self.disagreements


def crosscheck(
    problems: Iterable[Problem],
    solvers: Sequence[str | Backend] | None = None,
    *,
    time_limit_s: float = 60.0,
    workers: int = 1,
    threads: int = 1,
    seed: int = 0,
    fresh: bool = True,
    on_answer: Callable[[int, int], None] | None = None,
) -> Report:
    """Run every solver in every formulation on every problem that it can take, and compare the answers.

    Runs are made in processes that are spawned: a script that calls this needs the usual
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    problems : iterable of IslandsProblem or CompositionProblem
        What to solve.
    solvers : sequence of str or Backend, or None
        Names, or backends that can be pickled, for example one that is not registered yet; None takes all that are
        ready to be used.
    time_limit_s : float
        For each run; a solver that does not stop soon after is killed.
    workers : int
        Runs at a time.
    threads, seed : int
        What each solver is told.
    fresh : bool
        Whether every run gets a process of its own. Without, many small problems take far less time.
    on_answer : callable or None
        Called with the number of runs made, and of all runs.

    Returns
    -------
    Report
        Rows and disagreements; each kind of disagreement is made smaller once.

    Raises
    ------
    InputError
        A solver is unknown or cannot be used, or no solver can take one of the problems.
    """
    problems = list(problems)
    backends = _backends(solvers)
    groups = [
        [
            Run(problem, given, formulation, time_limit_s, threads, seed)
            for given, backend in backends
            for formulation in _formulations(backend, problem)
        ]
        for problem in problems
    ]
    for group, problem in zip(groups, problems, strict=True):
        if not group:
            raise InputError(f"{problem.name}: none of the solvers can take it")
    runs = [run for group in groups for run in group]
    heard = None if on_answer is None else lambda done: on_answer(done, len(runs))
    answered = iter(answers(runs, workers=workers, fresh=fresh, on_answer=heard))
    rows: list[Row] = []
    disagreements: list[Disagreement] = []
    shrunk: set[tuple[Fault, tuple[str, ...]]] = set()
    worker = Worker()
    try:
        for group in groups:
            pairs = [(run, next(answered)) for run in group]
            rows += [_row(run, answer) for run, answer in pairs]
            problem = group[0].problem
            for finding in contradictions(problem, pairs):
                who = tuple(label(run) for run in finding.runs)
                new = (finding.fault, who) not in shrunk
                shrunk.add((finding.fault, who))
                text = f"{problem.name}: {finding.text}"
                smaller = smallest(finding, worker.answer) if new else None
                disagreements.append(Disagreement(finding.fault, who, text, problem, smaller))
    finally:
        worker.stop()
    return Report(tuple(rows), tuple(disagreements))


def smallest(finding: Finding, answer: Callable[[Run], Answer], seconds: float = SHRINK_S) -> Problem:
    """Make the problem of a contradiction smaller, as long as the same runs show the same kind of contradiction.

    Parameters
    ----------
    finding : Finding
        What was found.
    answer : callable
        Makes a run.
    seconds : float
        Time after which the best so far will do.

    Returns
    -------
    IslandsProblem or CompositionProblem
        The smallest found.
    """

    def remains(problem: Problem) -> bool:
        pairs = []
        for run in finding.runs:
            backend = registry.get(run.backend) if isinstance(run.backend, str) else run.backend
            if run.formulation not in _formulations(backend, problem):
                return False
            again = replace(run, problem=problem)
            pairs.append((again, answer(again)))
        return any(found.fault is finding.fault for found in contradictions(problem, pairs))

    return shrink(finding.runs[0].problem, remains, seconds)


def _backends(solvers: Sequence[str | Backend] | None) -> list[tuple[str | Backend, Backend]]:
    """Take what runs are made with, and the backend that answers questions about it."""
    if solvers is None:
        ready = [each for each in registry.available() if isinstance(each, Backend) and each.missing() is None]
        return [(backend.name, backend) for backend in ready]
    return [(each, registry.get(each) if isinstance(each, str) else each) for each in solvers]


def _formulations(backend: Backend, problem: Problem) -> tuple[str, ...]:
    """Formulations in which a backend can take a problem; none where it cannot."""
    if backend.unsupported(problem) is not None:
        return ()
    return tuple(backend.formulations(problem))


def _row(run: Run, answer: Answer) -> Row:
    result = answer.result
    if result is None:
        outcome, stop_reason = ("unknown", "killed") if answer.killed else ("error", "error")
    else:
        outcome, stop_reason = result.outcome.value, result.stop_reason.value
    return Row(
        instance=run.problem.name,
        solver=run.solver,
        formulation=run.formulation,
        outcome=outcome,
        stop_reason=stop_reason,
        objective=None if result is None else result.objective,
        bound=None if result is None else result.bound,
        levels=() if result is None else result.levels,
        wall_s=answer.wall_s,
        peak_memory_bytes=answer.peak_memory_bytes,
        error=answer.failure,
    )
