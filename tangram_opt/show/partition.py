"""The islands of a partition in a terminal: what each is, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rich.console import Console

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.data.units import GIGA, TERA
from tangram_opt.islands import IslandGroup, boundaries, build_islands, evaluate, links
from tangram_opt.islands.likeness import ATTRIBUTES, ratio_limit, ratio_limits
from tangram_opt.show.explanation import boundary_text
from tangram_opt.show.names import compress_names
from tangram_opt.show.tables import Column, print_line, print_table
from tangram_opt.show.units import count, decimals, gib, percent

MOST_CLASSES_IN_A_MATRIX = 12
MOST_LINES = 66
"""Lines of a list that are printed: enough for the pairs of twelve classes."""


def print_partition(problem: IslandsProblem, partition: Partition, console: Console) -> None:
    """Print the islands of a partition, equal ones on one row, and the slowest links between them.

    Parameters
    ----------
    problem : IslandsProblem
        The problem; it has the cluster.
    partition : Partition
        Its solution.
    console : rich.console.Console
        Where to.
    """
    groups = build_islands(problem.cluster, partition)
    print_table(
        console,
        [
            Column("", number=True),
            Column("island"),
            Column("how many", number=True),
            Column("nodes x GPUs", number=True),
            Column("matmul TFLOP/s\nper GPU", number=True),
            Column("memory GiB\nper GPU", number=True),
            Column("inside a node\nGB/s", number=True),
            Column("between nodes\nGB/s", number=True),
            Column("nodes"),
        ],
        [
            (
                str(number),
                group.island.name,
                str(group.count),
                f"{group.island.nodes} x {group.island.gpus_per_node}",
                _teraflops(group.island.gpu.matmul_flops_per_s),
                gib(group.island.gpu.memory_bytes),
                _gigabytes(group.island.group_bandwidth_bytes_per_s(group.island.gpus_per_node))
                if group.island.gpus_per_node > 1
                else "",
                _gigabytes(group.island.network_bytes_per_s) if group.island.nodes > 1 else "",
                "; ".join(compress_names(names) for names in group.node_names(problem.cluster)),
            )
            for number, group in enumerate(groups, 1)
        ],
    )
    if len(partition.islands) > 1:
        _print_links(problem.cluster, groups, console)
        _print_boundaries(problem, groups, console)
    _print_lost(problem, partition, groups, console)


def _print_lost(problem: IslandsProblem, partition: Partition, groups: Sequence[IslandGroup], console: Console) -> None:
    """Print the compute that islands lose to their slowest nodes, and which these are."""
    nodes = problem.cluster.nodes
    lost = evaluate(problem, partition).compute_lost_flops_per_s
    whole = sum(node.gpus * node.gpu.matmul_flops_per_s for node in nodes)
    print_line(console)
    print_line(
        console,
        f"Compute lost, as an island counts as its slowest node: {_teraflops(lost)} TFLOP/s, {percent(lost / whole)}",
    )
    slowed = []
    for number, group in enumerate(groups, 1):
        for members in group.members:
            slowest, fastest = (pick(members, key=lambda i: nodes[i].gpu.matmul_flops_per_s) for pick in (min, max))
            least, most = (nodes[i].gpu.matmul_flops_per_s for i in (slowest, fastest))
            if least < most:
                slowed.append(
                    f"island {number} runs at the {_teraflops(least)} TFLOP/s of {nodes[slowest].name}, "
                    f"{nodes[fastest].name} reaches {_teraflops(most)}"
                )
    for line in slowed[:MOST_LINES]:
        print_line(console, f"  {line}")
    _print_more(len(slowed), console)


def _print_boundaries(problem: IslandsProblem, groups: Sequence[IslandGroup], console: Console) -> None:
    """Print for each pair of classes what keeps their first islands from being one."""
    print_line(console)
    print_line(console, "What keeps islands apart")
    rows = [
        (f"{each.first + 1}", f"{each.second + 1}", boundary_text(each))
        for each in islice(boundaries(problem, groups), MOST_LINES)
    ]
    print_table(console, [Column("", number=True), Column("and", number=True), Column("by")], rows)
    _print_more(sum(group.count > 1 for group in groups) + len(groups) * (len(groups) - 1) // 2, console)
    limits = (*ratio_limits(problem.tolerances), ratio_limit(problem.tolerances.network))
    allowed = (f"{what} {float(limit):g} times" for what, limit in zip((*ATTRIBUTES, "network"), limits, strict=True))
    print_line(console, f"(allowed: {', '.join(allowed)})")


def _print_links(cluster: Cluster, groups: tuple[IslandGroup, ...], console: Console) -> None:
    names = [group.island.name for group in groups]
    between = links(cluster, groups)
    print_line(console)
    print_line(console, "Slowest links between islands, GB/s")
    if len(groups) <= MOST_CLASSES_IN_A_MATRIX:
        columns = [
            Column("", number=True),
            Column("from \\ to"),
            *(Column(str(number), number=True) for number in range(1, len(names) + 1)),
        ]
        rows = [
            (str(i + 1), name, *(_link(groups, between, i, j) for j in range(len(groups))))
            for i, name in enumerate(names)
        ]
    else:
        columns = [Column("from"), Column("to"), Column("GB/s", number=True)]
        rows = [
            (names[i], names[j], _link(groups, between, i, j))
            for i in range(len(groups))
            for j in range(len(groups))
            if i != j or groups[i].count > 1
        ]
    print_table(console, columns, rows[:MOST_LINES])
    _print_more(len(rows), console)


def _link(groups: tuple[IslandGroup, ...], between: tuple[tuple[int, ...], ...], i: int, j: int) -> str:
    # The diagonal is between islands of one class: a class with one island has no such link.
    return "" if i == j and groups[i].count == 1 else _gigabytes(between[i][j])


def _gigabytes(bytes_per_s: int) -> str:
    return decimals(bytes_per_s / GIGA, 3)


def _teraflops(flops_per_s: int) -> str:
    return decimals(flops_per_s / TERA, 3)


def _print_more(length: int, console: Console) -> None:
    """Say how long a list is whose first lines were printed."""
    if length > MOST_LINES:
        print_line(console, f"and {count(length - MOST_LINES)} more, which --json has")
