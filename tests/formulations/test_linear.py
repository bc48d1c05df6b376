"""Solving linear models, and what a floating-point bound proves."""

from pathlib import Path

import pytest

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from formulations.linear import LinearModel
from formulations.linear_cpsat import cpsat_model
from formulations.linear_highs import proven_bound, unit_ns
from formulations.pyomo import PyomoSolver
from tangram_opt.backend import SolveOptions
from tangram_opt.composition import evaluate
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.documents import load_composition_problem
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, StopReason

INSTANCES = Path(__file__).parents[2] / "instances" / "composition"
TINY = load_composition_problem(INSTANCES / "tiny-order.json")
UNIFORM = load_composition_problem(INSTANCES / "uniform-24x4-1.json")
BOTH = pytest.mark.parametrize("solver", [CpSat(), HighsSolver()], ids=lambda solver: solver.name)


def model_with_costs(*costs, constant=0):
    model = LinearModel(constant=constant)
    for index, cost in enumerate(costs):
        model.add_binary(f"x_{index}", cost)
    return model


def test_a_float_above_an_integer_proves_the_next_one_but_a_rounding_error_does_not():
    model = model_with_costs(1, 7)
    assert proven_bound(model, 3.2) == 4
    assert proven_bound(model, 3.0 + 1e-7) == 3
    assert proven_bound(model, float("-inf")) is None


def test_a_bound_is_rounded_up_to_what_objectives_can_be():
    assert proven_bound(model_with_costs(1000, 3000, constant=5), 1.5) == 2005


def test_large_costs_prove_no_more_than_their_unit_allows():
    model = model_with_costs(1, 1 << 50)
    assert unit_ns(model) > 1 << 28
    exact = (1 << 50) / unit_ns(model)
    assert proven_bound(model, exact) < 1 << 50


def test_maxima_are_put_as_low_as_their_rows_allow():
    model = model_with_costs(1, 1)
    top = model.add_maximum("top", 2, 100, 1)
    model.add_row("first", {0: 7, top: -1}, upper=0)
    model.add_row("second", {1: 9, top: -2}, upper=0)
    assert model.settled([0.999999, 1e-7, 55.4]) == [1, 0, 7]
    assert model.settled([0.0, 1.0, 0.0]) == [0, 1, 5]
    assert model.settled([0.0, 0.0, 0.0]) == [0, 0, 2]


def test_numbers_beyond_64_bits_are_refused():
    with pytest.raises(InputError, match="expected less than 2\\^62"):
        cpsat_model(model_with_costs(1, 1 << 62))
    # What all costs have in common does not count.
    cpsat_model(model_with_costs(1 << 62, 1 << 63))


@BOTH
@pytest.mark.parametrize("formulation", ["deadline", "sweep", "circuit", "arc-flow"])
def test_an_optimal_hint_is_accepted_and_returned(solver, formulation):
    best = DynamicProgram().solve(TINY, SolveOptions())
    result = solver.solve(TINY, SolveOptions(formulation=formulation, hint=best.solution))
    assert (result.objective, result.bound) == (best.objective, best.objective)


@pytest.mark.parametrize("formulation", ["deadline", "circuit"])
def test_a_hint_gives_every_variable_of_cpsat_its_value(formulation):
    best = DynamicProgram().solve(UNIFORM, SolveOptions())
    fixed = {"fix_variables_to_their_hinted_value": True}
    result = CpSat().solve(UNIFORM, SolveOptions(formulation=formulation, hint=best.solution, parameters=fixed))
    assert result.objective == best.objective


@BOTH
def test_a_wrong_parameter_is_refused(solver):
    with pytest.raises(InputError, match="nosuch"):
        solver.solve(TINY, SolveOptions(parameters={"nosuch": 1}))


@BOTH
@pytest.mark.parametrize("formulation", ["deadline", "sweep"])
def test_progress_ends_at_the_optimum(solver, formulation):
    heard = []
    result = solver.solve(UNIFORM, SolveOptions(formulation=formulation, on_progress=heard.append))
    objectives = [each.objective for each in heard if each.objective is not None]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == result.objective
    assert max(each.bound for each in heard if each.bound is not None) == result.bound


@BOTH
def test_what_a_listener_raises_is_raised_after_the_solve(solver):
    def refuse(progress):
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        solver.solve(UNIFORM, SolveOptions(on_progress=refuse))


@BOTH
def test_an_interrupt_returns_the_best_so_far_with_its_bound(solver):
    def interrupt(progress):
        if progress.objective is not None:
            raise KeyboardInterrupt

    result = solver.solve(UNIFORM, SolveOptions(formulation="deadline", on_progress=interrupt))
    assert result.solution is not None
    assert evaluate(UNIFORM, result.solution).objective_ns == result.objective
    assert result.bound is None or result.bound <= result.objective
    assert result.outcome is Outcome.OPTIMAL or result.stop_reason is StopReason.INTERRUPTED


