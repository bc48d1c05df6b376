"""Random small clusters against all set partitions and the conditions as the paper writes them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from islands_oracle import obeys, set_partitions
from islands_strategies import problems

from tangram_opt.backend import SolveOptions
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import AgglomerativeBackend, agglomerate, check, likeness_bound
from tangram_opt.result import Outcome


@settings(max_examples=300)
@given(problems(most=9))
def test_the_greedy_partition_is_always_valid_and_the_same_again(problem: IslandsProblem) -> None:
    partition = agglomerate(problem)
    assert check(problem, partition) == ()
    assert obeys(problem, partition)
    assert agglomerate(problem) == partition


@settings(max_examples=60)
@given(problems(most=5))
def test_check_agrees_with_the_conditions_on_every_set_partition(problem: IslandsProblem) -> None:
    fewest = len(problem.cluster.nodes)
    names = [node.name for node in problem.cluster.nodes]
    for islands in set_partitions(list(range(len(names)))):
        partition = Partition("p", tuple(tuple(names[i] for i in island) for island in islands))
        valid = obeys(problem, partition)
        assert (check(problem, partition) == ()) == valid
        if valid:
            fewest = min(fewest, len(islands))
    assert likeness_bound(problem) <= fewest <= len(agglomerate(problem).islands)


@settings(max_examples=100)
@given(problems(most=7))
def test_a_tier_network_and_its_matrix_are_judged_alike(problem: IslandsProblem) -> None:
    cluster = problem.cluster
    size = range(len(cluster.nodes))
    matrix = tuple(tuple(0 if i == j else cluster.network.bandwidth_bytes_per_s(i, j) for j in size) for i in size)
    flat = replace(problem, cluster=replace(cluster, network=MatrixNetwork(matrix)))
    for tried in (agglomerate(problem), agglomerate(flat)):
        assert check(problem, tried) == check(flat, tried) == ()


def test_likeness_does_not_chain() -> None:
    links = ((0, 100), (100, 0))
    nodes = tuple(Node(f"n{c}", Gpu("G", 1000, c, 100, 1, 1), 2, links) for c in (100, 115, 130, 145))
    flat = MatrixNetwork(tuple(tuple(0 if i == j else 1 for j in range(4)) for i in range(4)))
    problem = IslandsProblem("p", Cluster("c", nodes, flat))
    assert len(agglomerate(problem).islands) == likeness_bound(problem) == 2


def test_equal_nodes_of_a_flat_network_are_one_island_which_is_proven_fewest() -> None:
    nodes = tuple(Node(f"n{i}", Gpu("G", 1000, 100, 100, 1, 1), 1, ((0,),)) for i in range(20))
    problem = IslandsProblem("p", Cluster("c", nodes, TierNetwork((5,), ((),) * 20)))
    result = AgglomerativeBackend().solve(problem, SolveOptions())
    assert result.outcome is Outcome.OPTIMAL
    assert result.objective == 1


def test_greedy_is_not_always_fewest_and_then_claims_no_proof() -> None:
    # 118 and 122 join first, as the closest; 100 and 144 then stay alone.
    links = ((0, 100), (100, 0))
    nodes = tuple(Node(f"n{c}", Gpu("G", 1000, c, 100, 1, 1), 2, links) for c in (100, 118, 122, 144))
    flat = MatrixNetwork(tuple(tuple(0 if i == j else 1 for j in range(4)) for i in range(4)))
    problem = IslandsProblem("p", Cluster("c", nodes, flat))
    assert check(problem, Partition("p", (("n100", "n118"), ("n122", "n144")))) == ()
    result = AgglomerativeBackend().solve(problem, SolveOptions())
    assert (result.objective, result.bound, result.outcome) == (3, 2, Outcome.FEASIBLE)


def test_a_node_that_cannot_join_does_not_keep_its_neighbours_apart() -> None:
    # Racks {a, b}, {c, x}, {d, e} of one pod; x is unlike all others, so c may leave its rack for nobody. It is the
    # closest to a and b, and is proposed to them before d and e are.
    links = ((0, 100), (100, 0))
    compute = {"a": 100, "b": 101, "c": 100, "x": 900, "d": 110, "e": 111}
    nodes = tuple(Node(name, Gpu("G", 1000, c, 100, 1, 1), 2, links) for name, c in compute.items())
    racks = TierNetwork((1, 2), (("r",), ("r",), ("s",), ("s",), ("t",), ("t",)))
    problem = IslandsProblem("p", Cluster("c", nodes, racks))
    assert agglomerate(problem).islands == (("a", "b", "d", "e"), ("c",), ("x",))
