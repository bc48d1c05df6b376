"""The solvers ``pyomo:<name>``: any MILP solver that Pyomo finds, on models written for reading.

Pyomo's solvers compute in floating point with tolerances of their own. Costs are given to them in a unit of 2^k in
which the largest is about 10^6; what a bound proves is rounded up only after a tolerance was taken off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil, isfinite
from typing import Any, Final

from formulations import (
    composition_arc_flow_pyomo,
    composition_deadline_pyomo,
    islands_representatives_pyomo,
    islands_set_partition_pyomo,
)
from formulations.composition_data import CompositionData
from formulations.composition_solvers import CompositionSolver
from formulations.composition_sweep import CompositionSearch
from formulations.islands_levels import LevelFound, Target
from formulations.islands_search import IslandsSearch
from formulations.islands_solvers import IslandsSolver
from formulations.library import Library, LibraryBackend
from formulations.linear_highs import LARGEST_COST_BITS, ROUNDING, TOLERANCE, set_parameters, silent_highs
from formulations.search import Search
from tangram_opt.data.composition import Composition
from tangram_opt.islands.parts import Groups, Part

_HIGHS: Final = {
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "primal_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
}
PROVING: Final[dict[str, dict[str, Any]]] = {
    "highs": _HIGHS,
    "appsi_highs": _HIGHS,
    "cbc": {"ratioGap": 0, "allowableGap": 0},
    "scip": {"limits/gap": 0, "limits/absgap": 0},
    "gurobi": {"MIPGap": 0, "MIPGapAbs": 0},
    "cplex": {"mip_tolerances_mipgap": 0, "mip_tolerances_absmipgap": 0},
    "glpk": {"mipgap": 0},
}
"""Options that make a solver go on until nothing is left to search."""

THREADS: Final = {
    "highs": "threads",
    "appsi_highs": "threads",
    "cbc": "threads",
    "gurobi": "Threads",
    "cplex": "threads",
}
SEED: Final = {
    "highs": "random_seed",
    "appsi_highs": "random_seed",
    "cbc": "randomCbcSeed",
    "scip": "randomization/randomseedshift",
    "gurobi": "Seed",
    "cplex": "randomseed",
}

_ISLANDS: Final = {"set-partition": islands_set_partition_pyomo, "representatives": islands_representatives_pyomo}
_COMPOSITION: Final = {"deadline": composition_deadline_pyomo, "arc-flow": composition_arc_flow_pyomo}


class PyomoLibrary(Library):
    """A MILP solver behind Pyomo.

    Parameters
    ----------
    solver : str
        Name of a solver that Pyomo knows.
    """

    library = "pyomo"

    def __init__(self, solver: str) -> None:
        self.solver = solver
        self.name = f"pyomo:{solver}"

    def missing(self) -> str | None:
        """Name Pyomo, or the solver that it does not find."""
        if find_spec(self.library) is None:
            return self.library
        import pyomo.environ as pyo

        found = pyo.SolverFactory(self.solver)
        return None if found.available(exception_flag=False) else self.solver

    def solve_pyomo(self, model: Any, search: Search[Any, Any], unit: int) -> tuple[bool, int | None, bool]:
        """Solve a model.

        Parameters
        ----------
        model : ConcreteModel
            The model; a solution is loaded into it.
        search : Search
            Limits, and who wants to see the model before it is solved.
        unit : int
            Unit of its objective.

        Returns
        -------
        bool, int or None, bool
            Whether there is a solution, the proven lower bound, and whether there is proven to be no solution.
        """
        import pyomo.environ as pyo

        if search.options.on_model is not None:
            search.options.on_model(model)
        solver = pyo.SolverFactory(self.solver)
        answers: list[Any] = []

        def run() -> None:
            options = self._options(search)
            answers.append(solver.solve(model, options=options, timelimit=search.left_s, load_solutions=False))

        # Building a large model takes its time, too.
        if search.stopped():
            return False, None, False
        with _own_output():
            finished = search.run(run, lambda: None)
        if not finished or not answers:
            return False, None, False
        results = answers[0]
        if results.solver.termination_condition == pyo.TerminationCondition.infeasible:
            return False, None, True
        proven = None
        bound = results.problem.lower_bound
        if bound is not None and isfinite(bound):
            proven = ceil((bound - TOLERANCE - ROUNDING * abs(bound)) * unit)
        if len(results.solution):
            # A solution found before the time was up is loaded all the same; Pyomo would warn of it.
            results.solver.status = pyo.SolverStatus.ok
            model.solutions.load_from(results)
        return bool(len(results.solution)), proven, False

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse what HiGHS does not know, as Pyomo ignores it. Solvers that are programs refuse it themselves."""
        if self.solver in ("highs", "appsi_highs"):
            set_parameters(silent_highs(), parameters)

    def _options(self, search: Search[Any, Any]) -> dict[str, Any]:
        self.check_parameters(search.options.parameters)
        options = dict(PROVING.get(self.solver, {}))
        for names, value in ((THREADS, search.options.threads), (SEED, search.options.seed)):
            if self.solver in names:
                options[names[self.solver]] = value
        return options | dict(search.options.parameters)


