"""What every solver backend must do, as cases that a backend can be run against, a third party's as well as ours.

>>> import pytest
>>> from tangram_opt.crosscheck import conformance_cases
>>> @pytest.mark.parametrize("case", conformance_cases(MyBackend()), ids=str)  # doctest: +SKIP
... def test_my_backend(case):
...     case.run()
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from tangram_opt import solvers
from tangram_opt.backend import Backend, Problem, Progress, SolveOptions
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.families import FAMILIES, Size, generate, taking_time
from tangram_opt.crosscheck.islands_families import ISLANDS_FAMILIES, generate_islands, random_islands_problems
from tangram_opt.crosscheck.runs import Answer, Run, Worker
from tangram_opt.crosscheck.smallest import SMALLEST
from tangram_opt.data.composition import Composition, CompositionProblem, Pick
from tangram_opt.data.island import Partition
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, Result, StopReason

SMALL: Final = Size(6, 3, 2)
LARGE: Final = Size(40, 8, 8)
LARGE_NODES: Final = 80
LIMIT_S: Final = 1.0
"""Time limit of the case about time limits; a backend that goes on for long after it is killed."""


@dataclass(frozen=True)
class Case:
    """Something that a backend must do.

    Attributes
    ----------
    name : str
        What, in a few words.
    run : callable
        Raises an AssertionError whose text says what is wrong.
    """

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name


def conformance_cases(backend: Backend) -> list[Case]:
    """List what a backend must do.

    Parameters
    ----------
    backend : Backend
        An object that is ready to be used: what it needs is installed.

    Returns
    -------
    list of Case
        To be run one by one, in any order.
    """
    cases = [Case("states itself", partial(_states_itself, backend))]
    cases += [Case("says which problems it takes", partial(_says_what_it_takes, backend))]
    problems = [problem for problem in _problems() if backend.unsupported(problem) is None]
    cases += [Case(f"answers {problem.name}", partial(_answers, backend, problem)) for problem in problems]
    checks = (_refuses_unknown_options, _survives_hints, _reports_progress, _is_deterministic, _stops_in_time)
    for kind in dict.fromkeys(map(type, problems)):
        first = next(problem for problem in problems if type(problem) is kind)
        what = f" on {first.name}" if len(set(map(type, problems))) > 1 else ""
        cases += [
            Case(f"{check.__name__[1:].replace('_', ' ')}{what}", partial(check, backend, first)) for check in checks
        ]
    return cases


def _problems() -> Iterator[Problem]:
    """Small problems of all families; those of the third seed are harder on most solvers than those of the first."""
    for family in FAMILIES:
        for seed in (1, 3):
            yield generate(family, SMALL, seed)
        problem = taking_time(generate(family, SMALL, 1))
        yield replace(problem, name=f"{problem.name} by the period", objective="period")
        yield replace(problem, name=f"{problem.name} with chosen depths", objective="period", depths="chosen")
        # Few solvers minimise the simulated time.
        small = generate(family, SMALL, 2)
        yield replace(small, name=f"{small.name}-simulated", objective="simulated")
    yield from random_islands_problems(2 * len(ISLANDS_FAMILIES), 1)


def _states_itself(backend: Backend) -> None:
    assert isinstance(backend, Backend), "it lacks a part of tangram_opt.backend.Backend"
    for what in ("name", "summary"):
        text = getattr(backend, what)
        assert isinstance(text, str), f"{what}: {text!r}, expected text"
        assert text, f"{what}: empty, expected text"
    assert isinstance(backend.exact, bool), f"exact: {backend.exact!r}, expected True or False"
    assert backend.missing() is None, f"it is not ready: {backend.missing()} is missing"
    assert backend.version(), "version: empty, expected text"
    # Cross-check and bench run backends in other processes.
    assert pickle.loads(pickle.dumps(backend)).name == backend.name, "it is another one after pickling"


def _says_what_it_takes(backend: Backend) -> None:
    taken = []
    for problem in SMALLEST.values():
        reason = backend.unsupported(problem)
        assert reason is None or (isinstance(reason, str) and reason), f"unsupported: {reason!r}, expected a sentence"
        if reason is None:
            taken.append(problem)
            names = backend.formulations(problem)
            assert names, f"formulations of {problem.name!r}: none, but it takes the problem"
            assert len(set(names)) == len(names), f"formulations of {problem.name!r}: {names}, expected distinct names"
            assert "auto" not in names, "formulations: 'auto' stands for the first of them"
    assert taken, "it takes neither the smallest islands problem nor the smallest composition problem"


def _answers(backend: Backend, problem: Problem) -> None:
    exact = solvers.solve(problem)
    for formulation in backend.formulations(problem):
        result = _solve(backend, problem, formulation=formulation)
        what = f"{problem.name}, formulation {formulation!r}"
        assert isinstance(result, Result), f"{what}: it returns {type(result).__name__}, expected a Result"
        _agrees(backend, problem, result, exact)
        assert result.solver == backend.name, f"{what}: the result says it is by {result.solver!r}"
        assert result.formulation, f"{what}: the result does not say in which formulation"
        if backend.exact:
            assert result.outcome is exact.outcome, f"{what}: {result.outcome}, expected {exact.outcome}"
            assert result.stop_reason is StopReason.PROVED, f"{what}: stopped for {result.stop_reason}, expected proved"
        if result.outcome is Outcome.OPTIMAL:
            assert result.bound == result.objective, f"{what}: optimal, but {result.bound=} and {result.objective=}"
        if result.outcome is Outcome.INFEASIBLE:
            assert result.log, f"{what}: infeasible, and the log does not say why"


def _refuses_unknown_options(backend: Backend, problem: Problem) -> None:
    unknown: list[dict[str, Any]] = [{"formulation": "no-such"}, {"parameters": {"no_such_parameter": 1}}]
    for options in unknown:
        try:
            _solve(backend, problem, **options)
        except InputError:
            continue
        raise AssertionError(f"it takes {options} in silence, expected an InputError")


def _survives_hints(backend: Backend, problem: Problem) -> None:
    exact = solvers.solve(problem)
    wrong: Any = Partition(problem.name, ())
    if isinstance(problem, CompositionProblem):
        wrong = Composition(problem.name, (Pick(0, 10**6),))
    for hint in (exact.solution, wrong):
        _agrees(backend, problem, _solve(backend, problem, hint=hint), exact)


def _reports_progress(backend: Backend, problem: Problem) -> None:
    heard: list[Progress] = []
    result = _solve(backend, problem, on_progress=heard.append)
    objectives = [each.objective for each in heard if each.objective is not None]
    assert objectives == sorted(objectives, reverse=True), f"its best objective gets worse: {objectives}"
    for each in heard:
        if each.bound is not None and result.objective is not None:
            assert each.bound <= result.objective, f"it tells of the bound {each.bound}, above {result.objective}"


def _is_deterministic(backend: Backend, problem: Problem) -> None:
    once, again = (_solve(backend, problem, seed=7) for _ in range(2))
    assert (once.objective, once.bound) == (again.objective, again.bound), "two runs with one seed differ"


def _stops_in_time(backend: Backend, problem: Problem) -> None:
    large: Problem = generate_islands("boxes", LARGE_NODES, 1)
    if isinstance(problem, CompositionProblem):
        large = generate("links", LARGE, 1)
    worker = Worker()
    try:
        run = Run(large, backend, "auto", LIMIT_S)
        answer = worker.answer(run)
    finally:
        worker.stop()
    assert not answer.killed, f"it did not stop within {LIMIT_S} s and some grace"
    found = contradictions(large, [(run, answer)])
    assert not found, found[0].text


def _solve(backend: Backend, problem: Problem, **options: Any) -> Result[Any]:
    return backend.solve(problem, SolveOptions(**{"time_limit_s": 60.0, **options}))


def _agrees(backend: Backend, problem: Problem, result: Result[Any], exact: Result[Any]) -> None:
    """Hold an answer against a proven one, by code without a solver."""
    pairs = [
        (Run(problem, backend, result.formulation, 1.0), Answer(result, None, result.wall_s, None)),
        (Run(problem, exact.solver, exact.formulation, 1.0), Answer(exact, None, exact.wall_s, None)),
    ]
    found = contradictions(problem, pairs)
    assert not found, found[0].text
