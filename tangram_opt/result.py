"""What a solver answers: what it has, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

SolutionT = TypeVar("SolutionT")


class Outcome(StrEnum):
    """What the solver has."""

    OPTIMAL = "optimal"
    """A solution, and a bound equal to its objective, at every level of it."""
    FEASIBLE = "feasible"
    """A solution, and at some level no such bound."""
    INFEASIBLE = "infeasible"
    """A proof that there is no solution."""
    UNKNOWN = "unknown"
    """Neither a solution nor a proof that there is none."""


class StopReason(StrEnum):
    """Why the solver stopped."""

    PROVED = "proved"
    """Nothing is left to search."""
    HEURISTIC = "heuristic"
    """The method ran to its end, and it is one that proves nothing."""
    PRECISION = "precision"
    """What is left lies within the tolerances of the solver's floating point."""
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Level:
    """A further objective, which decides among solutions that are equally good in everything before it.

    Attributes
    ----------
    name : str
        What it is, with its unit.
    value : int
        Of the solution.
    bound : int or None
        No solution that is as good in everything before it is better; None where nothing is proven, for example
        because the levels before it are not.
    larger_is_better : bool
        Its direction.
    """

    name: str
    value: int
    bound: int | None
    larger_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Result(Generic[SolutionT]):
    """The answer of a solver, re-evaluated by solver-free code.

    Attributes
    ----------
    outcome : Outcome
        What it has. Optimal means ``bound == objective``, as integers, and so at every level.
    stop_reason : StopReason
        Why it stopped.
    objective : int or None
        Of the solution: nanoseconds for compositions, a count for islands; None without a solution.
    bound : int or None
        No solution is better than this; None where nothing is proven.
    wall_s : float
        Elapsed time.
    solution : Partition, Composition or None
        The best solution found.
    solver, solver_version, formulation : str
        Who found it, and in which formulation.
    log : tuple of str
        What the solver has to say, for example why there is no solution.
    levels : tuple of Level
        Further objectives of the solution, in order of importance: of islands the compute lost and the slowest link.
    """

    outcome: Outcome
    stop_reason: StopReason
    objective: int | None
    bound: int | None
    wall_s: float
    solution: SolutionT | None
    solver: str
    solver_version: str
    formulation: str
    log: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        proven = (
            self.objective is not None
            and self.bound == self.objective
            and all(level.value == level.bound for level in self.levels)
        )
        if (self.outcome is Outcome.OPTIMAL) != proven:
            levels = "".join(f", {level.name} {level.value}, bound {level.bound}" for level in self.levels)
            raise ValueError(f"outcome {self.outcome}: objective {self.objective}, bound {self.bound}{levels}")
        if (self.objective is None) != (self.solution is None):
            raise ValueError("a solution and its objective come together")

    @property
    def gap(self) -> float | None:
        """(objective - bound) / objective: the share of the objective that may still be saved."""
        if self.objective is None or self.bound is None:
            return None
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: int, bound: int) -> float:
    """(objective - bound) / objective, the one definition of a gap; 0 for an objective of 0."""
    return (objective - bound) / objective if objective else 0.0
