"""What a solver backend is: the door through which every solver comes, ours and third parties' alike.

A backend is registered under the entry-point group ``tangram_opt.solvers``; the entry point names an object (or a
class without arguments) that follows :class:`Backend`. Libraries that it needs are imported when they are needed:
a missing one is reported by :meth:`Backend.missing`, not by an ImportError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.schedule import ScheduleProblem
from tangram_opt.errors import InputError
from tangram_opt.result import Result

Problem = CompositionProblem | IslandsProblem | ScheduleProblem


@dataclass(frozen=True, slots=True)
class Progress:
    """A sign of life from a running solver.

    Attributes
    ----------
    objective, bound : int or None
        Best solution and best proven bound so far.
    elapsed_s : float
        Since the start.
    """

    objective: int | None
    bound: int | None
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How long and how hard to search.

    Attributes
    ----------
    time_limit_s : float or None
        Stop with the best solution so far after this time; None for no limit.
    threads : int
        Worker threads, where the solver has any.
    seed : int
        Random seed, where the solver uses one.
    hint : object or None
        A solution to start from.
    on_progress : callable or None
        Called with :class:`Progress` from time to time.
    formulation : str
        One of those that :meth:`Backend.formulations` names; ``auto`` takes the first, or a better one where a
        problem falls into parts.
    parameters : mapping of str to value
        Parameters of the underlying library, by its own names.
    on_model : callable or None
        Called with every model of the underlying library just before it is solved, for example to add constraints.
    """

    time_limit_s: float | None = None
    threads: int = 1
    seed: int = 0
    hint: Any = None
    on_progress: Callable[[Progress], None] | None = None
    formulation: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_model: Callable[[Any], None] | None = None


@runtime_checkable
class Backend(Protocol):
    """A solver of islands problems, composition problems, schedule problems, or several of them."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    @property
    def summary(self) -> str:
        """One line: what it does, and whether it proves its answers."""
        ...

    @property
    def exact(self) -> bool:
        """Whether it proves optimality when it runs to its end."""
        ...

    def version(self) -> str:
        """Version of the library behind it."""
        ...

    def missing(self) -> str | None:
        """Name the package that must be installed first; None where nothing is missing."""
        ...

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take `problem`; None where it can."""
        ...

    def formulations(self, problem: Problem) -> tuple[str, ...]:
        """Name the formulations in which it can take `problem`, which it supports; the preferred one first."""
        ...

    def solve(self, problem: Any, options: SolveOptions) -> Result[Any]:
        """Solve `problem`, which it supports; every solution is re-evaluated without the solver.

        What would change the answer and what it does not have, it refuses with an
        :class:`~tangram_opt.errors.InputError`: an unknown formulation, an unknown parameter, constraints of the
        user's own (`on_model`) where there is no model. The other options it follows as far as it can.
        """
        ...


@runtime_checkable
class Exporter(Protocol):
    """A backend that can also write its models as files."""

    @property
    def export_formats(self) -> tuple[str, ...]:
        """Formats that it writes, for example ``mps``."""
        ...

    def export(self, problem: Any, formulation: str, file_format: str, path: Path) -> None:
        """Write the model of `problem`, which it supports, in a formulation; ``auto`` takes the first that it can."""
        ...


def refuse_what_needs_a_library(solver: str, formulation: str, options: SolveOptions) -> None:
    """Refuse options that a backend with one formulation and no library behind it would have to ignore.

    Parameters
    ----------
    solver, formulation : str
        Names of the backend and of its formulation.
    options : SolveOptions
        As the user gave them.

    Raises
    ------
    InputError
        Another formulation, a parameter, or a look at the model is asked for.
    """
    if options.formulation not in ("auto", formulation):
        raise InputError(f"formulation: {options.formulation!r}, solver {solver!r} expects auto or {formulation!r}")
    for name, value in options.parameters.items():
        raise InputError(f"parameter {name} = {value!r}: solver {solver!r} has no parameters")
    if options.on_model is not None:
        raise InputError(f"on_model: solver {solver!r} has no model to which constraints could be added")
