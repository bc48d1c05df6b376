"""Real machines in a cluster document: several GPU models in one of them, and nodes that were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangram_opt.catalogue import find_gpu
from tangram_opt.data.cluster import Cluster, MachinePart, MatrixNetwork, TierNetwork
from tangram_opt.documents import dumps, load_cluster
from tangram_opt.errors import InputError

HEAD = "format: tangram-opt/cluster\nversion: 1\nname: c\n"
GIGA = 10**9


def cluster_of(tmp_path: Path, text: str) -> Cluster:
    (tmp_path / "c.yaml").write_text(HEAD + text)
    return load_cluster(tmp_path / "c.yaml")


# GPUs 0 and 2 are T4, 1 and 3 are L4; from 0 to 3 the bus is slower than from 3 to 0.
INTERLEAVED = """
nodes:
  - name: box
    gpu: [T4, L4, Tesla T4, L4]
    gpus_per_node: 4
    intra_node_gb_per_s: [[0, 9, 5, 3], [9, 0, 9, 6], [7, 9, 0, 9], [4, 8, 9, 0]]
    host_memory_gb: 10
  - {name: plain, gpu: T4, gpus_per_node: 1}
"""


def test_a_machine_with_two_models_is_a_node_for_each_with_its_own_links(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, INTERLEAVED + "network: {matrix_gb_per_s: [[0, 2], [1, 0]]}\n")
    t4, l4, plain = cluster.nodes
    assert [node.name for node in cluster.nodes] == ["box/T4", "box/L4", "plain"]
    assert (t4.gpu, l4.gpu) == (find_gpu("T4"), find_gpu("L4"))
    assert (t4.part_of, l4.part_of) == (MachinePart("box", (0, 2)), MachinePart("box", (1, 3)))
    assert plain.part_of is None
    assert t4.link_bytes_per_s == ((0, 5 * GIGA), (7 * GIGA, 0))
    assert l4.link_bytes_per_s == ((0, 6 * GIGA), (8 * GIGA, 0))


def test_parts_share_the_host_memory_and_lose_no_gpu(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, INTERLEAVED + "network: {matrix_gb_per_s: [[0, 2], [1, 0]]}\n")
    assert [node.host_memory_bytes for node in cluster.nodes[:2]] == [5 * GIGA, 5 * GIGA]
    assert cluster.gpus == 5


def test_the_link_between_parts_is_the_slowest_between_their_gpus_in_that_direction(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, INTERLEAVED + "network: {matrix_gb_per_s: [[0, 2], [1, 0]]}\n")
    # From GPUs 0, 2 to 1, 3: 9, 3, 9, 9. Back: 9, 9, 4, 9.
    assert cluster.network == MatrixNetwork(((0, 3 * GIGA, 2 * GIGA), (4 * GIGA, 0, 2 * GIGA), (1 * GIGA, 1 * GIGA, 0)))


def test_a_group_of_mixed_machines_numbers_the_machines(tmp_path: Path) -> None:
    cluster = cluster_of(
        tmp_path,
        """
nodes:
  - {name: n, count: 2, gpu: [T4, L4, L4], gpus_per_node: 3, intra_node_gb_per_s: 4}
network: {between_groups_gb_per_s: {n: {n: 1}}}
""",
    )
    assert [node.name for node in cluster.nodes] == ["n-1/T4", "n-1/L4", "n-2/T4", "n-2/L4"]
    assert [node.gpus for node in cluster.nodes] == [1, 2, 1, 2]
    one, four = GIGA, 4 * GIGA
    assert cluster.network == MatrixNetwork(
        ((0, four, one, one), (four, 0, one, one), (one, one, 0, four), (one, one, four, 0))
    )


TIERS = """
nodes:
  - {{name: a, gpu: [T4, L4], gpus_per_node: 2, intra_node_gb_per_s: {a}, position: [r1]}}
  - {{name: b, gpu: [T4, L4, L40S], gpus_per_node: 3, intra_node_gb_per_s: {b}, position: [r1]}}
  - {{name: c, gpu: T4, gpus_per_node: 1, position: [r2]}}
