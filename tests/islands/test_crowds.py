"""Components with too many blocks for a search: what is said of them is true."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from islands_oracle import best_value
from islands_strategies import hard_problems, problems

from formulations.highs import HighsSolver
from tangram_opt.backend import SolveOptions
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.islands import agglomerate, agglomerative, check, evaluate, similarity_components, splitting


@pytest.fixture
def nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (splitting, "MOST_BLOCKS"),
        (splitting, "MOST_FREE_BLOCKS"),
        (agglomerative, "MOST_UNITS"),
    ):
        monkeypatch.setattr(module, name, 1)


def boxes(count: int) -> IslandsProblem:
    """Nodes on one switch of which no two are equal, in three attributes."""
    nodes = []
    for i in range(count):
        compute, memory, bandwidth = (1000 + (i * step) % 997 for step in (1, 311, 571))
        gpu = Gpu("G", 2 * compute, compute, memory, 1, 1)
        nodes.append(Node(f"n{i}", gpu, 2, ((0, bandwidth), (bandwidth, 0))))
    return IslandsProblem("p", Cluster("c", tuple(nodes), TierNetwork((5,), ((),) * count)))


@pytest.mark.usefixtures("nothing_is_searched")
def test_islands_of_crowds_are_allowed_and_their_bounds_hold():
    seen = set()

    @settings(max_examples=150)
    @given(st.one_of(problems(most=7), hard_problems(most=7)))
    def holds(problem):
        best = best_value(problem)
        result = HighsSolver().solve(problem, SolveOptions())
        assert check(problem, result.solution) == ()
        assert result.bound <= best[0] <= result.objective
        for level, own in zip(result.levels, (best[1], -best[2]), strict=True):
            if result.outcome == "optimal":
                assert level.value == own
        assert check(problem, agglomerate(problem)) == ()
        assert len(similarity_components(problem).islands) <= best[0]
        seen.add((bool(splitting.split(problem).crowds), result.outcome))

    holds()
    assert {(True, "feasible"), (False, "optimal")} <= seen


def test_a_crowd_on_one_switch_has_a_true_bound_near_its_greedy_islands(monkeypatch):
    problem = boxes(60)
    exact = HighsSolver().solve(problem, SolveOptions())
    assert exact.outcome == "optimal"
    monkeypatch.setattr(splitting, "MOST_FREE_BLOCKS", 10)
    crowded = HighsSolver().solve(problem, SolveOptions())
    assert (crowded.outcome, crowded.formulation, crowded.stop_reason) == ("feasible", "structure", "heuristic")
    limited = HighsSolver().solve(problem, SolveOptions(time_limit_s=600))
    assert limited.stop_reason == "heuristic"
    assert "greedy method, as their blocks are too many to search" in crowded.log[0]
    assert exact.objective / 2 <= crowded.bound <= exact.objective <= crowded.objective <= 2 * exact.objective
    assert crowded.objective == evaluate(problem, crowded.solution).islands


def test_components_of_a_matrix_are_found_before_its_blocks_are_counted(monkeypatch):
    problem = boxes(30)
    rows = tuple(tuple(0 if i == j else 5 if i // 15 == j // 15 else 1 for j in range(30)) for i in range(30))
    two = IslandsProblem("p", Cluster("c", problem.cluster.nodes, MatrixNetwork(rows)))
    exact = HighsSolver().solve(two, SolveOptions())
    monkeypatch.setattr(splitting, "MOST_BLOCKS", 20)
    again = HighsSolver().solve(two, SolveOptions())
    assert (again.outcome, again.objective, again.levels) == ("optimal", exact.objective, exact.levels)
    assert splitting.split(two).crowds == ()


@pytest.mark.usefixtures("nothing_is_searched")
def test_a_greedy_search_that_is_stopped_has_islands_all_the_same():
    problem = boxes(20)
    result = HighsSolver().solve(problem, SolveOptions(time_limit_s=1e-9))
    assert check(problem, result.solution) == ()


def test_an_interruption_while_the_problem_is_split_leaves_nodes_one_by_one(monkeypatch):
    def interrupted(problem, stopped):
        raise KeyboardInterrupt

    monkeypatch.setattr("formulations.islands_search.split", interrupted)
    result = HighsSolver().solve(boxes(5), SolveOptions())
    assert (result.stop_reason, result.objective, result.bound) == ("interrupted", 5, None)


@pytest.mark.usefixtures("nothing_is_searched")
def test_the_slowest_link_of_a_crowd_of_which_no_blocks_can_be_together_is_inside_one():
    # The second and the third node have the faster link; the first one is like the second, but not like the third.
    speeds = ((12, 8), (11, 10), (10, 12))
    gpus = [Gpu("G", compute, compute, memory, 1, 1) for compute, memory in speeds]
    nodes = tuple(Node(f"n{i}", gpu, 1, ((0,),)) for i, gpu in enumerate(gpus))
    network = TierNetwork((1, 6), (("z",), ("x",), ("x",)))
    problem = IslandsProblem("p", Cluster("c", nodes, network), Tolerances(0.2, 0.25, network=0.2))
    result = HighsSolver().solve(problem, SolveOptions())
    assert (result.objective, result.bound) == (2, 2)
    assert [level.value for level in result.levels] == [1, 6]
    assert result.levels[1].bound in (None, 6)
