"""The solvers ``pyomo:<name>``: any MILP solver that Pyomo finds, on models written for reading.

Pyomo's solvers compute in floating point with tolerances of their own. Times are given to them in a unit of 2^k ns in
which the largest cost is about 10^6; what a bound proves is rounded up only after a tolerance was taken off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil, isfinite
from typing import Any, Final

from formulations import composition_arc_flow_pyomo, composition_deadline_pyomo
from formulations.composition_data import CompositionData
from formulations.composition_solvers import CompositionSolver
from formulations.linear_highs import LARGEST_COST_BITS, ROUNDING, TOLERANCE, set_parameters, silent_highs
from formulations.search import Search
from tangram_opt.data.composition import Composition

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

_MODELS: Final = {"deadline": composition_deadline_pyomo, "arc-flow": composition_arc_flow_pyomo}


class PyomoSolver(CompositionSolver):
    """Composition problems as Pyomo models.

    Parameters
    ----------
    solver : str
        Name of a solver that Pyomo knows.
    """

    library = "pyomo"
    formulation_names = ("deadline", "arc-flow")

    def __init__(self, solver: str = "highs") -> None:
        self.solver = solver
        self.name = f"pyomo:{solver}"
        self.summary = f"Pyomo with {solver} (MILP) on deadline or arc-flow models, proves its answers"

    def missing(self) -> str | None:
        """Name Pyomo, or the solver that it does not find."""
        if find_spec(self.library) is None:
            return self.library
        import pyomo.environ as pyo

        found = pyo.SolverFactory(self.solver)
        return None if found.available(exception_flag=False) else self.solver

    def _search(self, name: str, data: CompositionData, search: Search, hint: Composition | None) -> bool:  # noqa: ARG002
        """Solve a model; a hint counts as the best composition so far and is not passed on."""
        import pyomo.environ as pyo

        unit = _unit_ns(data)
        model = _MODELS[name].build(data, unit)
        if search.options.on_model is not None:
            search.options.on_model(model)
        solver = pyo.SolverFactory(self.solver)
        answers: list[Any] = []

        def run() -> None:
            options = self._options(search)
            answers.append(solver.solve(model, options=options, timelimit=search.left_s, load_solutions=False))

        # Building a large model takes its time, too.
        if search.stopped():
            return False
        with _own_output():
            finished = search.run(run, lambda: None)
        if not finished:
            return False
        results = answers[0]
        if results.solver.termination_condition == pyo.TerminationCondition.infeasible:
            return True
        bound = results.problem.lower_bound
        if bound is not None and isfinite(bound):
            search.prove(ceil((bound - TOLERANCE - ROUNDING * abs(bound)) * unit))
        if len(results.solution):
            model.solutions.load_from(results)
            search.offer(_MODELS[name].decode(data, model))
        return False

    def _options(self, search: Search) -> dict[str, Any]:
        _check_parameters(self.solver, search.options.parameters)
        options = dict(PROVING.get(self.solver, {}))
        for names, value in ((THREADS, search.options.threads), (SEED, search.options.seed)):
            if self.solver in names:
                options[names[self.solver]] = value
        return options | dict(search.options.parameters)


def _check_parameters(solver: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what HiGHS does not know, as Pyomo ignores it. Solvers that are programs refuse it themselves."""
    if solver in ("highs", "appsi_highs"):
        set_parameters(silent_highs(), parameters)


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
