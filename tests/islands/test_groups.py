from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import agglomerate, build_islands, check, links


def node(name: str, gpu: Gpu, link: int = 9, host: int | None = None) -> Node:
    return Node(name, gpu, 2, ((0, link), (link, 0)), host)


FAST = Gpu("Fast", 200, 100, 80, 9, 8)
SLOW = Gpu("Slow", 210, 90, 85, 10, 7)


def test_an_island_is_as_good_as_its_worst_node_figure_by_figure() -> None:
    asymmetric = MatrixNetwork(((0, 5, 1), (4, 0, 1), (1, 1, 0)))
    nodes = (
        Node("a", FAST, 2, ((0, 9), (8, 0)), 100),
        Node("b", SLOW, 2, ((0, 8), (9, 0)), 90),
        Node("c", FAST, 2, ((0, 9), (9, 0)), None),
    )
    cluster = Cluster("c", nodes, asymmetric)
    pair, alone = build_islands(cluster, Partition("p", (("b", "a"), ("c",))))
    assert pair.island.gpu == Gpu("Fast/Slow", 200, 90, 80, 9, 7)
    assert pair.island.name == "Fast/Slow x4"
    assert pair.island.link_bytes_per_s == ((0, 8), (8, 0))
    assert pair.island.network_bytes_per_s == 4
    assert pair.island.host_memory_bytes == 90
    assert pair.members == ((0, 1),)
    assert alone.island.network_bytes_per_s == 0
    assert alone.island.host_memory_bytes is None
    assert links(cluster, (pair, alone)) == ((0, 1), (1, 0))


def test_one_node_without_known_host_memory_leaves_the_island_without() -> None:
    cluster = Cluster("c", (node("a", FAST, host=5), node("b", FAST)), TierNetwork((3,), ((), ())))
    (group,) = build_islands(cluster, Partition("p", (("a", "b"),)))
    assert group.island.host_memory_bytes is None


def test_islands_that_differ_only_in_their_links_are_classes_of_their_own() -> None:
    # a and b are far from each other and equally close to c; d is close to a alone.
    nodes = tuple(node(name, FAST) for name in "ab") + tuple(node(name, SLOW, link=3) for name in "cd")
    near_c = MatrixNetwork(((0, 1, 5, 2), (1, 0, 5, 2), (5, 5, 0, 2), (2, 2, 2, 0)))
    partition = Partition("p", (("a",), ("b",), ("c",), ("d",)))
    pair, c, d = build_islands(Cluster("c", nodes, near_c), partition)
    assert (pair.count, pair.island.name, pair.members) == (2, "Fast x2", ((0,), (1,)))
    assert [c.island.name, d.island.name] == ["Slow x2 a", "Slow x2 b"]
    assert links(Cluster("c", nodes, near_c), (pair, c, d)) == ((1, 5, 2), (5, 0, 2), (2, 2, 0))
    one_way = MatrixNetwork(((0, 1, 5, 2), (1, 0, 5, 2), (5, 5, 0, 2), (3, 2, 2, 0)))
    assert [group.count for group in build_islands(Cluster("c", nodes, one_way), partition)] == [1, 1, 1, 1]


@settings(max_examples=150)
@given(st.data())
def test_classes_and_links_are_those_of_the_definition(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 7))
    nodes = tuple(
        node(f"n{i}", data.draw(st.sampled_from([FAST, SLOW])), data.draw(st.sampled_from([1, 9]))) for i in range(size)
    )
    network: MatrixNetwork | TierNetwork
    if data.draw(st.booleans()):
        entry = st.integers(0, 2)
        rows = tuple(tuple(0 if i == j else data.draw(entry) for j in range(size)) for i in range(size))
        network = MatrixNetwork(rows)
    else:
        place = st.sampled_from(["x", "y"])
        network = TierNetwork((1, 2, 3), tuple((data.draw(place), data.draw(place)) for _ in range(size)))
    cluster = Cluster("c", nodes, network)
    partition = agglomerate(IslandsProblem("p", cluster))
    groups = build_islands(cluster, partition)
    matrix = links(cluster, groups)
    assert sorted(i for group in groups for island in group.members for i in island) == list(range(size))
    assert len({group.island.name for group in groups}) == len(groups)
    for a, group in enumerate(groups):
        for b, other in enumerate(groups):
            between = {
                min(network.bandwidth_bytes_per_s(u, v) for u in island for v in target)
                for island in group.members
                for target in other.members
                if island != target
            }
            # One value for all islands of the two classes: that is what makes them interchangeable.
            assert between == ({matrix[a][b]} if between else set())
        for island in group.members:
            inside = [network.bandwidth_bytes_per_s(u, v) for u in island for v in island if u != v]
            assert group.island.network_bytes_per_s == min(inside, default=0)


def test_thirteen_hundred_nodes_on_tiers_become_their_pods() -> None:
    nodes = tuple(node(f"n{i}", FAST if i % 2 else SLOW, link=9 if i % 2 else 3) for i in range(1300))
    network = TierNetwork((1, 2), tuple((f"pod{i % 26}",) for i in range(1300)))
    problem = IslandsProblem("p", Cluster("c", nodes, network))
    partition = agglomerate(problem)
    assert check(problem, partition) == ()
    groups = build_islands(problem.cluster, partition)
    assert sum(group.count for group in groups) == len(partition.islands) == 2
    assert {group.island.nodes for group in groups} == {650}
