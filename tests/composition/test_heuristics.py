from pathlib import Path

import pytest
from composition_oracle import brute_force
from composition_strategies import problems
from generated_problems import generated_problem
from hypothesis import given, settings

from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.composition.note_dp import NoteDynamicProgram
from tangram_opt.composition.paper_dp import PaperDynamicProgram
from tangram_opt.documents import load_composition_problem
from tangram_opt.result import Outcome, StopReason

INSTANCES = Path(__file__).parents[2] / "instances" / "composition"
HEURISTICS = [PaperDynamicProgram(), NoteDynamicProgram()]


def objective(solver, name):
    return solver.solve(load_composition_problem(INSTANCES / f"{name}.json"), SolveOptions()).objective


@pytest.mark.parametrize("solver", HEURISTICS, ids=lambda solver: solver.name)
def test_they_are_backends_that_prove_nothing(solver):
    assert isinstance(solver, Backend)
    assert not solver.exact


@pytest.mark.parametrize("solver", HEURISTICS, ids=lambda solver: solver.name)
def test_they_are_never_better_than_the_optimum(solver):
    @settings(max_examples=60)
    @given(problems())
    def holds(problem):
        result = solver.solve(problem, SolveOptions())
        expected = brute_force(problem)
        assert result.bound is None
        assert result.stop_reason is StopReason.HEURISTIC
        if result.outcome is Outcome.FEASIBLE:
            assert result.objective >= expected
        else:
            assert result.outcome is Outcome.UNKNOWN

    holds()


def test_islands_in_a_fixed_order_cannot_put_the_one_with_more_memory_in_front():
    # The small island fits only as the last one, but comes first in the list: the big one must do it all.
    assert objective(DynamicProgram(), "tiny-order") == 3 * 20 + 40 + 2 * 1
    assert objective(NoteDynamicProgram(), "tiny-order") == 3 * 40 + 40
    assert objective(PaperDynamicProgram(), "tiny-order") == 102


@pytest.mark.parametrize("solver", HEURISTICS, ids=lambda solver: solver.name)
def test_one_value_per_state_forgets_the_suffix_with_the_smaller_sum(solver):
    # Behind a stage of 10 ns a faster slowest stage is worth nothing: one stage of 10 beats two of 6 and a transfer.
    assert objective(DynamicProgram(), "tiny-forgotten-sum") == 3 * 10 + 20 + 2 * 1
    assert objective(solver, "tiny-forgotten-sum") == 3 * 10 + 22 + 2 * (1 + 1)


@pytest.mark.parametrize("solver", HEURISTICS, ids=lambda solver: solver.name)
def test_finding_nothing_is_not_a_proof(solver):
    result = solver.solve(load_composition_problem(INSTANCES / "tiny-out-of-memory.json"), SolveOptions())
    assert result.outcome is Outcome.UNKNOWN
    assert "does not prove" in result.log[0]


@pytest.mark.parametrize("solver", HEURISTICS, ids=lambda solver: solver.name)
def test_they_stop_when_time_is_up(solver):
    result = solver.solve(generated_problem(40, 4, 1, 5), SolveOptions(time_limit_s=0))
    assert result.stop_reason is StopReason.TIME_LIMIT
