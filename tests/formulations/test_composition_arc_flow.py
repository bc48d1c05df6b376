"""The arc flow against the dynamic program: two provers that share no code but the data."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from formulations import composition_arc_flow
from formulations.cpsat import CpSat
from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.composition import check
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.documents import load_composition_problem
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, StopReason

sys.path.insert(0, str(Path(__file__).parents[1] / "composition"))
from composition_strategies import problems

PROBLEM = load_composition_problem(Path(__file__).parents[2] / "instances" / "composition" / "tiny-order.json")


def solve(problem, **options):
    return CpSat().solve(problem, SolveOptions(formulation="arc-flow", **options))


def test_it_is_a_backend():
    assert isinstance(CpSat(), Backend)
    assert CpSat().missing() is None


@settings(max_examples=40)
@given(problems())
def test_two_independent_provers_agree(problem):
    ours, theirs = DynamicProgram().solve(problem, SolveOptions()), solve(problem)
    assert (ours.outcome, ours.objective, ours.bound) == (theirs.outcome, theirs.objective, theirs.bound)
    if theirs.solution is not None:
        assert check(problem, theirs.solution) == ()


@settings(max_examples=20)
@given(problems())
def test_a_hint_gives_every_variable_its_value_in_the_composition(problem):
    best = DynamicProgram().solve(problem, SolveOptions())
    if best.solution is None:
        return
    result = solve(problem, hint=best.solution, parameters={"fix_variables_to_their_hinted_value": True})
    assert result.objective == best.objective


def test_a_side_constraint_can_be_added_to_the_model():
    def forbid_small_island(flow: composition_arc_flow.ArcFlow) -> None:
        flow.model.add(sum(v for (option, _), v in flow.use.items() if option == 2) == 0)

    assert solve(PROBLEM).objective == 102
    assert solve(PROBLEM, on_model=forbid_small_island).objective == 160


def test_constraints_carry_the_names_of_the_docstring():
    names = {
        c.name.split("_")[0]
        for c in composition_arc_flow.build(replace(PROBLEM, required=("big",))).model.proto.constraints
    }
    assert names == {"first", "last", "exit", "entry", "islands", "required", "slowest", "sync", "stages", "depth"}


def test_no_time_is_no_proof():
    result = solve(PROBLEM, time_limit_s=0)
    assert result.outcome is Outcome.UNKNOWN
    assert result.stop_reason is StopReason.TIME_LIMIT


def test_progress_is_reported_and_its_errors_are_not_lost():
    seen = []
    solve(PROBLEM, on_progress=seen.append)
    assert seen[-1].objective == 102

    def fail(_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(PROBLEM, on_progress=fail)


def test_an_unknown_parameter_is_refused():
    with pytest.raises(InputError, match="no_such"):
        solve(PROBLEM, parameters={"no_such": 1})