class PyomoComposition(PyomoLibrary, CompositionSolver):
    """Composition problems as Pyomo models."""

    formulation_names = tuple(_COMPOSITION)

    def _search(self, name: str, data: CompositionData, search: CompositionSearch, hint: Composition | None) -> bool:  # noqa: ARG002
        """Solve a model; a hint counts as the best composition so far and is not passed on."""
        unit = _unit_ns(data)
        model = _COMPOSITION[name].build(data, unit)
        found, bound, infeasible = self.solve_pyomo(model, search, unit)
        search.prove(bound)
        if found:
            search.offer(_COMPOSITION[name].decode(data, model))
        return infeasible


class PyomoIslands(PyomoLibrary, IslandsSolver):
    """Islands problems as Pyomo models."""

    formulation_names = tuple(_ISLANDS)

    def solve_level(
        self,
        search: IslandsSearch,
        name: str,
        part: Part,
        target: Target,
        start: Groups | None,  # noqa: ARG002 (the best islands so far, which are not passed on)
        on_groups: Callable[[Groups], object],  # noqa: ARG002 (nothing is heard before the end)
        on_bound: Callable[[int], object],  # noqa: ARG002
    ) -> LevelFound:
        """Solve a formulation of a part for one level of the objective."""
        largest = max(part.lost_with(0, block) for block in range(part.size))
        unit = 1 if target.most_islands is None else 1 << max(largest.bit_length() - LARGEST_COST_BITS, 0)
        formulation = _ISLANDS[name]
        model = formulation.build(part, target, unit, search.tick)
        found, bound, infeasible = self.solve_pyomo(model, search, unit)
        return LevelFound(formulation.decode(part, model) if found else None, bound, infeasible)


class PyomoSolver(PyomoLibrary, LibraryBackend):
    """Problems as Pyomo models.

    Parameters
    ----------
    solver : str
        Name of a solver that Pyomo knows.
    """

    def __init__(self, solver: str = "highs") -> None:
        super().__init__(solver)
        self.summary = f"Pyomo with {solver} (MILP) on models of islands and of compositions, proves its answers"
        self.composition = PyomoComposition(solver)
        self.islands = PyomoIslands(solver)


@contextmanager
def _own_output() -> Iterator[None]:
    """Take standard output and error back: Pyomo captures them while a solver runs, also one that is left behind."""
    streams, descriptors = (sys.stdout, sys.stderr), (os.dup(1), os.dup(2))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        for number, kept in zip((1, 2), descriptors, strict=True):
            os.dup2(kept, number)
            os.close(kept)


def _unit_ns(data: CompositionData) -> int:
    """Unit of times: the power of two that makes the largest cost about a million."""
    weight = max(data.micro_batches - 1, 1)
    largest = max(max(weight * p.bottleneck_ns, p.sum_ns, p.sync_ns) for p in data.placements)
    return 1 << max(largest.bit_length() - LARGEST_COST_BITS, 0)
