"""Which pairs of slice and island are worth a question, and what removed the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import (
    FAST,
    LAYER,
    NO_PRUNING,
    RECIPE,
    SLOW,
    cluster,
    groups_of,
    node,
    planning_problem,
    small_model,
    twin_islands,
    workload_of,
)

from tangram_opt.data.composition import Option
from tangram_opt.data.island import Island
from tangram_opt.data.model import AtomRun, Model
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration import (
    IMBALANCE,
    INFEASIBILITY,
    REDUNDANCY,
    PairReport,
    Query,
    composition_problem,
    enumerate_pairs,
    run_queries,
)
from tangram_opt.islands import links
from tangram_opt.parallelizers import ModelSlice, Parallelizer, Profile, UniformParallelizer

EIGHT_LAYERS = Model("layers", "example", (AtomRun(LAYER, 8),))
TOTAL_OF_EIGHT = 8 * 9 // 2
ONLY_INFEASIBILITY = Pruning(redundancy=False, imbalance_window=None, infeasibility=True)


class Profiled(UniformParallelizer):
    """Takes a time and a memory that are given for every atom on every island."""

    def __init__(self, time_ns: Callable[[Island], int], memory_bytes: int = 0) -> None:
        self.time_ns = time_ns
        self.memory_bytes = memory_bytes

    def profile(self, model_slice: ModelSlice, island: Island, workload: Workload) -> Profile:
        return Profile(model_slice.length * self.time_ns(island), model_slice.length * self.memory_bytes)


def pairs_of(problem: PlanningProblem, parallelizer: Parallelizer | None = None) -> PairReport:
    return enumerate_pairs(
        parallelizer or UniformParallelizer(),
        problem.model,
        groups_of(problem),
        workload_of(problem),
        problem.pruning,
    )


def lengths_by_island(report: PairReport) -> dict[str, list[int]]:
    lengths: dict[str, list[int]] = {}
    for pair in report.pairs:
        lengths.setdefault(pair.island.name, []).append(pair.model_slice.length)
    return {island: sorted(found) for island, found in lengths.items()}


def options_of(problem: PlanningProblem) -> tuple[Option, ...]:
    workload, groups = workload_of(problem), groups_of(problem)
    queries = [Query(pair, workload) for pair in pairs_of(problem).pairs]
    answers = list(run_queries(UniformParallelizer(), queries))
    between = links(problem.cluster, groups)
    return composition_problem(problem.name, problem.model, groups, between, workload, answers).options


def test_without_pruning_every_slice_meets_every_island() -> None:
    report = pairs_of(planning_problem(cluster=twin_islands(), pruning=NO_PRUNING))
    assert report.total == len(report.pairs) == 3 * 6 * 7 // 2
    assert set(report.removed.values()) == {0}


@settings(max_examples=25)
@given(
    redundancy=st.booleans(),
    imbalance_window=st.none() | st.floats(1, 8),
    infeasibility=st.booleans(),
    layers=st.integers(1, 5),
    state_bytes=st.integers(0, 10**9),
)
def test_pairs_and_those_removed_by_each_policy_add_up(
    redundancy: bool, imbalance_window: float | None, infeasibility: bool, layers: int, state_bytes: int
) -> None:
    problem = planning_problem(
        cluster=twin_islands(),
        model=small_model(layers),
        pruning=Pruning(redundancy, imbalance_window, infeasibility),
    )
    report = pairs_of(problem, Profiled(lambda island: island.gpu.memory_bytes, state_bytes))
    atoms = layers + 2
    assert report.total == 3 * atoms * (atoms + 1) // 2
    assert len(report.pairs) + sum(report.removed.values()) == report.total
    switches = {REDUNDANCY: redundancy, IMBALANCE: imbalance_window is not None, INFEASIBILITY: infeasibility}
    assert all(switches[policy] for policy, removed in report.removed.items() if removed)


def test_redundancy_keeps_one_of_the_equal_slices_and_one_of_the_equal_islands() -> None:
    report = pairs_of(planning_problem(cluster=twin_islands(), pruning=replace(NO_PRUNING, redundancy=True)))
    kept = [(pair.island.name, pair.model_slice.signature) for pair in report.pairs]
    assert len(set(kept)) == len(kept)
    everything = pairs_of(planning_problem(cluster=twin_islands(), pruning=NO_PRUNING))
    assert set(kept) == {(pair.island.name, pair.model_slice.signature) for pair in everything.pairs}
    # Of four layers between two ends, 1 to 4 layers alone, behind the embedding, and in front of the head, each end
    # alone, and the whole model.
    assert len(kept) == 2 * (3 * 4 + 3)
    assert report.removed == {REDUNDANCY: 3 * 21 - 2 * 15, IMBALANCE: 0, INFEASIBILITY: 0}


@pytest.mark.parametrize(
    ("window", "kept"),
    [
        (None, [1, 2, 3, 4, 5, 6, 7, 8]),
        (2.0, [2, 3, 4, 5, 6, 7, 8]),
        (1.99, [3, 4, 5, 6, 7]),
        (1.5, [3, 4, 5, 6]),
        (1.0, [4]),
    ],
)
def test_the_imbalance_window_holds_its_edges(window: float | None, kept: list[int]) -> None:
    # Two islands of one speed: each has half the speed of the cluster, four layers of eight.
    problem = planning_problem(
        model=EIGHT_LAYERS, pruning=Pruning(redundancy=True, imbalance_window=window, infeasibility=False)
    )
    report = pairs_of(problem, Profiled(lambda island: 10**6))
    assert lengths_by_island(report) == {"Fast x2": kept, "Slow x2": kept}
    assert report.removed == {REDUNDANCY: 2 * (TOTAL_OF_EIGHT - 8), IMBALANCE: 2 * (8 - len(kept)), INFEASIBILITY: 0}


def test_an_island_that_is_three_times_as_fast_is_due_three_times_the_work() -> None:
    problem = planning_problem(model=EIGHT_LAYERS, pruning=Pruning(imbalance_window=1.1))
    report = pairs_of(problem, Profiled(lambda island: 10**6 if island.gpu == FAST else 3 * 10**6))
    assert lengths_by_island(report) == {"Fast x2": [6], "Slow x2": [2]}


def test_every_island_of_a_class_has_its_own_share() -> None:
    # Three islands of one speed, two of them alike: a third of nine layers for each, not half of them.
    model = Model("layers", "example", (AtomRun(LAYER, 9),))
    problem = planning_problem(cluster=twin_islands(), model=model, pruning=Pruning(imbalance_window=1.1))
    report = pairs_of(problem, Profiled(lambda island: 10**9))
    assert lengths_by_island(report) == {"Fast x2": [3], "Slow x2": [3]}


def test_a_slice_whose_state_alone_does_not_fit_is_not_asked_for() -> None:
    # Two GPUs of 1,000 or 600 MB each, of which 100 MB are reserved: 1,800 and 1,000 MB.
    problem = planning_problem(model=EIGHT_LAYERS, pruning=ONLY_INFEASIBILITY)
    for layer_bytes, fast, slow in ((225 * 10**6, 8, 4), (225 * 10**6 + 1, 7, 4), (250 * 10**6 + 1, 7, 3)):
        report = pairs_of(problem, Profiled(lambda island: 10**6, layer_bytes))
        assert {name: max(lengths) for name, lengths in lengths_by_island(report).items()} == {
            "Fast x2": fast,
            "Slow x2": slow,
        }
        assert report.removed[INFEASIBILITY] == report.total - len(report.pairs)


def test_a_lone_island_must_take_the_whole_model() -> None:
    problem = planning_problem(cluster=cluster(node("only", FAST)), pruning=ONLY_INFEASIBILITY)
    report = pairs_of(problem)
    assert [pair.model_slice.length for pair in report.pairs] == [6]
    assert report.removed[INFEASIBILITY] == 20


def test_two_islands_of_one_class_may_share_the_model() -> None:
    alone, twins = node("slow", SLOW), twin_islands()
    near = cluster(*twins.nodes[:2], alone, links={(0, 1): 10**9, (1, 0): 10**9}, link=2 * 10**9)
    only_twins = tuple(group for group in groups_of(planning_problem(cluster=near)) if group.count == 2)
    report = enumerate_pairs(
        UniformParallelizer(),
        small_model(),
        only_twins,
        workload_of(planning_problem()),
        Pruning(imbalance_window=None),
    )
    assert min(pair.model_slice.length for pair in report.pairs) == 1


def test_a_slice_without_any_work_is_no_division_by_zero() -> None:
    report = pairs_of(planning_problem(pruning=Pruning()), Profiled(lambda island: 0))
    assert len(report.pairs) + sum(report.removed.values()) == report.total


def test_no_option_of_a_redundant_pair_is_lost() -> None:
    asked = planning_problem(cluster=twin_islands(), model=small_model(3))
    lean = options_of(replace(asked, pruning=replace(NO_PRUNING, redundancy=True)))
    full = options_of(replace(asked, pruning=NO_PRUNING))
    assert len(lean) == len(full) > 50
    assert {repr(option) for option in lean} == {repr(option) for option in full}


def test_no_option_is_lost_to_the_memory_policy() -> None:
    tight = replace(RECIPE, reserved_bytes=5 * 10**8)
    asked = planning_problem(recipe=tight, model=small_model(12), pruning=NO_PRUNING)
    pruned = replace(asked, pruning=replace(NO_PRUNING, infeasibility=True))
    assert pairs_of(pruned).removed[INFEASIBILITY] > 0
    assert {repr(option) for option in options_of(pruned)} == {repr(option) for option in options_of(asked)}
