"""The intervals of a sensitivity are exact: equal inside, better at every start, and the best there is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from islands_oracle import best_value, is_island, set_partitions, value
from islands_strategies import problems

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.islands import TOLERANCES, breakpoints, check, sensitivity
from tangram_opt.islands.sensitivity import shortest_decimal
from tangram_opt.result import Outcome, Result, StopReason

LOW, HIGH = Fraction(0), Fraction("0.5")


def by_force(problem: IslandsProblem) -> Result[Partition]:
    allowed = (
        islands
        for islands in set_partitions(list(range(len(problem.cluster.nodes))))
        if all(is_island(problem, island) for island in islands)
    )
    best = min(allowed, key=lambda islands: value(problem, islands))
    names = tuple(tuple(problem.cluster.nodes[i].name for i in sorted(island)) for island in best)
    partition = Partition(problem.name, names)
    return Result(Outcome.OPTIMAL, StopReason.PROVED, len(best), len(best), 0, partition, "force", "", "")


def compute_cluster(*compute: int, network: TierNetwork | MatrixNetwork | None = None) -> Cluster:
    nodes = tuple(Node(f"n{i}", Gpu("G", 10**4, each, 80, 1, 1), 1, ((0,),)) for i, each in enumerate(compute))
    return Cluster("c", nodes, network or TierNetwork((5,), ((),) * len(nodes)))


def at(problem: IslandsProblem, moved: tuple[str, ...], tolerance: Fraction) -> IslandsProblem:
    return replace(problem, tolerances=replace(problem.tolerances, **dict.fromkeys(moved, float(tolerance))))


@settings(max_examples=60)
@given(problems(most=5), st.sampled_from([("compute", "memory", "intra_bandwidth"), ("compute",), ("network",)]))
def test_the_best_islands_of_every_interval_are_those_found_by_force(problem: IslandsProblem, moved) -> None:
    intervals = sensitivity(problem, moved, LOW, HIGH, by_force)
    assert (intervals[0].start, intervals[-1].end) == (LOW, HIGH)
    assert [each.end for each in intervals[:-1]] == [each.start for each in intervals[1:]]
    for interval in intervals:
        assert interval.proven
        # Short decimals at the start, before the end, and between.
        ends = interval.start, interval.end
        places = {shortest_decimal(*ends), shortest_decimal((ends[0] + 9 * ends[1]) / 10, ends[1])}
        for tolerance in places:
            there = at(problem, moved, tolerance)
            assert check(there, interval.partition) == ()
            assert best_value(there) == interval.value.costs
    values = [interval.value.costs for interval in intervals]
    assert values == sorted(set(values), reverse=True)


def test_a_breakpoint_is_the_ratio_itself_and_not_a_number_near_it() -> None:
    problem = IslandsProblem("p", compute_cluster(70, 75, 90))
    assert breakpoints(problem, ["compute"], LOW, HIGH) == (Fraction(5, 70), Fraction(15, 75), Fraction(20, 70))
    intervals = sensitivity(problem, ["compute"], LOW, HIGH, by_force)
    assert [(each.start, each.value.islands) for each in intervals] == [
        (0, 3),
        (Fraction(1, 14), 2),
        (Fraction(2, 7), 1),
    ]


def test_the_ends_of_the_range_belong_to_it() -> None:
    problem = IslandsProblem("p", compute_cluster(100, 120, 150))
    assert breakpoints(problem, ["compute"], Fraction("0.2"), HIGH) == (Fraction("0.25"), Fraction("0.5"))
    intervals = sensitivity(problem, ["compute"], Fraction("0.2"), HIGH, by_force)
    assert [(each.start, each.end, each.value.islands) for each in intervals] == [
        (Fraction("0.2"), Fraction("0.5"), 2),
        (Fraction("0.5"), Fraction("0.5"), 1),
    ]
    (only,) = sensitivity(problem, ["compute"], HIGH, HIGH, by_force)
    assert only.value.islands == 1


def test_nodes_with_other_numbers_of_gpus_make_no_breakpoint() -> None:
    one, other = compute_cluster(100, 120).nodes
    two = replace(other, gpus=2, link_bytes_per_s=((0, 1), (1, 0)))
    problem = IslandsProblem("p", Cluster("c", (one, two), TierNetwork((5,), ((), ()))))
    assert breakpoints(problem, TOLERANCES, LOW, HIGH) == ()


def test_ratios_of_links_are_those_of_one_node_below_the_cap() -> None:
    matrix = MatrixNetwork(((0, 10, 11), (20, 0, 26), (100, 100, 0)))
    problem = IslandsProblem("p", compute_cluster(1, 1, 1, network=matrix))
    assert breakpoints(problem, ["network"], LOW, HIGH) == (Fraction(1, 10), Fraction(3, 10))
    capped = replace(problem, tolerances=Tolerances(fast_link_bytes_per_s=22))
    assert breakpoints(capped, ["network"], LOW, HIGH) == (Fraction(1, 10),)
    tiers = TierNetwork((10, 12, 13), (("a", "b"), ("a", "b"), ("c", "b")))
    problem = IslandsProblem("p", compute_cluster(1, 1, 1, network=tiers))
    assert breakpoints(problem, ["network"], LOW, HIGH) == (Fraction(1, 12), Fraction(2, 10), Fraction(3, 10))


def test_equal_ends_save_the_solves_between_them() -> None:
    asked = []

    def count(problem: IslandsProblem) -> Result[Partition]:
        asked.append(problem.tolerances.memory)
        return by_force(problem)

    # Memory is equal everywhere, and compute keeps all apart.
    problem = IslandsProblem("p", compute_cluster(100, 200, 400))
    nodes = tuple(
        replace(node, gpu=replace(node.gpu, memory_bytes=100 + i)) for i, node in enumerate(problem.cluster.nodes)
    )
    problem = replace(problem, cluster=replace(problem.cluster, nodes=nodes))
    assert len(breakpoints(problem, ["memory"], LOW, HIGH)) == 3
    assert len(sensitivity(problem, ["memory"], LOW, HIGH, count)) == 1
    assert len(asked) == 2


def test_without_a_proof_a_partition_that_still_holds_is_kept() -> None:
    def careless(problem: IslandsProblem) -> Result[Partition]:
        """Finds the best islands, and from a tolerance of 0.25 to one of 0.4 single nodes."""
        if not 0.25 <= problem.tolerances.compute <= 0.4:
            return by_force(problem)
        alone = Partition(problem.name, tuple((node.name,) for node in problem.cluster.nodes))
        return Result(Outcome.FEASIBLE, StopReason.HEURISTIC, len(alone.islands), 1, 0, alone, "careless", "", "")

    problem = IslandsProblem("p", compute_cluster(100, 120, 150))
    intervals = sensitivity(problem, ["compute"], LOW, HIGH, careless)
    assert [(each.start, each.value.islands, each.proven) for each in intervals] == [
        (0, 3, True),
        (Fraction("0.2"), 2, False),
        (Fraction("0.5"), 1, True),
    ]


@pytest.mark.parametrize(
    ("low", "high", "shortest"),
    [
        ("1/14", "1/13", "0.072"),
        ("1/7", "1/2", "0.2"),
        ("0", "0.001", "0"),
        ("0.5", "0.5", "0.5"),
        ("0.3", "0.31", "0.3"),
    ],
)
def test_the_shortest_decimal_lies_in_the_interval(low: str, high: str, shortest: str) -> None:
    assert shortest_decimal(Fraction(low), Fraction(high)) == Fraction(shortest)
