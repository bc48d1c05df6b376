"""What the dynamic programs have in common as backends."""

from __future__ import annotations

from typing import Final

from tangram_opt.backend import Problem
from tangram_opt.data.composition import CompositionProblem, Objective
from tangram_opt.method import Method

NO_RECURRENCE: Final = "it does not minimise the simulated iteration time, which 'dp' does"
"""What others say of the objective ``simulated``."""


class CompositionBackend(Method):
    """A backend of this package for composition problems, with one formulation."""

    takes = CompositionProblem
    refusal = "it solves composition problems only"
    objectives: tuple[Objective, ...] = ("closed",)

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        if isinstance(problem, CompositionProblem) and problem.objective not in self.objectives:
            if problem.objective == "simulated":
                return NO_RECURRENCE
            return f"it does not minimise the {problem.objective} form"
        return super().unsupported(problem)
