"""Every formulation with every solver finds the optimum of every problem that it is exact for."""

import pytest
from composition_oracle import brute_force
from composition_strategies import problems
from hypothesis import given, settings

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from formulations.pyomo import PyomoSolver
from tangram_opt.backend import SolveOptions
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.result import Outcome, StopReason

FORMULATIONS = ("deadline", "sweep", "circuit", "arc-flow")
SOLVERS = (CpSat(), HighsSolver(), PyomoSolver("highs"))
PAIRS = [(solver, formulation) for solver in SOLVERS for formulation in solver.formulation_names]


def exact(solver, formulation):
    return lambda problem: formulation in solver.formulations(problem)


@pytest.mark.parametrize(("solver", "formulation"), PAIRS, ids=lambda each: getattr(each, "name", each))
def test_a_formulation_equals_brute_force_where_it_is_exact(solver, formulation):
    @settings(max_examples=100, deadline=None)
    @given(problems().filter(exact(solver, formulation)))
    def check(problem):
        optimum = brute_force(problem)
        result = solver.solve(problem, SolveOptions(formulation=formulation))
        assert (result.objective, result.bound) == (optimum, optimum)
        assert result.outcome is (Outcome.INFEASIBLE if optimum is None else Outcome.OPTIMAL)
        assert result.stop_reason is StopReason.PROVED
        assert result.formulation == formulation

    check()
