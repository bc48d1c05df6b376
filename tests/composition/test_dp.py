import csv
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from composition_oracle import brute_force
from composition_strategies import problems
from generated_problems import generated_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.composition import check, evaluate
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.composition.exact import Best, BoxSearch, quick_bound_ns
from tangram_opt.composition.order_free import OrderFree, order_is_free
from tangram_opt.composition.sequences import Sequences
from tangram_opt.composition.table import IMPOSSIBLE, option_table
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.documents import load_composition_problem
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, StopReason

INSTANCES = Path(__file__).parents[2] / "instances" / "composition"
some = settings(max_examples=40)


def solve(problem, **options):
    return DynamicProgram().solve(problem, SolveOptions(**options))


def optimum(problem):
    return solve(problem).objective


def stretched(problem, factor):
    def stage(s):
        return replace(
            s, forward_ns=factor * s.forward_ns, backward_ns=factor * s.backward_ns, sync_ns=factor * s.sync_ns
        )

    return replace(
        problem,
        options=tuple(
            replace(
                o,
                stages=tuple(map(stage, o.stages)),
                inner_transfers_ns=tuple(factor * c for c in o.inner_transfers_ns),
            )
            for o in problem.options
        ),
        transfer_ns=tuple(tuple(factor * c for c in row) for row in problem.transfer_ns),
    )


def test_it_is_a_backend():
    assert isinstance(DynamicProgram(), Backend)


@settings(max_examples=400)
@given(problems())
def test_it_finds_what_brute_force_finds(problem):
    agrees_with_brute_force(problem)


@settings(max_examples=200)
@given(problems(order_free=True))
def test_it_finds_what_brute_force_finds_where_the_order_is_free(problem):
    agrees_with_brute_force(problem)


@settings(max_examples=300)
@given(problems(objective="period"))
def test_it_finds_what_brute_force_finds_by_the_period(problem):
    agrees_with_brute_force(problem)


@settings(max_examples=400)
@given(problems(objective="period", depths="chosen"))
def test_it_finds_what_brute_force_finds_where_depths_are_chosen(problem):
    agrees_with_brute_force(problem)


@some
@given(problems(objective="period", depths="chosen"))
def test_choosing_depths_is_never_worse_than_1f1b_and_never_better_than_transfers_at_no_time(problem):
    chosen, standard = optimum(problem), optimum(replace(problem, depths="standard"))
    assert (chosen is None) == (standard is None)
    assert chosen is None or optimum(replace(problem, objective="closed", depths="standard")) <= chosen <= standard


@some
@given(problems())
def test_the_period_form_is_never_below_the_closed_form_and_equals_it_without_transfers(problem):
    closed, period = optimum(problem), optimum(replace(problem, objective="period"))
    assert (closed is None) == (period is None)
    assert closed is None or closed <= period
    free = replace(
        problem,
        options=tuple(replace(o, inner_transfers_ns=(0,) * len(o.inner_transfers_ns)) for o in problem.options),
        transfer_ns=tuple((0,) * len(row) for row in problem.transfer_ns),
    )
    assert optimum(free) == optimum(replace(free, objective="period"))


def agrees_with_brute_force(problem):
    result = solve(problem)
    expected = brute_force(problem)
    assert result.objective == expected
    if expected is None:
        assert result.outcome is Outcome.INFEASIBLE
        assert len(result.log) == 1
    else:
        assert result.outcome is Outcome.OPTIMAL
        assert result.bound == expected
        assert check(problem, result.solution) == ()
        assert evaluate(problem, result.solution).objective_ns == expected


@some
@given(problems(), st.integers(2, 1000))
def test_times_k_times_as_long_make_an_iteration_k_times_as_long(problem, factor):
    before = optimum(problem)
    assert optimum(stretched(problem, factor)) == (None if before is None else factor * before)


@some
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(problem, random):
    options, islands = list(problem.options), list(problem.islands)
    random.shuffle(options)
    assert optimum(replace(problem, options=tuple(options), islands=tuple(reversed(islands)))) == optimum(problem)


@some
@given(problems(), st.data())
def test_an_option_that_is_worse_than_another_changes_nothing(problem, data):
    option = data.draw(st.sampled_from(problem.options))
    slower = tuple(replace(stage, forward_ns=stage.forward_ns + 1) for stage in option.stages)
    more = replace(problem, options=(*problem.options, replace(option, stages=slower)))
    assert optimum(more) == optimum(problem)


