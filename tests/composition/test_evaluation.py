from dataclasses import replace
from math import ceil

import pytest
from composition_oracle import tilings
from composition_strategies import problems
from hypothesis import given, settings

from tangram_opt.composition import check, depth_limit, evaluate, positions
from tangram_opt.data.composition import (
    Composition,
    CompositionProblem,
    IslandClass,
    Option,
    Pick,
    SignatureRun,
    Stage,
)
from tangram_opt.errors import InputError
from tangram_opt.pipeline import bearable_depths, least_period_ns, period_ns, simulate

FRONT = Option(
    island="a",
    atoms=(SignatureRun("embedding", 1), SignatureRun("layer", 2)),
    stages=(
        Stage(2, forward_ns=3, backward_ns=5, static_bytes=10, in_flight_bytes=4, sync_ns=2),
        Stage(1, forward_ns=2, backward_ns=5, static_bytes=9, in_flight_bytes=5, sync_ns=7),
    ),
    inner_transfers_ns=(1,),
    max_stages_after=1,
    entry_port="a",
    exit_port="a",
)
BACK = Option(
    island="b",
    atoms=(SignatureRun("layer", 1), SignatureRun("head", 1)),
    stages=(Stage(2, forward_ns=4, backward_ns=6, static_bytes=20, in_flight_bytes=3, sync_ns=1),),
    inner_transfers_ns=(),
    max_stages_after=None,
    entry_port="b",
    exit_port="b",
)
PROBLEM = CompositionProblem(
    name="by hand",
    micro_batches=8,
    atoms=(SignatureRun("embedding", 1), SignatureRun("layer", 3), SignatureRun("head", 1)),
    islands=(IslandClass("a", 1, 22), IslandClass("b", 1, 23)),
    options=(FRONT, BACK),
    ports=("a", "b"),
    transfer_ns=((0, 6), (9, 0)),
    required=("b",),
)
COMPOSITION = Composition("by hand", (Pick(0, 0), Pick(1, 3)))


@settings(max_examples=200)
@given(problems(objective="period", depths="chosen"))
def test_chosen_depths_keep_the_stated_period_and_fit_the_memory(problem):
    for composition in tilings(problem):
        if check(problem, composition):
            continue
        evaluation = evaluate(problem, composition)
        standard = evaluate(replace(problem, depths="standard"), composition)
        n, held = problem.micro_batches, evaluation.in_flight
        assert all(most >= k >= least for most, k, least in zip([n] * len(held), held, standard.in_flight, strict=True))
        assert all(a <= b for a, b in zip(evaluation.memory_bytes, evaluation.memory_limit_bytes, strict=True))
        assert evaluation.slowest_ns <= standard.slowest_ns
        if max(held) < n:
            assert evaluation.slowest_ns == ceil(period_ns(evaluation.times_ns, evaluation.transfers_ns, held))
        most = bearable_depths(held, n)
        assert evaluation.slowest_ns == least_period_ns(evaluation.times_ns, evaluation.transfers_ns, most)


def with_options(*options: Option) -> CompositionProblem:
    return replace(PROBLEM, options=options)


def test_the_simulated_time_is_that_of_the_pipeline_of_its_stages():
    by_hand = simulate((3, 2, 4), (5, 5, 6), (1, 6), (2, 7, 1), 8).makespan_ns
    assert evaluate(replace(PROBLEM, objective="simulated"), COMPOSITION).objective_ns == by_hand


def test_every_figure_of_a_small_composition_by_hand():
    evaluation = evaluate(PROBLEM, COMPOSITION)
    assert evaluation.times_ns == (8, 7, 10)
    assert evaluation.transfers_ns == (1, 6)  # from port a to port b, not back
    assert evaluation.syncs_ns == (2, 7, 1)
    assert evaluation.stages_after == (2, 1, 0)
    assert evaluation.in_flight == (3, 2, 1)
    assert evaluation.memory_bytes == (10 + 3 * 4, 9 + 2 * 5, 20 + 3)
    assert evaluation.memory_limit_bytes == (22, 22, 23)
    assert evaluation.objective_ns == 7 * 10 + 25 + 2 * 7 + 7


def test_no_more_micro_batches_are_in_flight_than_there_are():
    assert evaluate(replace(PROBLEM, micro_batches=2), COMPOSITION).in_flight == (2, 2, 1)


