"""What structure settles, and the parts it leaves, have together exactly the best partition of brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from islands_oracle import best_value, indices, obeys, set_partitions, value
from islands_strategies import hard_problems, problems

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.errors import InputError
from tangram_opt.islands import check, evaluate, parts, split
from tangram_opt.islands.agglomerative import agglomerate_part
from tangram_opt.islands.answer import partition_of
from tangram_opt.islands.parts import Groups, Part, whole_part


def node(name: str, compute: int = 100, memory: int = 100) -> Node:
    return Node(name, Gpu("G", 1000, compute, memory, 1, 1), 2, ((0, 100), (100, 0)))


def as_matrix(problem: IslandsProblem) -> IslandsProblem:
    network, size = problem.cluster.network, range(len(problem.cluster.nodes))
    rows = tuple(tuple(0 if i == j else network.bandwidth_bytes_per_s(i, j) for j in size) for i in size)
    return replace(problem, cluster=replace(problem.cluster, network=MatrixNetwork(rows)))


def best_groups(part: Part) -> Groups:
    """The best of all partitions of the blocks."""
    every = (tuple(map(tuple, groups)) for groups in set_partitions(list(range(part.size))))
    return min((groups for groups in every if part.allows(groups)), key=lambda groups: part.value(groups).costs)


def solved(problem: IslandsProblem) -> list[list[int]]:
    """A best partition, by brute force over what is left to decide."""
    components = split(problem)
    islands = [list(island.nodes) for component in components.settled for island in component]
    for part in components.parts:
        islands += [[n for block in group for n in part.blocks[block].nodes] for group in best_groups(part)]
    return islands


@settings(max_examples=150)
@given(st.one_of(problems(most=7), hard_problems(most=7)))
def test_the_best_partition_of_the_components_is_the_best_of_all(problem: IslandsProblem) -> None:
    partition = partition_of(problem, solved(problem))
    assert check(problem, partition) == ()
    assert obeys(problem, partition)
    assert evaluate(problem, partition).costs == value(problem, indices(problem, partition)) == best_value(problem)


@settings(max_examples=120)
@given(problems(most=9))
def test_tiers_and_their_matrix_have_equally_good_partitions(problem: IslandsProblem) -> None:
    flat = as_matrix(problem)
    values = [evaluate(each, partition_of(each, solved(each))) for each in (problem, flat)]
    assert values[0] == values[1]


@settings(max_examples=80)
@given(problems(most=6))
def test_parts_judge_their_blocks_as_the_conditions_do(problem: IslandsProblem) -> None:
    part = whole_part(problem)
    for groups in set_partitions(list(range(part.size))):
        islands = [[n for block in group for n in part.blocks[block].nodes] for group in groups]
        chosen = tuple(map(tuple, groups))
        assert part.allows(chosen) == (check(problem, partition_of(problem, islands)) == ())
        if part.allows(chosen):
            assert part.value(chosen)[:2] == evaluate(problem, partition_of(problem, islands))[:2]
    assert part.allows(agglomerate_part(part))
    assert len(part.strangers) <= best_value(problem)[0]


def test_like_nodes_that_link_differently_are_no_twins() -> None:
    # a and b have the same compute and links to each other, but b reaches x faster.
    matrix = MatrixNetwork(((0, 5, 5, 1), (5, 0, 5, 6), (5, 5, 0, 1), (1, 1, 1, 0)))
    problem = IslandsProblem("p", Cluster("c", (node("a"), node("b"), node("c"), node("x", compute=500)), matrix))
    assert [len(block.nodes) for block in whole_part(problem).blocks] == [2, 1, 1]
    assert evaluate(problem, partition_of(problem, solved(problem))).islands == 3


def test_a_slower_link_between_like_nodes_makes_no_twins() -> None:
    # With the whole they are alike; alone they are no island, as both have faster links to x.
    matrix = MatrixNetwork(((0, 5, 6), (5, 0, 6), (6, 6, 0)))
    problem = IslandsProblem("p", Cluster("c", (node("a"), node("b"), node("x", compute=500)), matrix))
    assert len(whole_part(problem).blocks) == 3
    assert evaluate(problem, partition_of(problem, solved(problem))).islands == 3


def test_compute_decides_between_equally_few_islands() -> None:
    nodes = tuple(node(f"n{c}", compute=c) for c in (100, 110, 121, 132))
    problem = IslandsProblem("p", Cluster("c", nodes, TierNetwork((5,), ((),) * 4)))
    # 100 and 110, 121 and 132 lose 2 * (10 + 11); 100, 110 to 132 would lose 2 * (11 + 22).
    assert evaluate(problem, partition_of(problem, solved(problem))) == (2, 42, 5)


def test_ten_thousand_nodes_of_a_line_are_cut_at_their_ratios() -> None:
    nodes = tuple(node(f"n{i}", compute=1000 + i) for i in range(10_000))
    problem = IslandsProblem("p", Cluster("c", nodes, TierNetwork((5,), ((),) * 10_000)))
    components = split(problem)
    assert components.parts == ()
    ((*islands,),) = components.settled
    # The fewest intervals of ratio 1.2 that cover 1000 to 10999.
    fewest, value = 0, 1000
    while value < 11_000:
        fewest, value = fewest + 1, value * 6 // 5 + 1
    assert len(islands) == fewest
    assert sorted(i for island in islands for i in island.nodes) == list(range(10_000))


def test_a_unit_in_which_nothing_is_alike_leaves_no_blocks() -> None:
    # With this tolerance pods and racks are one family of the cluster, and every rack is a family of its own.
    nodes = [node("a"), node("b", compute=500), node("c"), node("d", compute=500)]
    places = (("p", "r"), ("p", "r"), ("p", "s"), ("p", "s"))
    network = TierNetwork((1, 2, 5), places)
    problem = IslandsProblem("p", Cluster("c", tuple(nodes), network), Tolerances(network=1.0))
    assert evaluate(problem, partition_of(problem, solved(problem))).islands == 4


def test_units_that_are_not_alike_are_split_on_their_own() -> None:
    # Racks of like nodes of two kinds in every pod, one odd node in each pod's last rack.
    nodes, places = [], []
    for pod in range(4):
        for rack in range(6):
            for slot in range(5):
                odd = rack == 5 and slot == 4
                nodes.append(node(f"n{len(nodes)}", compute=900 if odd else 100 if rack < 3 else 200))
                places.append((f"p{pod}", f"r{rack}"))
    problem = IslandsProblem("p", Cluster("c", tuple(nodes), TierNetwork((1, 2, 3), tuple(places))))
    components = split(problem)
    assert components.parts == ()
    sizes = sorted(len(island.nodes) for component in components.settled for island in component)
    # Per pod: three slow racks, two fast ones, and the four like nodes and the odd one of the last rack.
    assert sizes == sorted(4 * [15, 10, 4, 1])
    flat = replace(problem, tolerances=Tolerances(fast_link_bytes_per_s=1))
    assert sorted(len(i.nodes) for c in split(flat).settled for i in c) == [4, 4 * 14, 4 * 15]


def test_more_blocks_than_one_model_can_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_BLOCKS", 2)
    matrix = MatrixNetwork(((0, 5, 6), (5, 0, 6), (6, 6, 0)))
    problem = IslandsProblem("p", Cluster("c", tuple(node(name) for name in "abc"), matrix))
    with pytest.raises(InputError, match=r"p: 3 nodes that would have to be in one model, expected at most 2"):
        whole_part(problem)
