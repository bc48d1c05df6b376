"""A solver library, and the backend that takes both kinds of problem to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

from formulations.linear import LinearModel, OpenModel
from formulations.search import Found, Search
from tangram_opt.backend import Problem, SolveOptions
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.result import Result


class Library:
    """A library that solves models.

    Attributes
    ----------
    name : str
        Of the backend.
    library : str
        The Python package, which is also the name of its distribution.
    """

    name: str
    library: str

    def version(self) -> str:
        """Version of the library."""
        return version(self.library)

    def missing(self) -> str | None:
        """Name the library where it is not installed."""
        return None if find_spec(self.library) else self.library

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that the library does not take, also where a problem needs no solve."""
        raise NotImplementedError


class Formulated(Protocol):
    """A formulation's view of its linear model."""

    @property
    def linear(self) -> LinearModel:
        """The model."""
        ...


class LinearLibrary(Library):
    """A library that takes linear models."""

    def solve_linear(
        self,
        model: Formulated,
        search: Search[Any, Any],
        start: Sequence[int] | None,
        on_values: Callable[[Sequence[int]], object],
        on_bound: Callable[[int], object],
    ) -> Found:
        """Solve a model, and show it to whoever asked for it before.

        Parameters
        ----------
        model : object
            A formulation with its linear model.
        search : Search
            Limits.
        start : sequence of int or None
            A solution to start from.
        on_values, on_bound : callable
            Told about better solutions and bounds while it runs.

        Returns
        -------
        Found
            The best solution and bound.
        """
        raise NotImplementedError


class KindSolver(Protocol):
    """Solves one kind of problem with a library."""

    def unsupported(self, problem: Any) -> str | None:
        """Say why it cannot take a problem."""
        ...

    def formulations(self, problem: Any) -> tuple[str, ...]:
        """Name the formulations that are exact for a problem, the preferred one first."""
        ...

    def solve(self, problem: Any, options: SolveOptions) -> Result[Any]:
        """Solve a problem."""
        ...


class LibraryBackend(Library):
    """A backend that hands each kind of problem to the solver for it.

    Attributes
    ----------
    summary : str
        One line for the list of solvers.
    composition, islands : KindSolver
        The solvers.
    """

    summary: str
    exact = True
    composition: KindSolver
    islands: KindSolver

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem: it is of another kind, or no formulation is exact for it."""
        if not isinstance(problem, IslandsProblem | CompositionProblem):
            return "it solves islands problems and composition problems only"
        return self._solver(problem).unsupported(problem)

    def formulations(self, problem: Problem) -> tuple[str, ...]:
        """Name the formulations that are exact for a problem, the preferred one first."""
        return self._solver(problem).formulations(problem)

    def solve(self, problem: Problem, options: SolveOptions) -> Result[Any]:
        """Solve a problem of either kind."""
        return self._solver(problem).solve(problem, options)

    def _solver(self, problem: Problem) -> KindSolver:
        return self.islands if isinstance(problem, IslandsProblem) else self.composition


def open_model(search: Search[Any, Any], model: Formulated, library_model: object, variables: Sequence[object]) -> None:
    """Show a model to whoever asked for it, before it is solved: the library's own, and its variables by name."""
    if search.options.on_model is not None:
        names = (variable.name for variable in model.linear.variables)
        search.options.on_model(OpenModel(library_model, dict(zip(names, variables, strict=True)), model))
