from __future__ import annotations

from dataclasses import replace

from tangram_opt.catalogue import find_gpu
from tangram_opt.data.cluster import Cluster, MachinePart, Node, TierNetwork
from tangram_opt.show import machine_notes


def part(machine: str, gpu: str, *gpus: int) -> Node:
    size = len(gpus)
    return Node(
        f"{machine}/{gpu}", find_gpu(gpu), size, ((0,) * size,) * size, part_of=MachinePart(machine, tuple(gpus))
    )


def cluster(*nodes: Node) -> Cluster:
    return Cluster("c", nodes, TierNetwork((1,), ((),) * len(nodes)))


def test_whole_machines_need_no_note() -> None:
    assert machine_notes(cluster(replace(part("a", "T4", 0), part_of=None))) == ()


def test_machines_of_one_kind_share_a_note_that_names_every_gpu() -> None:
    nodes = [part(name, gpu, *gpus) for name in ("n1", "n2") for gpu, gpus in (("T4", (0, 1, 3)), ("L4", (2,)))]
    assert machine_notes(cluster(*nodes, part("m", "L4", 0), part("m", "T4", 1))) == (
        "machines n[1-2] count as 2 nodes, one for each GPU model: T4 (GPUs 0-1,3) and L4 (GPU 2)",
        "machine m counts as 2 nodes, one for each GPU model: L4 (GPU 0) and T4 (GPU 1)",
    )