network: {{tiers: [{{name: all, gb_per_s: 1}}, {{name: rack, gb_per_s: 10}}]}}
"""


@pytest.mark.parametrize(("a", "b"), [(10, 10), (10, 20), (30, 20), (5, 20), (20, 5)])
def test_links_inside_machines_are_what_they_are_on_tiers_too(tmp_path: Path, a: int, b: int) -> None:
    cluster = cluster_of(tmp_path, TIERS.format(a=a, b=b))
    slow_bus = min(a, b) < 10
    assert isinstance(cluster.network, MatrixNetwork if slow_bus else TierNetwork)
    machines = {"a": ("r1", a), "b": ("r1", b), "c": ("r2", 0)}
    for i, source in enumerate(cluster.nodes):
        for j, target in enumerate(cluster.nodes):
            if i == j:
                continue
            (one, other) = (node.name.partition("/")[0] for node in (source, target))
            same_rack = machines[one][0] == machines[other][0]
            expected = machines[one][1] if one == other else 10 if same_rack else 1
            assert cluster.network.bandwidth_bytes_per_s(i, j) == expected * GIGA, (source.name, target.name)


def test_a_machine_whose_parts_have_unequal_links_leaves_the_tiers(tmp_path: Path) -> None:
    uneven = "[[0, 20, 30], [20, 0, 20], [30, 20, 0]]"
    cluster = cluster_of(tmp_path, TIERS.format(a=20, b=uneven))
    assert isinstance(cluster.network, MatrixNetwork)
    names = [node.name for node in cluster.nodes]
    t4, l40s = names.index("b/T4"), names.index("b/L40S")
    assert cluster.network.bandwidth_bytes_per_s(t4, l40s) == 30 * GIGA


def test_too_many_nodes_for_a_matrix_are_refused_where_tiers_cannot_hold_the_machines(tmp_path: Path) -> None:
    text = TIERS.format(a=5, b=5) + ""
    text = text.replace("{name: c,", "{name: c, count: 5000,")
    with pytest.raises(InputError, match=r"network\.tiers: 5005 nodes.*expected at most 4096 nodes"):
        cluster_of(tmp_path, text)
    cluster_of(tmp_path, text.replace("intra_node_gb_per_s: 5", "intra_node_gb_per_s: 10"))


def test_equal_gpus_under_two_spellings_are_one_node(tmp_path: Path) -> None:
    cluster = cluster_of(
        tmp_path, "nodes: [{name: a, gpu: [T4, Tesla T4], gpus_per_node: 2, intra_node_gb_per_s: 1}]\n"
    )
    assert [(node.name, node.gpus, node.part_of) for node in cluster.nodes] == [("a", 2, None)]


@pytest.mark.parametrize("gpus", [1, 2, 4, 6, 8, 16])
def test_nodes_of_every_usual_size_load_as_one_number_and_as_a_matrix(tmp_path: Path, gpus: int) -> None:
    rows = [[0 if i == j else 7 for j in range(gpus)] for i in range(gpus)]
    group = "nodes: [{{name: a, gpu: T4, gpus_per_node: {}, intra_node_gb_per_s: {}}}]\n"
    by_number = cluster_of(tmp_path, group.format(gpus, 7))
    assert by_number == cluster_of(tmp_path, group.format(gpus, rows))
    assert by_number.nodes[0].intra_bandwidth_bytes_per_s == (7 * GIGA if gpus > 1 else 0)


MEASURED = """
nodes:
  - name: n
    count: 10
    gpu: T4
    gpus_per_node: 2
    intra_node_gb_per_s: 10
    gpu_overrides: {matmul_tflops: 40}
    node_overrides:
      n-03: {derate: 0.9}
      n-07: {matmul_tflops: 41.5, intra_node_gb_per_s: 9.5, memory_gb: 15}
network: {tiers: [{name: all, gb_per_s: 1}]}
"""


def test_a_measured_node_differs_from_its_group_in_what_was_measured_and_nothing_else(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, MEASURED)
    figures = {
        (node.gpu.matmul_flops_per_s, node.gpu.memory_bytes, node.intra_bandwidth_bytes_per_s)
        for node in cluster.nodes
        if node.name not in ("n-03", "n-07")
    }
    plain = find_gpu("T4")
    assert figures == {(40 * 10**12, plain.memory_bytes, 10 * GIGA)}
    hot, other = cluster.nodes[2], cluster.nodes[6]
    assert (hot.gpu.matmul_flops_per_s, hot.intra_bandwidth_bytes_per_s) == (36 * 10**12, 10 * GIGA)
    assert (other.gpu.matmul_flops_per_s, other.gpu.memory_bytes) == (41_500_000_000_000, 15 * GIGA)
    assert other.link_bytes_per_s == ((0, 9_500_000_000), (9_500_000_000, 0))
    assert {node.gpu.peak_flops_per_s for node in cluster.nodes} == {plain.peak_flops_per_s}


def test_a_split_cluster_is_saved_and_loaded_as_it_was(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, INTERLEAVED + "network: {matrix_gb_per_s: [[0, 2], [1, 0]]}\n")
    (tmp_path / "saved.json").write_text(dumps(cluster))
    assert load_cluster(tmp_path / "saved.json") == cluster
    wrong = dumps(cluster).replace('"gpus": [0, 2]', '"gpus": [0]')
    (tmp_path / "saved.json").write_text(wrong)
    with pytest.raises(InputError, match=r"'box/T4': part_of: 1 GPUs of machine 'box', expected 2"):
        load_cluster(tmp_path / "saved.json")
