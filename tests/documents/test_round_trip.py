"""What is saved is loaded again as it was, and hand-written clusters mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tangram_opt.catalogue import find_gpu, find_recipe
from tangram_opt.data.cluster import Cluster, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.composition import (
    Composition,
    CompositionProblem,
    IslandClass,
    Option,
    Pick,
    SignatureRun,
    Stage,
)
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.data.model import Atom, AtomRun, Model
from tangram_opt.data.plan import GpuRange, Plan, PlannedStage, SearchReport, UnusedIsland
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.documents import (
    KINDS,
    dumps,
    load_cluster,
    load_composition,
    load_composition_problem,
    load_instance,
    load_islands_problem,
    load_model,
    load_partition,
    load_plan,
    load_planning_problem,
    save,
    schema,
)
from tangram_opt.documents.saving import LEFT_OUT
from tangram_opt.errors import InputError

ATOM = Atom("layer", "layer-ä", 8, 100, 0, 0, 0, 0, 200, 0, 4, None, 2, 1, 16, 99, 5, 16, 2)
MODEL = Model("m", "llama", (AtomRun(ATOM, 3),))
NODES = (Node("a", find_gpu("T4"), 2, ((0, 5), (6, 0)), 7), Node("b", find_gpu("L4"), 1, ((0,),)))
CLUSTER = Cluster("matrix", NODES, MatrixNetwork(((0, 1), (2, 0))))
TIERED = Cluster("tiers", NODES, TierNetwork((1, 2), (("x",), ("y",))))
RUNS = (SignatureRun("layer", 2),)
STAGE = Stage(2, 10**12, 2 * 10**12, 3, 4, 5)
PROBLEM = CompositionProblem(
    "p",
    4,
    RUNS,
    (IslandClass("a", 1, 10), IslandClass("b", 2, 10)),
    tuple(
        Option(k, RUNS, (STAGE,), (), d, k, k, {"tp": 2, "zero": True, "recompute": "full"})
        for k, d in [("a", 1), ("b", None)]
    ),
    ("a", "b"),
    ((0, 1), (1, 0)),
    ("a",),
)
PLANNED = PlannedStage(
    "a", "T4", (GpuRange("a", 0, 2),), 0, 3, True, True, 0, 3, {"tp": 2}, 1, 2, 0, 4, 5, 6, 1, 100
)  # fmt: skip
PLAN = Plan(
    "p", "c", "m", 3, 300, 300, 9, 10, 3, 8, 128, 2, "mixed-adam", (PLANNED,), "feasible", 50, None, 60,
    (UnusedIsland("b", 1, 1, None, "too slow"),), 0,
    SearchReport("uniform", "dp", "1", 5, {"imbalance": 2}, 3, 2, (1, 2), 0.5, 0.25),
)  # fmt: skip
PLANNING = PlanningProblem(
    "p", TIERED, MODEL, 12, 128, 3, find_recipe("mixed-adam"), Tolerances(0.1, 0.2, 0.3), Pruning(False, None, True)
)

SAVED: list[tuple[Any, Any]] = [
    (CLUSTER, load_cluster),
    (TIERED, load_cluster),
    (MODEL, load_model),
    (IslandsProblem("i", CLUSTER, Tolerances(0.1, 0, 1e-7)), load_islands_problem),
    (Partition("i", (("a",), ("b",))), load_partition),
    (PROBLEM, load_composition_problem),
    (Composition("p", (Pick(1, 0),)), load_composition),
    (PLANNING, load_planning_problem),
    (PLAN, load_plan),
]


@pytest.mark.parametrize(("value", "load"), SAVED)
def test_what_is_saved_is_loaded_as_it_was_and_saved_alike(value: Any, load: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    save(value, path)
    assert load(path) == value
    assert dumps(load(path)) == path.read_text(encoding="utf-8") == dumps(value)
    assert [file.name for file in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("value", [IslandsProblem("i", CLUSTER), PROBLEM, PLANNING])
def test_an_instance_is_loaded_by_its_format(value: Any, tmp_path: Path) -> None:
    save(value, tmp_path / "x.json")
    assert load_instance(tmp_path / "x.json") == value


def test_every_kind_of_document_is_saved_above_and_has_a_schema_that_names_its_fields(tmp_path: Path) -> None:
    seen = set()
    for value, _ in SAVED:
        document = json.loads(dumps(value))
        kind = document["format"].removeprefix("tangram-opt/")
        seen.add(kind)
        described = schema(kind)
        bodies = [described["$defs"][ref["$ref"].split("/")[-1]] for ref in described.get("oneOf", ())] or [described]
        assert any(set(document) | set(LEFT_OUT.get(kind, ())) == set(body["properties"]) for body in bodies)
        assert all({"format", "version"} <= set(body["required"]) for body in bodies)
        assert all(
            field.get("description") for body in bodies for field in body["properties"].values() if kind == "plan"
        )
    assert seen == set(KINDS)


def test_hand_written_fields_are_described() -> None:
    described = schema("cluster")["$defs"]
    for name in ("ClusterDocument", "NodeGroup", "NetworkDocument", "Tier", "GpuOverrides", "NodeOverrides"):
        assert all(field.get("description") for field in described[name]["properties"].values())


def test_an_unknown_kind_has_no_schema() -> None:
    with pytest.raises(InputError, match="expected one of cluster, model"):
        schema("clusters")


def test_options_stand_on_one_line_each() -> None:
    lines = [line for line in dumps(PROBLEM).splitlines() if '"island":' in line]
    assert len(lines) == len(PROBLEM.options)
    assert all(json.loads(line.strip().rstrip(",")) for line in lines)


def test_a_file_that_cannot_be_written_is_refused_and_the_old_one_kept(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    for path in (
        tmp_path / "none" / "x.json",
        tmp_path / "directory",
        tmp_path / "directory" / ("x" * 300),
        Path("/dev/null"),
        Path(),
    ):
        with pytest.raises(InputError, match=str(path)[:50]):
            save(MODEL, path)
    assert not list((tmp_path / "directory").iterdir())


def test_only_documents_are_dumped() -> None:
    with pytest.raises(TypeError, match="Stage has no kind of document"):
        dumps(STAGE)


HEAD = "format: tangram-opt/cluster\nversion: 1\nname: c\n"


def cluster_of(tmp_path: Path, text: str) -> Cluster:
    (tmp_path / "c.yaml").write_text(HEAD + text)
    return load_cluster(tmp_path / "c.yaml")


def test_a_group_is_spelt_out_with_names_of_equal_width(tmp_path: Path) -> None:
    cluster = cluster_of(
        tmp_path,
        """
