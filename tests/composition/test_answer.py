from pathlib import Path

import pytest

from tangram_opt.composition.answer import answer, placed
from tangram_opt.documents import load_composition_problem
from tangram_opt.result import Outcome, StopReason

PROBLEM = load_composition_problem(Path(__file__).parents[2] / "instances" / "composition" / "tiny-forgotten-sum.json")
BEST = placed(PROBLEM, (0, 2))


def claim(composition=BEST, *, bound=52, claimed=52, stop_reason=StopReason.PROVED):
    return answer(
        PROBLEM,
        composition,
        bound=bound,
        claimed=claimed,
        stop_reason=stop_reason,
        wall_s=0.0,
        solver="claimant",
        solver_version="1",
        formulation="none",
    )


def test_options_are_placed_one_behind_the_other():
    assert [(pick.option, pick.first_atom) for pick in BEST.picks] == [(0, 0), (2, 2)]


def test_optimal_means_that_the_bound_is_the_objective():
    assert claim().outcome is Outcome.OPTIMAL
    assert claim(bound=51, stop_reason=StopReason.TIME_LIMIT).outcome is Outcome.FEASIBLE
    assert claim(bound=None, stop_reason=StopReason.HEURISTIC).outcome is Outcome.FEASIBLE


@pytest.mark.parametrize(("stop_reason", "outcome"), [("PROVED", "INFEASIBLE"), ("TIME_LIMIT", "UNKNOWN")])
def test_without_a_composition_only_a_proof_means_infeasible(stop_reason, outcome):
    result = claim(None, bound=None, claimed=None, stop_reason=StopReason[stop_reason])
    assert result.outcome is Outcome[outcome]


@pytest.mark.parametrize(
    "lie",
    [
        {"claimed": 51, "bound": 51},
        {"claimed": None},
        {"bound": 53},
        {"composition": placed(PROBLEM, (0,))},
    ],
)
def test_a_solver_that_claims_what_is_not_so_is_found_out(lie):
    with pytest.raises(RuntimeError, match="claimant"):
        claim(**lie)