def test_a_composition_within_all_limits_passes():
    assert check(PROBLEM, COMPOSITION) == ()


@pytest.mark.parametrize(
    ("problem", "composition", "said"),
    [
        (PROBLEM, replace(COMPOSITION, problem="other"), "problem: 'other', expected 'by hand'"),
        (PROBLEM, replace(COMPOSITION, picks=()), "picks: none"),
        (PROBLEM, Composition("by hand", (Pick(0, 0), Pick(2, 3))), "picks[1].option: 2, expected 0 to 1"),
        (PROBLEM, Composition("by hand", (Pick(0, 0),)), "picks: they end at atom 3, expected the 5 atoms"),
        (PROBLEM, Composition("by hand", (Pick(1, 3),)), "picks[0].first_atom: 3, expected 0"),
        (PROBLEM, Composition("by hand", (Pick(0, 0), Pick(1, 2))), "atoms 2 to 3 are not those of option 1"),
        (PROBLEM, Composition("by hand", (Pick(0, 0), Pick(1, 4))), "atoms 4 to 5 are not those of option 1"),
        (
            with_options(FRONT, replace(BACK, island="a")),
            COMPOSITION,
            "island class 'a': used 2 times, it has 1",
        ),
        (with_options(FRONT, replace(BACK, island="a")), COMPOSITION, "island class 'b': not used"),
        (
            with_options(replace(FRONT, max_stages_after=0), BACK),
            COMPOSITION,
            "1 stages come after option 0, it allows 0",
        ),
        (
            replace(PROBLEM, islands=(IslandClass("a", 1, 21), IslandClass("b", 1, 23))),
            COMPOSITION,
            "stage 0 (option 0): 22 bytes with 3 micro-batches in flight, island class 'a' has 21",
        ),
        (
            replace(PROBLEM, islands=(IslandClass("a", 1, 22), IslandClass("b", 1, 22))),
            COMPOSITION,
            "stage 2 (option 1): 23 bytes with 1 micro-batches in flight, island class 'b' has 22",
        ),
    ],
)
def test_a_planted_mistake_is_named(problem, composition, said):
    assert any(said in sentence for sentence in check(problem, composition))


@pytest.mark.parametrize("picks", [(), (Pick(7, 0),)])
def test_what_cannot_be_evaluated_is_refused(picks):
    with pytest.raises(InputError, match="picks"):
        evaluate(PROBLEM, Composition("by hand", picks))


def test_positions_are_where_the_model_has_the_atoms_of_the_slice():
    layer = replace(BACK, atoms=(SignatureRun("layer", 2),))
    assert positions(PROBLEM, layer) == (1, 2)
    assert positions(PROBLEM, FRONT) == (0,)
    assert positions(PROBLEM, replace(FRONT, atoms=(SignatureRun("head", 1), SignatureRun("layer", 2)))) == ()


def test_equal_atoms_may_be_written_as_several_runs():
    split = replace(BACK, atoms=(SignatureRun("layer", 1), SignatureRun("layer", 1)))
    assert positions(PROBLEM, split) == (1, 2)


@settings(max_examples=60)
@given(problems())
def test_the_depth_limit_is_the_last_place_where_memory_and_the_option_allow_it(problem):
    for option in problem.options:
        island = problem.islands[problem.class_index[option.island]]
        limit = depth_limit(option, island, problem.micro_batches)
        for after in range(12):
            fits = (option.max_stages_after is None or after <= option.max_stages_after) and all(
                stage.static_bytes + min(problem.micro_batches, after + behind + 1) * stage.in_flight_bytes
                <= island.memory_bytes
                for behind, stage in enumerate(reversed(option.stages))
            )
            assert fits == (limit is None or after <= limit)


@settings(max_examples=60)
@given(problems())
def test_check_and_depth_limits_agree_on_every_tiling(problem):
    for composition in tilings(problem):
        picked = [problem.options[pick.option] for pick in composition.picks]
        limits = [depth_limit(o, problem.islands[problem.class_index[o.island]], problem.micro_batches) for o in picked]
        behind = [sum(len(o.stages) for o in picked[i + 1 :]) for i in range(len(picked))]
        fits = all(limit is None or after <= limit for limit, after in zip(limits, behind, strict=True))
        used = {option.island for option in picked}
        assert (check(problem, composition) == ()) == (fits and used >= set(problem.required))