nodes:
  - {name: n, count: 100, gpu: Tesla T4, gpus_per_node: 4, intra_node_gb_per_s: 5.9, host_memory_gb: 1.5}
  - {name: single, gpu: NVIDIA L4, gpus_per_node: 1}
network: {tiers: [{name: all, gb_per_s: 1.25e1}]}
""",
    )
    names = [node.name for node in cluster.nodes]
    assert (names[0], names[8], names[99], names[100]) == ("n-001", "n-009", "n-100", "single")
    assert cluster.nodes[0].link_bytes_per_s[0] == (0, 5_900_000_000, 5_900_000_000, 5_900_000_000)
    assert cluster.nodes[0].host_memory_bytes == 1_500_000_000
    assert cluster.nodes[100].link_bytes_per_s == ((0,),)
    assert cluster.network == TierNetwork((12_500_000_000,), ((),) * 101)


def test_tiers_and_positions_by_name_or_in_order_are_the_same(tmp_path: Path) -> None:
    network = "network: {tiers: [{name: all, gb_per_s: 1}, {name: pod, gb_per_s: 2}, {name: rack, gb_per_s: 1e1}]}\n"
    node = "  - {{name: {}, gpu: L4, gpus_per_node: 1, position: {}}}\n"
    by_name = "nodes:\n" + node.format("a", "{rack: r, pod: p}") + node.format("b", "{pod: q, rack: r}")
    in_order = "nodes:\n" + node.format("a", "[p, r]") + node.format("b", "[q, r]")
    cluster = cluster_of(tmp_path, by_name + network)
    assert cluster == cluster_of(tmp_path, in_order + network)
    assert cluster.network == TierNetwork((10**9, 2 * 10**9, 10**10), (("p", "r"), ("q", "r")))


def test_bandwidths_between_groups_become_those_between_nodes(tmp_path: Path) -> None:
    nodes = """
