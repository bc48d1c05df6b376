from __future__ import annotations

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
