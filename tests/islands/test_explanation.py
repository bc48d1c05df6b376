from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from islands_oracle import is_island, link, one_plus
from islands_strategies import problems

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.errors import InputError
from tangram_opt.islands import Apart, Step, explain


def node(name: str, compute: int = 100) -> Node:
    return Node(name, Gpu("G", 1000, compute, 100, 1, 1), 2, ((0, 100), (100, 0)))


@settings(max_examples=300)
@given(problems(most=6))
def test_an_explanation_is_right_and_every_step_of_it_holds(problem: IslandsProblem) -> None:
    size = len(problem.cluster.nodes)
    index = {node.name: i for i, node in enumerate(problem.cluster.nodes)}
    islands = [
        set(chosen) for k in range(2, size + 1) for chosen in combinations(range(size), k) if is_island(problem, chosen)
    ]
    for u, v in combinations(range(size), 2):
        first, second = (problem.cluster.nodes[i].name for i in (u, v))
        found = explain(problem, first, second)
        holding = [island for island in islands if {u, v} <= island]
        assert found.together == bool(holding)
        inside = {first, second}
        for step in found.steps:
            assert {step.first, step.second} <= inside
            a, b, c = (index[name] for name in (step.first, step.second, step.third))
            assert link(problem, a, c) > one_plus(problem.tolerances.network) * link(problem, a, b)
            inside.add(step.third)
        if holding:
            assert found.apart is None
            assert {index[name] for name in found.island} == set.intersection(*holding)
            assert inside == set(found.island)
        else:
            assert found.apart is not None
            assert {found.apart.first, found.apart.second} <= inside
            pair = [index[found.apart.first], index[found.apart.second]]
            # Nothing but the two decides: they are apart wherever they are.
            alone = IslandsProblem(
                "p", Cluster("c", tuple(problem.cluster.nodes[i] for i in pair), _between(problem, *pair))
            )
            assert not is_island(alone, [0, 1])
            assert len({step.third for step in found.steps}) == len(found.steps)


def _between(problem: IslandsProblem, u: int, v: int) -> MatrixNetwork:
    network = problem.cluster.network
    return MatrixNetwork(((0, network.bandwidth_bytes_per_s(u, v)), (network.bandwidth_bytes_per_s(v, u), 0)))


def test_a_chain_of_reasons_leads_from_two_like_nodes_to_two_unlike_ones() -> None:
    # a asks for c, as it is closer than b; c asks for x, as it is closer than b.
    nodes = (node("a"), node("b"), node("c"), node("d"), node("x", compute=500))
    matrix = ((0, 5, 7, 1, 1), (5, 0, 1, 1, 1), (1, 4, 0, 1, 6), (1, 1, 1, 0, 1), (1, 1, 1, 1, 0))
    problem = IslandsProblem("p", Cluster("c", nodes, MatrixNetwork(matrix)))
    found = explain(problem, "a", "b")
    assert found.steps == (Step("a", "b", "c", 5, 7), Step("c", "a", "x", 1, 6))
    assert found.apart == Apart("a", "x", "compute", 100, 500)
    slack = IslandsProblem("p", problem.cluster, Tolerances(network=0.4))
    assert explain(slack, "a", "b").island == ("a", "b")
    fast = IslandsProblem("p", problem.cluster, Tolerances(fast_link_bytes_per_s=5))
    assert explain(fast, "a", "b").island == ("a", "b")


@pytest.mark.parametrize(
    ("network", "apart"),
    [
        (MatrixNetwork(((0, 0), (3, 0))), Apart("a", "b", "link", 0, 3)),
        (MatrixNetwork(((0, 3), (0, 0))), Apart("b", "a", "link", 0, 3)),
    ],
)
def test_nodes_without_a_link_in_one_direction_are_apart(network: MatrixNetwork, apart: Apart) -> None:
    found = explain(IslandsProblem("p", Cluster("c", (node("a"), node("b")), network)), "a", "b")
    assert found.apart == apart


def test_a_large_island_is_explained_without_comparing_all_pairs() -> None:
    nodes = tuple(node(f"n{i}") for i in range(3000))
    racks = TierNetwork((1, 2), tuple((f"r{i // 500}",) for i in range(3000)))
    found = explain(IslandsProblem("p", Cluster("c", nodes, racks)), "n0", "n600")
    assert found.together
    assert found.island == tuple(f"n{i}" for i in range(1000))
    assert len(found.steps) == 998


@pytest.mark.parametrize(("pair", "words"), [(("a", "z"), "node 'z'"), (("a", "a"), "node 'a' twice")])
def test_wrong_names_are_refused(pair: tuple[str, str], words: str) -> None:
    problem = IslandsProblem("p", Cluster("c", (node("a"), node("b")), TierNetwork((1,), ((), ()))))
    with pytest.raises(InputError, match=words):
        explain(problem, *pair)
