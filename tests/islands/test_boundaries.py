"""What keeps islands apart is a condition that one island of both would violate, and the nodes that show it."""

from __future__ import annotations

from hypothesis import given, settings
from islands_oracle import is_island, link, one_plus, set_partitions, value
from islands_strategies import problems

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import Apart, Boundary, Step, boundaries, build_islands


def node(name: str, compute: int = 100, gpus: int = 1) -> Node:
    return Node(name, Gpu("G", 1000, compute, 80, 1, 1), gpus, ((0,) * gpus,) * gpus)


def boundary(cluster: Cluster) -> Boundary:
    """What is between the first node of a cluster and the second, where each node is an island."""
    problem = IslandsProblem("p", cluster)
    groups = build_islands(cluster, Partition("p", tuple((each.name,) for each in cluster.nodes)))
    return next(iter(boundaries(problem, groups)))


def test_a_node_that_runs_hot_is_named_with_its_figures() -> None:
    cluster = Cluster("c", (node("cool"), node("hot", 83)), TierNetwork((5,), ((), ())))
    assert boundary(cluster) == Boundary(0, 1, (Apart("hot", "cool", "compute", 83, 100),), None)


def test_all_differences_are_named() -> None:
    few, many = node("few", 100, 1), node("many", 300, 2)
    found = boundary(Cluster("c", (few, many), TierNetwork((5,), ((), ()))))
    assert [each.what for each in found.apart] == ["GPUs per node", "compute"]
    assert (found.apart[0].less, found.apart[0].more) == (1, 2)


def test_a_missing_link_is_named_in_its_direction() -> None:
    cluster = Cluster("c", (node("a"), node("b")), MatrixNetwork(((0, 5), (0, 0))))
    assert boundary(cluster) == Boundary(0, 1, (Apart("b", "a", "link", 0, 5),), None)


def test_a_faster_link_to_a_third_is_the_network() -> None:
    nodes = (node("a"), node("b"), node("c", 900))
    cluster = Cluster("c", nodes, MatrixNetwork(((0, 5, 7), (5, 0, 5), (7, 5, 0))))
    assert boundary(cluster) == Boundary(0, 1, (), Step("a", "b", "c", 5, 7))


def test_islands_that_could_be_one_have_no_boundary() -> None:
    assert boundary(Cluster("c", (node("a"), node("b")), TierNetwork((5,), ((), ())))) == Boundary(0, 0, (), None)


@settings(max_examples=100)
@given(problems(most=5))
def test_fewest_islands_always_have_a_boundary_and_it_is_a_true_one(problem: IslandsProblem) -> None:
    nodes = problem.cluster.nodes
    allowed = (
        islands
        for islands in set_partitions(list(range(len(nodes))))
        if all(is_island(problem, island) for island in islands)
    )
    best = min(allowed, key=lambda islands: value(problem, islands))
    partition = Partition("p", tuple(tuple(nodes[i].name for i in island) for island in best))
    groups = build_islands(problem.cluster, partition)
    index = {each.name: i for i, each in enumerate(nodes)}
    found = list(boundaries(problem, groups))
    classes = len(groups)
    assert len(found) == classes * (classes - 1) // 2 + sum(group.count > 1 for group in groups)
    for each in found:
        assert bool(each.apart) != (each.network is not None)
        for apart in each.apart:
            assert not is_island(problem, [index[apart.first], index[apart.second]])
            assert apart.less < apart.more or apart.what == "link"
        if each.network is not None:
            u, v, w = (index[name] for name in (each.network.first, each.network.second, each.network.third))
            assert link(problem, u, v) * one_plus(problem.tolerances.network) < link(problem, u, w)
