from __future__ import annotations

from fractions import Fraction

import pytest

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import check
from tangram_opt.islands.likeness import ratio_limit


def gpu(compute: int = 100, memory: int = 100) -> Gpu:
    return Gpu("G", 2 * compute, compute, memory, 1, 1)


def node(name: str, compute: int = 100, memory: int = 100, gpus: int = 2, bandwidth: int = 100) -> Node:
    links = tuple(tuple(0 if i == j else bandwidth for j in range(gpus)) for i in range(gpus))
    return Node(name, gpu(compute, memory), gpus, links)


def problem(*nodes: Node, network: MatrixNetwork | TierNetwork | None = None) -> IslandsProblem:
    flat = MatrixNetwork(tuple(tuple(0 if i == j else 7 for j in range(len(nodes))) for i in range(len(nodes))))
    return IslandsProblem("p", Cluster("c", nodes, network or flat))


def partition(*islands: str) -> Partition:
    """Islands of nodes with one-letter names."""
    return Partition("p", tuple(tuple(island) for island in islands))


def test_a_valid_partition_violates_nothing() -> None:
    assert check(problem(node("a"), node("b"), node("c", gpus=4)), partition("ab", "c")) == ()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (node("b", gpus=4), "nodes 'a' and 'b' have 2 and 4 GPUs"),
        (node("b", compute=121), "compute of node 'b' (121) is more than 1.2 times that of node 'a' (100)"),
        (node("b", memory=83), "memory of node 'a' (100) is more than 1.2 times that of node 'b' (83)"),
        (node("b", bandwidth=121), "intra-node bandwidth of node 'b' (121)"),
        (node("b", bandwidth=0), "intra-node bandwidth of node 'a' (100)"),
    ],
)
def test_each_planted_unlikeness_is_found(second: Node, words: str) -> None:
    (found,) = check(problem(node("a"), second), partition("ab"))
    assert words in found
    assert check(problem(node("a"), second), partition("a", "b")) == ()


@pytest.mark.parametrize("figure", ["compute", "memory", "bandwidth"])
def test_a_ratio_of_exactly_one_plus_tolerance_is_allowed(figure: str) -> None:
    large = 10**17  # in binary floating point 1.2 * large is below the exact product
    assert int(1.2 * large) < 12 * large // 10 + 1
    for value, violations in [(12 * large // 10, 0), (12 * large // 10 + 1, 1)]:
        nodes = [node("a", **{figure: large}), node("b", **{figure: value})]
        assert len(check(problem(*nodes), partition("ab"))) == violations


def test_a_tolerance_is_the_decimal_that_is_written() -> None:
    assert ratio_limit(0.2) == Fraction(6, 5)
    assert ratio_limit(1e-07) == 1 + Fraction(1, 10**7)
    assert ratio_limit(0.0) == 1


def test_nodes_with_one_gpu_each_have_no_intra_node_bandwidth_to_differ_in() -> None:
    assert check(problem(node("a", gpus=1), node("b", gpus=1)), partition("ab")) == ()


@pytest.mark.parametrize(
    ("islands", "words"),
    [
        (("ab",), "node 'c' is in no island"),
        (("ab", "bc"), "node 'b' is named 2 times"),
        (("aa", "bc"), "node 'a' is named 2 times"),
        (("abc", "x"), "node 'x' is not in the cluster"),
        (("abc", ""), "island 2 has no nodes"),
    ],
)
def test_every_node_is_in_exactly_one_island(islands: tuple[str, ...], words: str) -> None:
    found = check(problem(node("a"), node("b"), node("c")), partition(*islands))
    assert any(words in text for text in found)


def test_a_partition_of_another_problem_is_refused() -> None:
    (found,) = check(problem(node("a")), Partition("q", (("a",),)))
    assert "'q'" in found


def test_a_faster_link_out_of_an_island_is_found_in_its_direction() -> None:
    nodes = [node(name) for name in "abc"]
    network = MatrixNetwork(((0, 5, 5), (5, 0, 6), (9, 9, 0)))
    (found,) = check(problem(*nodes, network=network), partition("ab", "c"))
    assert "link from node 'b' to 'a' inside it (5 bytes/s) is slower than the one to 'c' outside (6 bytes/s)" in found
    # Links into the island (from c, at 9) and ties (a to c, at 5) are no violation.
    network = MatrixNetwork(((0, 5, 5), (5, 0, 5), (9, 9, 0)))
    assert check(problem(*nodes, network=network), partition("ab", "c")) == ()


def test_an_island_across_racks_must_hold_both_racks_whole() -> None:
    nodes = [node(name) for name in "abcdef"]
    network = TierNetwork((1, 2, 3), (("p", "r"), ("p", "r"), ("p", "s"), ("p", "s"), ("q", "r"), ("q", "r")))
    assert check(problem(*nodes, network=network), partition("abcd", "ef")) == ()
    assert check(problem(*nodes, network=network), partition("a", "b", "c", "d", "ef")) == ()
    (found,) = check(problem(*nodes, network=network), partition("abc", "d", "ef"))
    assert "from node 'c' to 'a' inside it (2 bytes/s)" in found or "from node 'c' to 'b' inside it" in found
    assert "to 'd' outside (3 bytes/s)" in found
    assert len(check(problem(*nodes, network=network), partition("abef", "cd"))) == 1