@some
@given(problems())
def test_an_island_that_nobody_asks_for_changes_nothing(problem):
    more = replace(problem, islands=(*problem.islands, IslandClass("unneeded", 5, 1)))
    assert optimum(more) == optimum(problem)


@some
@given(problems(), st.integers(1, 30))
def test_more_memory_never_makes_an_iteration_longer(problem, extra):
    roomy = replace(
        problem, islands=tuple(replace(each, memory_bytes=each.memory_bytes + extra) for each in problem.islands)
    )
    before, after = optimum(problem), optimum(roomy)
    assert before is None or (after is not None and after <= before)


@some
@given(problems())
def test_a_class_of_equal_islands_is_worth_as_much_as_the_islands_one_by_one(problem):
    apart = []
    options = []
    for island in problem.islands:
        for i in range(island.count):
            name = f"{island.name}{i}"
            apart.append(replace(island, name=name, count=1))
            options += [replace(o, island=name) for o in problem.options if o.island == island.name]
    free = replace(problem, required=())
    assert optimum(replace(free, islands=tuple(apart), options=tuple(options))) == optimum(free)


@some
@given(problems())
def test_a_required_class_costs_the_difference_to_the_best_without_it(problem):
    name = problem.islands[0].name
    without = replace(
        problem, required=(), options=tuple(option for option in problem.options if option.island != name)
    )
    free = optimum(replace(problem, required=()))
    values = [v for v in (optimum(replace(problem, required=(name,))), optimum(without)) if v is not None]
    assert free == min(values, default=None)


@some
@given(problems(), st.integers(0, 6))
def test_wherever_it_is_stopped_its_bound_holds(problem, steps):
    asked = count()
    search = BoxSearch(option_table(problem), Best(), lambda: next(asked) >= steps, lambda: None)
    search.run()
    expected = optimum(problem)
    if expected is not None:
        assert search.bound_ns <= expected <= search.best.objective_ns


def test_without_time_it_has_a_bound_and_says_why_it_stopped():
    result = solve(generated_problem(40, 4, 1, 5), time_limit_s=0)
    assert result.outcome is Outcome.UNKNOWN
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.bound is not None
    assert 0 < result.bound < 2**58