nodes:
  - {name: a, count: 2, gpu: L4, gpus_per_node: 1}
  - {name: b, gpu: T4, gpus_per_node: 1}
network:
"""
    one_way = cluster_of(tmp_path, nodes + "  between_groups_gb_per_s: {a: {a: 3, b: 1}}")
    assert one_way.network == MatrixNetwork(((0, 3 * 10**9, 10**9), (3 * 10**9, 0, 10**9), (10**9, 10**9, 0)))
    both_ways = cluster_of(tmp_path, nodes + "  between_groups_gb_per_s: {a: {a: 3, b: 1}, b: {a: 2}}")
    assert both_ways.network.bandwidth_bytes_per_s(2, 0) == 2 * 10**9
    assert both_ways.network.bandwidth_bytes_per_s(0, 2) == 10**9
    by_rows = cluster_of(tmp_path, nodes + "  between_groups_gb_per_s: [[3, 1], [2, 0]]")
    assert by_rows == both_ways
    by_nodes = cluster_of(tmp_path, nodes + "  matrix_gb_per_s: [[0, 3, 1], [3, 0, 1], [2, 2, 0]]")
    assert by_nodes == both_ways


def test_overrides_replace_figures_of_the_catalogue_and_nothing_else(tmp_path: Path) -> None:
    cluster = cluster_of(
        tmp_path,
        """
nodes:
  - {name: a, gpu: T4, gpus_per_node: 1, gpu_overrides: {memory_gb: 3, matmul_tflops: 10, host_link_gb_per_s: 4}}
""",
    )
    gpu, plain = cluster.nodes[0].gpu, find_gpu("T4")
    assert (gpu.memory_bytes, gpu.matmul_flops_per_s, gpu.host_link_bytes_per_s) == (3 * 10**9, 10**13, 4 * 10**9)
    assert (gpu.name, gpu.peak_flops_per_s, gpu.memory_bytes_per_s) == (
        plain.name,
        plain.peak_flops_per_s,
        plain.memory_bytes_per_s,
    )
    assert cluster.network == MatrixNetwork(((0,),))


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "vocab_size": 100,
}


def test_a_planning_problem_follows_paths_from_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "models" / "tiny-llama").mkdir(parents=True)
    (tmp_path / "planning").mkdir()
    save(CLUSTER, tmp_path / "clusters" / "c.json")
    (tmp_path / "models" / "tiny-llama" / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "planning" / "p.yaml").write_text(
        """
format: tangram-opt/planning-problem
version: 1
name: p
cluster: ../clusters/c.json
model: ../models/tiny-llama/config.json
global_batch: 8
sequence_length: 128
recipe: mixed-adam
pruning: {imbalance_window: null}
"""
    )
    problem = load_planning_problem(tmp_path / "planning" / "p.yaml")
    assert problem.cluster == CLUSTER
    assert (problem.model.name, problem.model.layers) == ("tiny-llama", 3)
    assert problem.recipe == find_recipe("mixed-adam")
    assert problem.micro_batch is None
    assert problem.pruning == Pruning(True, None, True)


def test_an_islands_problem_takes_a_cluster_by_path_or_as_it_is_written(tmp_path: Path) -> None:
    text = "nodes: [{name: a, gpu: T4, gpus_per_node: 1}]\n"
    cluster = cluster_of(tmp_path, text)
    head = "format: tangram-opt/islands-problem\nversion: 1\nname: i\n"
    (tmp_path / "path.yaml").write_text(head + "cluster: c.yaml\n")
    (tmp_path / "inline.yaml").write_text(head + "cluster: {name: c, nodes: [{name: a, gpu: T4, gpus_per_node: 1}]}\n")
    assert load_islands_problem(tmp_path / "path.yaml") == IslandsProblem("i", cluster)
    assert load_islands_problem(tmp_path / "inline.yaml") == IslandsProblem("i", cluster)
