"""The least sum with a placement is a bound, and a tight one where nothing but the number of atoms matters."""

from composition_oracle import tilings
from composition_strategies import problems
from hypothesis import given, settings

from formulations.composition_completion import NO_WAY, completable, least_sums_ns
from formulations.composition_data import composition_data
from tangram_opt.composition import evaluate
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage


def sum_ns(problem, composition):
    evaluation = evaluate(problem, composition)
    return sum(evaluation.times_ns) + 2 * sum(evaluation.transfers_ns)


@settings(max_examples=200)
@given(problems())
def test_no_composition_with_a_placement_takes_less_than_its_least_sum(problem):
    data = composition_data(problem)
    least = least_sums_ns(data)
    for composition in tilings(problem):
        if {pick.option for pick in composition.picks} <= data.stand_in.keys():
            for placement in data.placements_of(composition):
                assert least[placement.name] <= sum_ns(problem, composition)


def option(island, atoms, time_ns):
    stage = Stage(sum(run.count for run in atoms), forward_ns=time_ns, backward_ns=0, static_bytes=1, in_flight_bytes=0)
    return Option(island, atoms, (stage,), (), None, island, island)


def test_the_least_sums_of_a_small_problem_by_hand():
    embedding, two, three = SignatureRun("embedding", 1), SignatureRun("layer", 2), SignatureRun("layer", 3)
    options = (
        option("a", (embedding, three), 10),  # leaves two layers
        option("b", (two,), 7),
        option("c", (two,), 5),
        option("c", (SignatureRun("layer", 1),), 2),  # nothing holds the rest
    )
    problem = CompositionProblem(
        "by hand",
        4,
        (embedding, SignatureRun("layer", 5)),
        tuple(IslandClass(name, 1, 10) for name in "abc"),
        options,
        ("a", "b", "c"),
        ((0, 3, 4), (3, 0, 9), (4, 9, 0)),
    )
    data = composition_data(problem)
    least = {p.option: least_sums_ns(data)[p.name] for p in data.placements}
    assert (least[0], least[1], least[2]) == (10 + 5 + 2 * 4, 10 + 7 + 2 * 3, 10 + 5 + 2 * 4)
    assert least[3] >= NO_WAY
    assert {p.option for p in completable(data, None).placements} == {0, 1, 2}
    assert {p.option for p in completable(data, 22).placements} == set()
    assert {p.option for p in completable(data, 23).placements} == {0, 1, 2}


def test_nothing_is_left_out_where_sums_are_too_long_to_be_compared():
    options = (option("a", (SignatureRun("layer", 1),), 2**59), option("a", (SignatureRun("layer", 2),), 2**60))
    problem = CompositionProblem(
        "long", 2, (SignatureRun("layer", 4),), (IslandClass("a", 2, 10),), options, ("a",), ((1,),)
    )
    data = composition_data(problem)
    assert completable(data, None) == data