@BOTH
def test_no_time_is_no_proof(solver):
    result = solver.solve(UNIFORM, SolveOptions(formulation="arc-flow", time_limit_s=1e-6))
    assert result.outcome in (Outcome.UNKNOWN, Outcome.FEASIBLE)
    assert result.stop_reason is StopReason.TIME_LIMIT


@BOTH
@pytest.mark.parametrize("formulation", ["deadline", "sweep", "circuit"])
def test_side_constraints_can_be_added_by_names(solver, formulation):
    def forbid_small_island(opened):
        for p in opened.formulation.data.placements:
            for name, variable in opened.variables.items():
                if p.option == 2 and (name == p.name or name.startswith(f"{p.name}_")):
                    add = opened.model.add if solver.name == "cpsat" else opened.model.addConstr
                    add(variable == 0)

    options = SolveOptions(formulation=formulation, on_model=forbid_small_island)
    assert solver.solve(TINY, SolveOptions(formulation=formulation)).objective == 102
    assert solver.solve(TINY, options).objective == 160


@BOTH
def test_an_island_can_be_kept_from_the_front(solver):
    problem = load_composition_problem(INSTANCES / "paper-c1-8t4-8v100-gpt3-6.7b.json")

    def never_t4_first(opened):
        add = opened.model.add if solver.name == "cpsat" else opened.model.addConstr
        for name in opened.formulation.comes_first("T4 x8"):
            add(opened.variables[name] == 0)

    free = solver.solve(problem, SolveOptions(formulation="sweep"))
    bound = solver.solve(problem, SolveOptions(formulation="circuit", on_model=never_t4_first))
    front = [problem.options[result.solution.picks[0].option].island for result in (free, bound)]
    assert front == ["T4 x8", "V100-PCIE-16GB x8"]
    assert bound.outcome is Outcome.OPTIMAL
    assert bound.objective > free.objective


def test_side_constraints_can_be_added_to_pyomo_models():
    def forbid_small_island(model):
        for name in model.x:
            if name.startswith("x_2_"):
                model.x[name].fix(0)

    solver = PyomoSolver("highs")
    assert solver.solve(TINY, SolveOptions(formulation="deadline")).objective == 102
    assert solver.solve(TINY, SolveOptions(formulation="deadline", on_model=forbid_small_island)).objective == 160


def whole_model(*times_ns: int) -> Option:
    """An option that holds three atoms in stages of one atom each."""
    return Option("i", (SignatureRun("a", 3),), tuple(Stage(1, 0, t, 0, 0) for t in times_ns), (0, 0), None, "p", "p")


@pytest.mark.parametrize(
    ("objective", "depths"), [("closed", "standard"), ("period", "standard"), ("period", "chosen")]
)
@pytest.mark.parametrize("solver", [CpSat(), HighsSolver()], ids=lambda solver: solver.name)
def test_an_option_that_loses_only_below_a_limit_is_there_for_who_forbids_the_other(solver, objective, depths):
    if (objective, depths) == ("closed", "chosen"):
        pytest.skip("depths are chosen for the period")
    # The first one takes less time in all; only its slowest stage is slower.
    options = (whole_model(10, 1005, 10), whole_model(1000, 1000, 1000))
    problem = CompositionProblem(
        "x", 2, (SignatureRun("a", 3),), (IslandClass("i", 1, 10),), options, ("p",), ((1,),), (), objective, depths
    )

    def forbid_first(opened):
        add = opened.model.add if solver.name == "cpsat" else opened.model.addConstr
        for name, variable in opened.variables.items():
            if name.startswith("x_0_"):
                add(variable == 0)

    for formulation in {*solver.formulations(problem)} - {"arc-flow"}:
        assert solver.solve(problem, SolveOptions(formulation=formulation)).objective == 1005 + 1025
        assert solver.solve(problem, SolveOptions(formulation=formulation, on_model=forbid_first)).objective == 4000


def test_what_lies_within_the_tolerances_of_a_library_is_left_open_and_called_so():
    stage = Stage(1, 3 * 10**11, 10**11 + 1, 0, 0)
    option = Option("i", (SignatureRun("a", 1),), (stage,), (), None, "p", "p")
    problem = CompositionProblem(
        "long", 4, (SignatureRun("a", 1),), (IslandClass("i", 1, 10),), (option,), ("p",), ((0,),)
    )
    result = HighsSolver().solve(problem, SolveOptions())
    assert result.bound < result.objective == 4 * (4 * 10**11 + 1)
    assert (result.outcome, result.stop_reason) == (Outcome.FEASIBLE, StopReason.PRECISION)
    assert CpSat().solve(problem, SolveOptions()).outcome is Outcome.OPTIMAL
