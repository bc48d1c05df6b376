"""Every formulation of islands with every solver finds the best partition, level by level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from islands_oracle import best_value, indices, obeys, value
from islands_strategies import problems

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from formulations.pyomo import PyomoSolver
from tangram_opt.backend import SolveOptions
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.errors import InputError
from tangram_opt.islands import agglomerate, evaluate
from tangram_opt.result import Outcome, StopReason

SOLVERS = (CpSat(), HighsSolver(), PyomoSolver("highs"))
PAIRS = [(solver, formulation) for solver in SOLVERS for formulation in solver.islands.formulation_names]
each_pair = pytest.mark.parametrize(
    ("solver", "formulation"), PAIRS, ids=[f"{solver.name}-{formulation}" for solver, formulation in PAIRS]
)
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def node(name, compute=100, memory=100, bandwidth=100):
    return Node(name, Gpu("G", 1000, compute, memory, 1, 1), 2, ((0, bandwidth), (bandwidth, 0)))


def flat(*nodes, tolerances=Tolerances()):
    return IslandsProblem("flat", Cluster("c", nodes, TierNetwork((5,), ((),) * len(nodes))), tolerances)


# Boxes in three attributes, of which the greedy method needs one more than there must be.
BOXES = flat(
    *(node(f"n{i}", *figures) for i, figures in enumerate(
        [(100, 100, 144), (118, 100, 120), (122, 110, 120), (144, 120, 100), (120, 144, 144), (130, 121, 130)]
    ))
)


@each_pair
def test_a_formulation_proves_what_brute_force_finds(solver, formulation):
    @settings(max_examples=60, deadline=None)
    @given(problems(most=7).filter(lambda problem: formulation in solver.formulations(problem)))
    def holds(problem):
        best = best_value(problem)
        result = solver.solve(problem, SolveOptions(formulation=formulation))
        assert result.outcome is Outcome.OPTIMAL
        assert result.stop_reason is StopReason.PROVED
        assert (result.objective, result.bound) == (best[0], best[0])
        assert [(level.value, level.bound) for level in result.levels] == [(best[1],) * 2, (-best[2],) * 2]
        assert obeys(problem, result.solution)
        assert value(problem, indices(problem, result.solution)) == evaluate(problem, result.solution).costs == best
        assert (result.solver, result.formulation) == (solver.name, formulation)

    holds()