def test_ctrl_c_returns_the_best_so_far_with_its_bound():
    problem = generated_problem(40, 4, 1, 5)

    def interrupt(progress):
        if progress.objective is not None:
            raise KeyboardInterrupt

    result = solve(problem, on_progress=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.bound <= optimum(problem) <= result.objective


def test_a_hint_is_where_it_starts():
    problem = generated_problem(40, 4, 1, 5)
    best = solve(problem)
    hinted = solve(problem, hint=best.solution, time_limit_s=0)
    assert hinted.solution == best.solution
    assert hinted.outcome is Outcome.FEASIBLE


def test_a_hint_that_is_not_allowed_is_ignored():
    problem = generated_problem(40, 4, 1, 5)
    best = solve(problem)
    wrong = replace(best.solution, picks=best.solution.picks[1:])
    assert solve(problem, hint=wrong).objective == best.objective


def test_a_problem_of_the_papers_size_is_proven():
    result = solve(generated_problem(40, 4, 1, 5))
    assert result.outcome is Outcome.OPTIMAL
    assert result.bound == result.objective


def test_times_beyond_64_bits_are_refused():
    problem = load_composition_problem(INSTANCES / "tiny-order.json")
    with pytest.raises(InputError, match=r"an iteration could take \d+ ns, expected less than"):
        solve(stretched(problem, 10**17))


def test_times_that_just_fit_64_bits_are_solved_exactly():
    problem = load_composition_problem(INSTANCES / "tiny-order.json")
    assert optimum(stretched(problem, 10**14)) == 102 * 10**14


def test_a_class_may_have_more_islands_than_the_model_has_atoms():
    problem = load_composition_problem(INSTANCES / "tiny-order.json")
    many = replace(problem, islands=tuple(replace(island, count=10**9) for island in problem.islands))
    assert optimum(many) == 3 * 20 + 40  # two big ones, with a free link between them


def with_80_more_kinds_of_island(name):
    problem = load_composition_problem(INSTANCES / f"{name}.json")
    return replace(problem, islands=(*problem.islands, *(IslandClass(f"i{k}", 1, 1) for k in range(80))))


def test_more_kinds_of_island_than_it_can_count_are_refused_where_the_order_matters():
    unsupported = DynamicProgram().unsupported(with_80_more_kinds_of_island("links-8x3-1"))
    assert "2^62 or more ways to use the islands" in unsupported


def test_any_number_of_kinds_of_island_will_do_where_the_order_is_free():
    many = with_80_more_kinds_of_island("tiny-order")
    assert DynamicProgram().unsupported(many) is None
    assert optimum(many) == 102


@some
@given(st.one_of(problems(), problems(objective="period"), problems(order_free=True)))
def test_the_quick_bound_is_never_above_the_optimum(problem):
    best = brute_force(problem)
    bound = quick_bound_ns(problem)
    assert bound <= (IMPOSSIBLE if best is None else best)


MANY_ISLANDS = ("distinct-64x12-1", "distinct-96x16-1", "huge-128x16-1", "huge-128x64in8-1", "memory-80x16in4-1")


@pytest.mark.parametrize(
    "name",
    [
        "distinct-64x12-1",
        "distinct-96x16-1",
        "huge-128x16-1",
        "huge-128x64in8-1",
        "memory-80x16in4-1",
        "uniform-80x8-1",
    ],
)
def test_many_islands_in_free_order_are_proven_at_the_best_known_value(name):
    with (INSTANCES / "best_known.csv").open() as file:
        best = {row["instance"]: row for row in csv.DictReader(file)}[name]
    result = solve(load_composition_problem(INSTANCES / f"{name}.json"))
    assert result.outcome is Outcome.OPTIMAL
    assert result.objective == int(best["objective"])


@some
@given(problems(order_free=True))
def test_both_ways_to_the_least_sum_agree_where_the_order_is_free(problem):
    table = option_table(problem)
    answers = set()
    for way in (OrderFree, Sequences) if order_is_free(table) else ():
        relaxed = way(table, 0).relax(way.free(table))
        found = way(table, 0).search(relaxed, IMPOSSIBLE // 2, 10**6, lambda: False)
        assert found.floor_ns == IMPOSSIBLE
        assert relaxed.bound_ns <= found.sum_ns
        answers.add(found.sum_ns)
    assert len(answers) <= 1


LAYER = (SignatureRun("layer", 1),)
PAIR = Option("a", (SignatureRun("layer", 2),), (Stage(2, 1, 1, 10, 10),), (), None, "p", "p")


def small(limit=None, memory=100, islands=2, required=()):
    stage = Stage(1, forward_ns=1, backward_ns=1, static_bytes=10, in_flight_bytes=10)
    option = Option("a", LAYER, (stage,), (), limit, "p", "p")
    return CompositionProblem(
        name="small",
        micro_batches=4,
        atoms=(SignatureRun("layer", 2),),
        islands=(IslandClass("a", islands, memory), IslandClass("b", 1, 1)),
        options=(option,),
        ports=("p",),
        transfer_ns=((0,),),
        required=required,
    )


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (replace(small(), options=()), "no option covers atom 0 ('layer')"),
        (replace(small(), atoms=(*LAYER, SignatureRun("head", 1))), "no option covers atom 1 ('head')"),
        (small(memory=15), "needs more memory than its island class has, even as the last of the pipeline"),
        (replace(small(), options=(PAIR,), atoms=(SignatureRun("layer", 3),)), "cannot tile the model"),
        (small(islands=1), "there are not enough islands"),
        (small(memory=25), "runs out of memory at its place in the pipeline"),
        (small(limit=0), "than its max_stages_after"),
        (small(required=("b",)), "uses all required island classes (b)"),
    ],
)
def test_an_infeasible_problem_comes_with_the_condition_at_fault(problem, reason):
    result = solve(problem)
    assert result.outcome is Outcome.INFEASIBLE
    assert reason in result.log[0]


def test_memory_is_short_by_a_stated_number_of_bytes():
    assert "the nearest by 5 bytes" in solve(small(memory=15)).log[0]
