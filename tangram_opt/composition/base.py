"""What the dynamic programs have in common as backends."""

from __future__ import annotations

from importlib.metadata import version

from tangram_opt.backend import Problem
from tangram_opt.data.composition import CompositionProblem, Objective


class CompositionBackend:
    """A backend of this package for composition problems, with one formulation."""

    name: str
    formulation: str
    objectives: tuple[Objective, ...] = ("closed",)

    def version(self) -> str:
        """Version of this package."""
        return version("tangram-opt")

    def missing(self) -> str | None:
        """Nothing is missing: they need numpy only, which is always there."""
        return None

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        if not isinstance(problem, CompositionProblem):
            return "it solves composition problems only"
        if problem.objective not in self.objectives:
            return f"it does not minimise the {problem.objective} form"
        return None

    def formulations(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002 (the same for all)
        """Name the one formulation."""
        return (self.formulation,)
