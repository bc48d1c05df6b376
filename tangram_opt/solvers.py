"""The registry of solver backends, and the one function that runs them.

Backends are found through the entry points of the group ``tangram_opt.solvers``; those that come with the package
are registered the same way. A third party's entry point that cannot be loaded is listed with what is wrong with it
and disturbs nobody else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from tangram_opt.backend import Backend, Problem, Progress, SolveOptions
from tangram_opt.composition.objective import OBJECTIVES
from tangram_opt.data.composition import CompositionProblem, Objective
from tangram_opt.data.schedule import ScheduleProblem
from tangram_opt.errors import InputError
from tangram_opt.result import Result
from tangram_opt.spelling import did_you_mean

GROUP: Final = "tangram_opt.solvers"
OUR_DISTRIBUTION: Final = "tangram-opt"


@dataclass(frozen=True, slots=True)
class BrokenBackend:
    """A registered backend that cannot be used.

    Attributes
    ----------
    name : str
        Name of its entry point.
    distribution : str
        The installed distribution that registers it.
    error : str
        What is wrong with it.
    """

    name: str
    distribution: str
    error: str


def available() -> tuple[Backend | BrokenBackend, ...]:
    """Load every registered backend.

    Returns
    -------
    tuple of Backend or BrokenBackend
        In the order of their names. Backends that wait for a package to be installed are among them:
        :meth:`Backend.missing` tells.
    """
    listed: list[Backend | BrokenBackend] = []
    taken: dict[str, str] = {}
    for entry in _entries():
        if entry.name in taken:
            error = f"the name is taken by {taken[entry.name]}"
            listed.append(BrokenBackend(entry.name, _distribution(entry), error))
        else:
            taken[entry.name] = _distribution(entry)
            listed.append(_load(entry, entry.name))
    return tuple(listed)


def get(name: str) -> Backend:
    """Load the backend of a name, and no other.

    Parameters
    ----------
    name : str
        As :func:`available` lists it. Of a family such as ``pyomo:highs`` any other member can be named, too
        (``pyomo:cbc``): the class of the listed one is made with the name behind the colon.

    Returns
    -------
    Backend
        Ready to solve.

    Raises
    ------
    InputError
        When there is none of that name, when it cannot be loaded, or when a package that it needs is missing.
    """
    entries = _entries()
    entry = next((entry for entry in entries if entry.name == name), None)
    if entry is None:
        family, colon, member = name.partition(":")
        entry = next((entry for entry in entries if colon and member and entry.name.startswith(family + colon)), None)
    if entry is None:
        raise InputError(_unknown("solver", name, sorted({entry.name for entry in entries})))
    backend = _load(entry, name)
    if isinstance(backend, BrokenBackend):
        raise InputError(f"solver {name!r} of {backend.distribution} cannot be used: {backend.error}")
    missing = backend.missing()
    if missing is not None:
        raise InputError(f"solver {name!r} needs a package that is not installed: {missing}")
    return backend


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    objective: Objective | None = None,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    hint: Any = None,
    on_progress: Callable[[Progress], None] | None = None,
    formulation: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    on_model: Callable[[Any], None] | None = None,
) -> Result[Any]:
    """Solve an islands problem, a composition problem or a schedule problem.

    Parameters
    ----------
    problem : IslandsProblem or CompositionProblem or ScheduleProblem
        What to solve.
    solver : str
        Name of a backend; ``auto`` takes the one that suits the kind of problem.
    objective : {"closed", "period", "simulated"} or None
        Of a composition problem: which iteration time is minimised; None takes the one it states.
    time_limit : float or None
        Seconds after which the best solution so far is returned; None for no limit.
    threads, seed : int
        Worker threads and random seed, for backends that use them.
    hint : Partition or Composition or SplitSchedule or None
        A solution to start from, for backends that can.
    on_progress : callable or None
        Called with :class:`Progress` from time to time.
    formulation : str
        Name of one of the backend's formulations; ``auto`` takes the one that it prefers.
    parameters : mapping of str to value, optional
        Parameters of the library behind the backend, by its own names.
    on_model : callable or None
        Called with every model of that library just before it is solved, for example to add constraints.

    Returns
    -------
    Result
        Of a Partition, of a Composition or of a SplitSchedule.

    Raises
    ------
    InputError
        When an argument is wrong, or the solver cannot take the problem.
    """
    if objective is not None:
        problem = _with_objective(problem, objective)
    if time_limit is not None and not (time_limit > 0 and math.isfinite(time_limit)):
        raise InputError(f"time limit {time_limit}: expected a number of seconds above 0")
    if threads < 1:
        raise InputError(f"threads {threads}: expected at least 1")
    if seed < 0:
        raise InputError(f"seed {seed}: expected at least 0")
    backend = get(_suited(problem) if solver == "auto" else solver)
    reason = backend.unsupported(problem)
    if reason is not None:
        raise InputError(f"solver {backend.name!r} cannot take {problem.name!r}: {reason}")
    options = SolveOptions(
        time_limit_s=time_limit,
        threads=threads,
        seed=seed,
        hint=hint,
        on_progress=on_progress,
        formulation=formulation,
        parameters=parameters or {},
        on_model=on_model,
    )
    return backend.solve(problem, options)


def _with_objective(problem: Problem, objective: Objective) -> Problem:
    if objective not in OBJECTIVES:
        raise InputError(_unknown("objective", objective, OBJECTIVES))
    if not isinstance(problem, CompositionProblem):
        raise InputError(f"objective: {objective!r} is of composition problems, {problem.name!r} is not one")
    return replace(problem, objective=objective)


def _suited(problem: Problem) -> str:
    if isinstance(problem, ScheduleProblem):
        return "cpsat-schedule"
    return "dp" if isinstance(problem, CompositionProblem) else "cpsat"


def _entries() -> list[EntryPoint]:
    # Ours first: another distribution must not take over the name of a built-in backend.
    return sorted(
        entry_points(group=GROUP),
        key=lambda entry: (entry.name, _distribution(entry) != OUR_DISTRIBUTION, _distribution(entry)),
    )


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown distribution"


def _load(entry: EntryPoint, name: str) -> Backend | BrokenBackend:
    # Whatever a third party's module raises while it is imported is its fault to report, not ours to crash on.
    try:
        loaded = entry.load()
        arguments = () if name == entry.name else (name.partition(":")[2],)
        backend = loaded(*arguments) if isinstance(loaded, type) else loaded
        if not isinstance(backend, Backend):
            return _broken(entry, f"{entry.value} is not a solver backend (see tangram_opt.backend.Backend)")
        if backend.name != name:
            return _broken(entry, f"{entry.value} calls itself {backend.name!r}, expected {name!r}")
    except Exception as error:
        return _broken(entry, f"{entry.value} does not load: {type(error).__name__}: {error}")
    return backend


def _broken(entry: EntryPoint, error: str) -> BrokenBackend:
    return BrokenBackend(entry.name, _distribution(entry), error)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    return f"unknown {what} {name!r}: expected one of {', '.join(known)}{did_you_mean(name, known)}"
