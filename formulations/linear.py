"""Linear models in integers: named variables and named sparse rows, the same for every solver.

Formulations are written once as such a model and handed to whatever solves it. All data are exact integers, and so is
the judgement of a solution: a solver's floating point never decides what is feasible or what it costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any

from tangram_opt.errors import InputError

Terms = Mapping[int, int]
"""Coefficients by index of the variable."""


class TooLargeError(InputError):
    """The numbers of a model are too large for a library."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An integer variable.

    Attributes
    ----------
    name : str
        Its name.
    lower, upper : int
        Its domain.
    cost : int
        Its weight in the objective, which is minimised.
    follows : bool
        Whether the other variables determine it.
    integral : bool
        Whether integrality must be asked for.
    """

    name: str
    lower: int
    upper: int
    cost: int
    follows: bool = False
    integral: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A constraint ``lower <= sum of terms <= upper``; None where a side is open."""

    name: str
    terms: Terms
    lower: int | None
    upper: int | None


@dataclass
class LinearModel:
    """Minimise constant + cost over integer variables, subject to rows.

    Attributes
    ----------
    variables, rows : list
        In the order in which they were added.
    constant : int
        Part of the objective.
    tight : bool
        Whether the linear relaxation is close to the integers, and solvers that can do without it should not.
    presolve : bool
        Whether CP-SAT may presolve it: its version 9.15 loses solutions of models whose maxima follow one another with
        coefficients of about 10^9 and more.
    """

    constant: int = 0
    tight: bool = False
    presolve: bool = True
    variables: list[Variable] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def add_variable(self, name: str, lower: int, upper: int, cost: int = 0) -> int:
        """Add an integer variable and return its index."""
        self.variables.append(Variable(name, lower, upper, cost))
        return len(self.variables) - 1

    def add_binary(self, name: str, cost: int = 0) -> int:
        """Add a variable that is 0 or 1 and return its index."""
        return self.add_variable(name, 0, 1, cost)

    def add_maximum(self, name: str, lower: int, upper: int, cost: int, *, integral: bool = False) -> int:
        """Add a variable that rows push above sums of others, or above their integer parts; return its index."""
        self.variables.append(Variable(name, lower, upper, cost, follows=True, integral=integral))
        return len(self.variables) - 1

    def add_row(self, name: str, terms: Terms, *, lower: int | None = None, upper: int | None = None) -> None:
        """Add a constraint; terms with a coefficient of 0 are left out."""
        self.rows.append(Row(name, {index: c for index, c in terms.items() if c}, lower, upper))

    @cached_property
    def step(self) -> int:
        """Objectives differ from `constant` by a multiple of it: the greatest common divisor of the costs."""
        return gcd(*(variable.cost for variable in self.variables)) or 1

    def objective(self, values: Sequence[int]) -> int:
        """Cost of a solution."""
        pairs = zip(self.variables, values, strict=True)
        return self.constant + sum(variable.cost * value for variable, value in pairs)

    def settled(self, values: Sequence[float]) -> list[int]:
        """Make integers of a solution in floating point: round it, and put every maximum as low as its rows allow."""
        exact = [round(value) for value in values[: len(self.variables)]]
        for index in self._following:
            exact[index] = self.variables[index].lower
        # One may push up another one, which takes as many passes as there are links in the longest chain of them.
        for _ in self._following:
            before = [exact[index] for index in self._following]
            for row in self._pushing:
                for index in self._following & row.terms.keys():
                    exact[index] = max(exact[index], _least_allowed(row, index, exact))
            if before == [exact[index] for index in self._following]:
                break
        return exact

    @cached_property
    def _following(self) -> frozenset[int]:
        return frozenset(i for i, variable in enumerate(self.variables) if variable.follows)

    @cached_property
    def _pushing(self) -> tuple[Row, ...]:
        """Rows that can push a variable that follows."""
        return tuple(row for row in self.rows if self._following & row.terms.keys())

    def largest_magnitude(self, cost_unit: int = 1) -> int:
        """Largest sum of absolute terms that a row, or the objective in some unit, can have."""
        sizes = [max(abs(v.lower), abs(v.upper)) for v in self.variables]
        sums = [sum(abs(c) * sizes[i] for i, c in row.terms.items()) for row in self.rows]
        costs = sum(abs(v.cost) * size for v, size in zip(self.variables, sizes, strict=True))
        return max(*sums, costs // cost_unit, 0)

    def violated(self, values: Sequence[int]) -> tuple[str, ...]:
        """Names of the variables and rows whose limits a solution breaks."""
        pairs = zip(self.variables, values, strict=True)
        wrong = [variable.name for variable, value in pairs if not variable.lower <= value <= variable.upper]
        for row in self.rows:
            total = sum(coefficient * values[index] for index, coefficient in row.terms.items())
            if (row.lower is not None and total < row.lower) or (row.upper is not None and total > row.upper):
                wrong.append(row.name)
        return tuple(wrong)


def _least_allowed(row: Row, index: int, values: Sequence[int]) -> int:
    """Least value of a variable that a row allows, given the others; its present one where it is not pushed up."""
    own = row.terms[index]
    rest = sum(c * values[i] for i, c in row.terms.items() if i != index)
    if own > 0 and row.lower is not None:
        return -((rest - row.lower) // own)
    if own < 0 and row.upper is not None:
        return -((row.upper - rest) // -own)
    return values[index]


@dataclass(frozen=True)
class OpenModel:
    """A model of the underlying library just before it is solved: users may add constraints to it.

    Attributes
    ----------
    model : CpModel or Highs
        The library's model.
    variables : mapping of str to variable
        Its variables by the names that the formulation gives them.
    formulation : object
        The formulation's own view, with its placements: Deadline, Circuit or ArcFlowMilp.
    """

    model: Any
    variables: Mapping[str, Any]
    formulation: Any
