from __future__ import annotations

import networkx as nx
from hypothesis import given, settings
from islands_oracle import is_island
from islands_strategies import problems

from tangram_opt.data.cluster import Cluster, Gpu, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands import check, similarity_components


def test_a_chain_of_alike_nodes_is_one_component_and_no_island() -> None:
    nodes = tuple(
        Node(f"n{i}", Gpu("G", 1000, compute, 80, 1, 1), 1, ((0,),)) for i, compute in enumerate((100, 115, 130))
    )
    problem = IslandsProblem("p", Cluster("c", nodes, TierNetwork((5,), ((),) * 3)))
    chained = similarity_components(problem)
    assert chained.islands == (("n0", "n1", "n2"),)
    assert any("compute" in violation for violation in check(problem, chained))


@settings(max_examples=100, deadline=None)
@given(problems(most=6))
def test_components_are_those_of_the_graph_of_alike_pairs(problem: IslandsProblem) -> None:
    nodes = problem.cluster.nodes
    graph = nx.Graph()
    graph.add_nodes_from(node.name for node in nodes)
    for one in nodes:
        for other in nodes:
            pair = Cluster("c", (one, other), TierNetwork((5,), ((), ()))) if one is not other else None
            if pair is not None and is_island(IslandsProblem("p", pair, problem.tolerances), [0, 1]):
                graph.add_edge(one.name, other.name)
    expected = {frozenset(component) for component in nx.connected_components(graph)}
    assert {frozenset(island) for island in similarity_components(problem).islands} == expected
