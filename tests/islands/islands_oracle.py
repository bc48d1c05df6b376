"""The conditions and objectives of islands as the paper and the tolerances word them, tried on every set partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from tangram_opt.data.island import IslandsProblem, Partition

Value = tuple[int, int, int]


def one_plus(tolerance: float) -> Fraction:
    return 1 + Fraction(str(tolerance))


def link(problem: IslandsProblem, u: int, v: int) -> int:
    bandwidth = problem.cluster.network.bandwidth_bytes_per_s(u, v)
    fast = problem.tolerances.fast_link_bytes_per_s
    return bandwidth if fast is None else min(bandwidth, fast)


def is_island(problem: IslandsProblem, island: Sequence[int]) -> bool:
    """The conditions, word by word: every pair, every direction, every node outside."""
    nodes, tolerances = problem.cluster.nodes, problem.tolerances
    for u, v in product(island, repeat=2):
        if u == v:
            continue
        a, b = nodes[u], nodes[v]
        if a.gpus != b.gpus or link(problem, u, v) == 0:
            return False
        for x, y, tolerance in (
            (a.gpu.matmul_flops_per_s, b.gpu.matmul_flops_per_s, tolerances.compute),
            (a.gpu.memory_bytes, b.gpu.memory_bytes, tolerances.memory),
            (a.intra_bandwidth_bytes_per_s, b.intra_bandwidth_bytes_per_s, tolerances.intra_bandwidth),
        ):
            if x > one_plus(tolerance) * y:
                return False
        for w in range(len(nodes)):
            if w in island:
                continue
            if link(problem, u, v) * one_plus(tolerances.network) < link(problem, u, w):
                return False
    return True


def indices(problem: IslandsProblem, partition: Partition) -> list[list[int]]:
    index = {node.name: i for i, node in enumerate(problem.cluster.nodes)}
    return [[index[name] for name in island] for island in partition.islands]


def obeys(problem: IslandsProblem, partition: Partition) -> bool:
    return all(is_island(problem, island) for island in indices(problem, partition))


def value(problem: IslandsProblem, islands: Sequence[Sequence[int]]) -> Value:
    """Number of islands, compute lost, and the slowest link with its sign turned: less is better in each."""
    nodes = problem.cluster.nodes
    lost, links = 0, []
    for island in islands:
        least = min(nodes[i].gpu.matmul_flops_per_s for i in island)
        lost += sum(nodes[i].gpus * (nodes[i].gpu.matmul_flops_per_s - least) for i in island)
        links += [link(problem, u, v) for u in island for v in island if u != v]
    return len(islands), lost, -min(links, default=0)


def set_partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in set_partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def best_value(problem: IslandsProblem) -> Value:
    """The best of all partitions into islands, which are told apart from other sets of nodes once."""
    size = len(problem.cluster.nodes)
    islands = [
        frozenset(i for i in range(size) if mask >> i & 1)
        for mask in range(1, 1 << size)
        if is_island(problem, [i for i in range(size) if mask >> i & 1])
    ]
    by_first: dict[int, list[frozenset[int]]] = {i: [] for i in range(size)}
    for island in islands:
        by_first[min(island)].append(island)
    best: Value | None = None
    stack: list[tuple[frozenset[int], tuple[frozenset[int], ...]]] = [(frozenset(range(size)), ())]
    while stack:
        left, chosen = stack.pop()
        if left:
            stack += [(left - island, (*chosen, island)) for island in by_first[min(left)] if island <= left]
            continue
        worth = value(problem, [sorted(island) for island in chosen])
        if best is None or worth < best:
            best = worth
    assert best is not None
    return best
