from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tangram_opt.documents import (
    load_cluster,
    load_composition,
    load_composition_problem,
    load_instance,
    load_model,
    load_plan,
    load_planning_problem,
)
from tangram_opt.errors import InputError

CLUSTER: dict[str, Any] = {
    "format": "tangram-opt/cluster",
    "version": 1,
    "name": "two",
    "nodes": [
        {"name": "t4", "count": 2, "gpu": "Tesla T4", "gpus_per_node": 4, "intra_node_gb_per_s": 5.9},
        {"name": "v100", "gpu": "V100-PCIE-16GB", "gpus_per_node": 1},
    ],
    "network": {"between_groups_gb_per_s": {"t4": {"t4": 3, "v100": 1}}},
}


def error_of(load: Any, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    assert "expected" in text or "cannot be read" in text
    return text.replace(str(path), path.name)


def changed(where: list[Any], value: Any) -> dict[str, Any]:
    document: Any = json.loads(json.dumps(CLUSTER))
    inner = document
    for key in where[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return document  # type: ignore[no-any-return]


def write(tmp_path: Path, content: str | bytes, name: str = "c.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_unchanged_cluster_loads(tmp_path: Path) -> None:
    cluster = load_cluster(write(tmp_path, json.dumps(CLUSTER)))
    assert [node.name for node in cluster.nodes] == ["t4-1", "t4-2", "v100"]


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        (["nodes", 0, "intra_node_gb_per_s"], -1, "c.json: nodes[0].intra_node_gb_per_s: -1, expected at least 1e-09"),
        (["nodes", 0, "gpus_per_node"], 0, "c.json: nodes[0].gpus_per_node: 0, expected at least 1"),
        (["nodes", 0, "gpus_per_node"], True, "c.json: nodes[0].gpus_per_node: true, expected a whole number"),
        (["nodes", 0, "gpus_per_node"], 4.0, "c.json: nodes[0].gpus_per_node: 4.0, expected a whole number"),
        (["nodes", 0, "gpus_per_node"], "4", 'c.json: nodes[0].gpus_per_node: "4", expected a whole number'),
        (["nodes", 0, "gpus_per_node"], 10**9, "nodes[0].gpus_per_node: 1000000000, expected at most 256"),
        (["nodes", 0, "gpus_per_node"], 2**70, "nodes[0].gpus_per_node: an integer of 71 bits, expected one below"),
        (["nodes", 0, "gpus_per_node"], ..., "c.json: nodes[0].gpus_per_node: missing, expected a value"),
        (["nodes", 0, "count"], 0, "c.json: nodes[0].count: 0, expected at least 1"),
        (["nodes", 0, "count"], 10**9, "c.json: nodes[0].count: 1000000000, expected at most 100000"),
        (["nodes", 0, "count"], 99_999, "network.between_groups_gb_per_s: 100000 nodes, expected at most 4096"),
        (["nodes", 0, "gpu"], "H101", "c.json: nodes[0].gpu: GPU 'H101' is not in the catalogue, expected a name"),
        (["nodes", 0, "gpu"], "a100", "c.json: nodes[0].gpu: GPU 'a100' is ambiguous, expected one of"),
        (
            ["nodes", 0, "gpus"],
            3,
            "nodes[0].gpus: unknown field, expected one of name, count, gpu, gpus_per_node, intra",
        ),
        (["nodes", 0, "intra_node_gb_per_s"], ..., "nodes[0].intra_node_gb_per_s: missing, expected a bandwidth"),
        (["nodes", 0, "intra_node_gb_per_s"], [[0, 1], [1, 0]], "intra_node_gb_per_s: 2 rows, expected 4"),
        (
            ["nodes", 0, "intra_node_gb_per_s"],
            [[0, 1, 1, -5], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]],
            "c.json: nodes[0].intra_node_gb_per_s[0][3]: -5, expected at least 0",
        ),
        (["nodes", 1, "intra_node_gb_per_s"], [[1]], "entry (0, 0) is 1000000000, expected 0 on the diagonal"),
        (["nodes", 1, "name"], "t4", "c.json: nodes[1].name: 't4' is also the name of a group before it"),
        (["nodes", 1, "position"], ["r1"], "c.json: nodes[1].position: given, expected none as the network has no"),
        (["nodes", 1, "gpu_overrides"], {"memory_gb": -3}, "nodes[1].gpu_overrides.memory_gb: -3, expected at least"),
        (["nodes", 1, "gpu_overrides"], {"peak_tflops": 1}, "nodes[1].gpu_overrides: matrix products at 77.28 TFLOP"),
        (["nodes", 0, "gpu"], 3, "c.json: nodes[0].gpu: 3, expected text"),
        (["nodes", 0, "gpu"], [], "c.json: nodes[0].gpu: 0 GPUs, expected the 4 of gpus_per_node"),
        (["nodes", 0, "gpu"], ["T4", "L4"], "c.json: nodes[0].gpu: 2 GPUs, expected the 4 of gpus_per_node"),
        (["nodes", 0, "gpu"], ["T4", "T4", "T4", "T5"], "c.json: nodes[0].gpu[3]: GPU 'T5' is not in the catalogue"),
        (["nodes", 0, "gpu_overrides"], {"derate": 1.1}, "nodes[0].gpu_overrides.derate: 1.1, expected at most 1"),
        (["nodes", 0, "gpu_overrides"], {"derate": 0}, "nodes[0].gpu_overrides.derate: 0, expected at least 0.01"),
        (
            ["nodes", 0, "node_overrides"],
            {"t4-3": {}},
            "node_overrides.t4-3: no node of this name, expected one of t4-1",
        ),
        (["nodes", 1, "node_overrides"], {"v": {}}, "nodes[1].node_overrides.v: no node of this name, expected v100"),
        (
            ["nodes", 0, "node_overrides"],
            {"t4-2": {"peak_tflops": 1}},
            "nodes[0].node_overrides.t4-2: matrix products at 42.64 TFLOP/s, expected at most the peak of 1",
        ),
        (
            ["nodes", 0, "node_overrides"],
            {"t4-2": {"intra_node_gb_per_s": [[0, 1], [1, 0]]}},
            "nodes[0].node_overrides.t4-2.intra_node_gb_per_s: 2 rows, expected 4",
        ),
        (["nodes"], [], "c.json: nodes: [], expected at least one node"),
        (["nodes"], {}, "c.json: nodes: {}, expected a list"),
        (["nodes", 0], None, "c.json: nodes[0]: null, expected a mapping of fields to values"),
        (["network"], ..., "c.json: network: missing, expected the network between the 3 nodes"),
        (["network"], {}, "c.json: network: empty, expected exactly one of tiers, matrix_gb_per_s"),
        (["network", "tiers"], [], "c.json: network: tiers and between_groups_gb_per_s, expected exactly one of"),
        (
            ["network"],
            {"tiers": [{"name": "a", "gb_per_s": 2}, {"name": "b", "gb_per_s": 1}]},
            "nodes[0].position: mis",
        ),
        (["network"], {"matrix_gb_per_s": [[0, 1, 1], [1, 0], [1, 1, 0]]}, "row 1 has 2 entries, expected 3"),
        (["network"], {"between_groups_gb_per_s": [[1, 2]]}, "1 rows of 2 entries, expected 2 x 2, one per group"),
        (["network", "between_groups_gb_per_s", "t5"], {}, "between_groups_gb_per_s.t5: no group of this name"),
        (["network", "between_groups_gb_per_s", "t4", "v100"], ..., "s.t4.v100: missing, expected a bandwidth"),
        (["network", "between_groups_gb_per_s", "t4", "v100"], -1, "_per_s.t4.v100: -1, expected at least 0"),
        (["name"], "", 'c.json: name: "", expected text of at least 1 character'),
        (["nam"], "x", "c.json: nam: unknown field, expected one of name, nodes, network; did you mean 'name'?"),
        (["version"], 2, "c.json: version: 2, expected 1"),
        (["version"], True, "c.json: version: true, expected 1"),
        (["version"], ..., "c.json: version: missing, expected 1"),
        (["format"], ..., "c.json: format: missing, expected 'tangram-opt/cluster'"),
        (["format"], "tangram-opt/plan", "(this is a document of kind plan), expected 'tangram-opt/cluster'"),
        (["format"], "cluster", "c.json: format: \"cluster\", expected 'tangram-opt/cluster'"),
        (["format"], ["x"], "c.json: format: [\"x\"], expected 'tangram-opt/cluster'"),
    ],
)
def test_a_wrong_value_is_named_with_its_path_and_what_was_expected(
    tmp_path: Path, where: list[Any], value: Any, expected: str
) -> None:
    assert expected in error_of(load_cluster, write(tmp_path, json.dumps(changed(where, value))))


def test_two_nodes_of_one_name_are_refused(tmp_path: Path) -> None:
    document = changed(["nodes", 1, "name"], "t4-2")
    document["network"] = {"between_groups_gb_per_s": [[1, 1], [1, 0]]}
    assert "two nodes are named 't4-2'" in error_of(load_cluster, write(tmp_path, json.dumps(document)))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("c.json", b"", "the file is empty"),
        ("c.yaml", b" \n", "the file is empty"),
        (
            "c.json",
            b'{"format": "tangram-opt/cluster", "nodes": [',
            "line 1, column 45: Expecting value, expected JSON",
        ),
        ("c.json", bytes(range(256)), "byte 128 is not UTF-8"),
        ("c.json", "name: ä".encode("latin-1"), "byte 6 is not UTF-8"),
        ("c.json", '{"a": 1}'.encode("utf-16"), "byte 0 is not UTF-8"),
        ("c.json", b"\x00\x01\x02", "line 1, column 1: Expecting value"),
        ("c.yaml", b"a: \x00", "character 3 is not printable"),
        ("c.json", b'{"name": "a", "name": "b"}', 'the field "name" appears twice'),
        ("c.yaml", b"name: a\nname: b\n", 'line 2, column 1: the field "name" appears twice'),
        ("c.yaml", b"nodes:\n\t- name: a\n", "line 2, column 1: found character '\\t'"),
        ("c.yaml", b"a: &x [1]\nb: *x\n", "line 2, column 6: an alias (*), expected plain YAML"),
        ("c.yaml", b"a: !!python/object/apply:os.system [ls]\n", "line 1, column 4: could not determine"),
        ("c.yaml", b"1: x\n", "the key 1 is not text"),
        ("c.yaml", b"a: x\n---\nb: y\n", "expected plain YAML"),
        ("c.yaml", b"a: .nan\n", "a: nan, expected a finite number"),
        ("c.yaml", b"a: [0, -.Inf]\n", "a[1]: -inf, expected a finite number"),
        ("c.yaml", b"a: !!binary aGk=\n", "a: a value of type bytes, expected text"),
        ("c.json", b'{"a": NaN}', "the value NaN, expected finite numbers"),
        ("c.json", b'{"a": [-Infinity]}', "the value -Infinity, expected finite numbers"),
        ("c.json", b'{"a": [0, 1e999]}', "a[1]: inf, expected a finite number"),
        ("c.json", b'{"a": ' + b"9" * 10_000 + b"}", "expected integers below 2^63"),
        ("c.json", b'{"a": ' * 50_000, "nested too deeply"),
        ("c.yaml", b"[" * 50_000, "nested too deeply"),
        ("c.json", b"[1, 2]", "[1, 2], expected a mapping"),
        ("c.yaml", b"just text", '"just text", expected a mapping'),
        ("c.json", b'{"format": "tangram-opt/cluster", "version": 1, "name": "\\ud800"}', "name: half of a surrogate"),
        ("c.json", b'{"a": {"\\ud800": 1}}', "a: half of a surrogate"),
        ("c.json", b'{"\\ud800": 1, "\\ud800": 2}', 'the field "\\ud800" appears twice'),
        ("c.json", b'{"a\\nb": 1e999}', '"a\\nb": inf, expected a finite number'),
    ],
)
def test_an_unreadable_file_is_one_clear_sentence(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    assert expected in error_of(load_cluster, write(tmp_path, content, name))


@pytest.mark.parametrize("text", ["010", "1_0", "0x10", "0b10", "1:30", "2020-01-01"])
def test_a_number_that_versions_of_yaml_read_differently_is_refused(tmp_path: Path, text: str) -> None:
    document = json.dumps(changed(["nodes", 0, "gpus_per_node"], 4)).replace(
        '"gpus_per_node": 4', f"gpus_per_node: {text}"
    )
    error = error_of(load_cluster, write(tmp_path, document, "c.yaml"))
    assert error == f'c.yaml: nodes[0].gpus_per_node: "{text}", expected a whole number'


@pytest.mark.parametrize("text", ["yes", "no", "on", "off", "y"])
def test_only_true_and_false_are_truth_values_in_yaml(tmp_path: Path, text: str) -> None:
    document = json.dumps(changed(["name"], "plain")).replace('"plain"', text)
    assert load_cluster(write(tmp_path, document, "c.yaml")).name == text


@pytest.mark.parametrize("name", ["two\nlines", "bell\a", "red \x1b[31m", "\u2028"])
def test_a_name_that_cannot_be_printed_is_refused(tmp_path: Path, name: str) -> None:
    error = error_of(load_cluster, write(tmp_path, json.dumps(changed(["nodes", 0, "name"], name))))
    assert error.startswith("c.json: nodes[0].name: ")
    assert error.endswith("expected printable text")


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert "no such file" in error_of(load_cluster, tmp_path / "none.json")
    assert "not a regular file" in error_of(load_cluster, tmp_path)
    assert "cannot be read" in error_of(load_cluster, tmp_path / ("x" * 5000))
    assert "no such file" in error_of(load_cluster, tmp_path / "a\0b")


def test_yaml_aliases_that_would_expand_without_end_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert "an alias" in error_of(load_cluster, write(tmp_path, "\n".join(lines), "bomb.yaml"))


@pytest.mark.parametrize("cut", [0.02, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_document_is_refused(tmp_path: Path, cut: float) -> None:
    text = json.dumps(CLUSTER)
    error_of(load_cluster, write(tmp_path, text[: int(len(text) * cut)]))


TIERS: dict[str, Any] = {
    "format": "tangram-opt/cluster",
    "version": 1,
    "name": "tiers",
    "nodes": [{"name": "a", "gpu": "L4", "gpus_per_node": 1, "position": {"pod": "p", "rack": "r"}}],
    "network": {
        "tiers": [
            {"name": "cluster", "gb_per_s": 1},
            {"name": "pod", "gb_per_s": 2},
            {"name": "rack", "gb_per_s": 2},
        ]
    },
}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (["p"], "nodes[0].position: 1 units, expected one unit for each of pod, rack"),
        ({"pod": "p"}, "nodes[0].position.rack: missing, expected one unit for each of pod, rack"),
        ({"pod": "p", "rack": "r", "row": "x"}, "nodes[0].position.row: no such tier"),
        ({"pod": "p", "rack": 3}, "nodes[0].position.rack: 3, expected text"),
    ],
)
def test_a_wrong_position_is_refused(tmp_path: Path, position: Any, expected: str) -> None:
    document = json.loads(json.dumps(TIERS))
    load_cluster(write(tmp_path, json.dumps(document)))
    document["nodes"][0]["position"] = position
    assert expected in error_of(load_cluster, write(tmp_path, json.dumps(document)))


def test_tiers_that_get_slower_inwards_are_refused(tmp_path: Path) -> None:
    document = json.loads(json.dumps(TIERS))
    document["network"]["tiers"][2]["gb_per_s"] = 1
    assert "decrease inwards" in error_of(load_cluster, write(tmp_path, json.dumps(document)))


COMPOSITION_PROBLEM: dict[str, Any] = {
    "format": "tangram-opt/composition-problem",
    "version": 1,
    "name": "p",
    "micro_batches": 4,
    "atoms": [{"signature": "layer", "count": 2}],
    "islands": [{"name": "a", "count": 1, "memory_bytes": 10}],
    "options": [
        {
            "island": "a",
            "atoms": [{"signature": "layer", "count": 2}],
            "stages": [{"atoms": 2, "forward_ns": 1, "backward_ns": 2, "static_bytes": 0, "in_flight_bytes": 0}],
            "inner_transfers_ns": [],
            "max_stages_after": None,
            "entry_port": "a",
            "exit_port": "a",
            "strategy": {"tp": 2, "recompute": "full", "offload": False},
        }
    ],
    "ports": ["a"],
    "transfer_ns": [[0]],
}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("stages", [{"atoms": 1}], "options[0].stages[0].forward_ns: missing"),
        ("stages", [], "options[0]: stages: expected at least one stage"),
        ("max_stages_after", -1, "options[0].max_stages_after: -1, expected at least 0"),
        ("island", "b", "options[0].island: 'b', expected one of ['a']"),
        ("entry_prt", "b", "max_stages_after, entry_port, exit_port, strategy; did you mean 'entry_port'?"),
        ("strategy", {"tp": 1.5}, "options[0].strategy.tp: 1.5, expected"),
    ],
)
def test_a_wrong_option_is_named_by_its_path(tmp_path: Path, field: str, value: Any, expected: str) -> None:
    document = json.loads(json.dumps(COMPOSITION_PROBLEM))
    load_composition_problem(write(tmp_path, json.dumps(document)))
    document["options"][0][field] = value
    assert expected in error_of(load_composition_problem, write(tmp_path, json.dumps(document)))


def test_more_atoms_than_any_model_has_are_refused(tmp_path: Path) -> None:
    document = COMPOSITION_PROBLEM | {"atoms": [{"signature": "layer", "count": 10**12}]}
    error = error_of(load_composition_problem, write(tmp_path, json.dumps(document)))
    assert error == "c.json: atoms: 1000000000000 atoms, expected at most 16384"


def test_a_saved_cluster_with_a_wrong_tier_network_is_told_about_the_tiers_and_not_about_the_matrix(
    tmp_path: Path,
) -> None:
    document: dict[str, Any] = {
        "format": "tangram-opt/cluster",
        "version": 1,
        "name": "c",
        "nodes": [],
        "network": {"bandwidths_bytes_per_s": [-1], "positions": []},
    }
    path = write(tmp_path, json.dumps(document))
    assert "network.bandwidths_bytes_per_s[0]: -1, expected at least 0" in error_of(load_cluster, path)


def test_a_solution_where_a_problem_is_expected_is_refused_by_its_kind(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"format": "tangram-opt/composition", "version": 1, "problem": "p", "picks": []}))
    load_composition(path)
    assert "(this is a document of kind composition), expected 'tangram-opt/islands-problem' or" in error_of(
        load_instance, path
    )
    assert "kind composition" in error_of(load_plan, path)
    assert "kind composition" in error_of(load_model, path)


LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "vocab_size": 100,
}

PLANNING: dict[str, Any] = {
    "format": "tangram-opt/planning-problem",
    "version": 1,
    "name": "p",
    "cluster": "c.json",
    "model": "llama/config.json",
    "global_batch": 12,
    "sequence_length": 128,
    "recipe": "mixed-adam",
}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("cluster", "nowhere.yaml", 'p.json: cluster: "nowhere.yaml", expected the path of a file'),
        ("cluster", "x\0y", "p.json: cluster: "),
        ("cluster", 3, "p.json: cluster: 3, expected a mapping"),
        ("cluster", {"name": "x"}, "p.json: cluster.nodes: missing"),
        (
            "cluster",
            {"name": "x", "nodes": [{"name": "n", "gpu": "H2", "gpus_per_node": 1}]},
            "cluster.nodes[0].gpu: GPU",
        ),
        ("model", "nowhere", 'p.json: model: "nowhere", expected the path of a file'),
        ("model", {"name": "x", "family": "y", "runs": []}, "p.json: model: runs: expected at least one atom"),
        ("recipe", "adam", "p.json: recipe: recipe 'adam' is not in the catalogue, expected one of mixed-adam"),
        ("micro_batch", 5, "p.json: micro_batch: 5, expected a divisor of the global batch 12"),
        ("pruning", {"imbalance_window": 0.5}, "p.json: pruning: imbalance_window: 0.5, expected at least 1"),
        ("tolerances", {"compute": -0.1}, "p.json: tolerances.compute: -0.1, expected at least 0"),
        ("tolerance", {}, "p.json: tolerance: unknown field, expected one of"),
    ],
)
def test_a_wrong_planning_problem_names_the_field(tmp_path: Path, field: str, value: Any, expected: str) -> None:
    write(tmp_path, json.dumps(CLUSTER))
    (tmp_path / "llama").mkdir()
    write(tmp_path / "llama", json.dumps(LLAMA), "config.json")
    load_planning_problem(write(tmp_path, json.dumps(PLANNING), "p.json"))
    path = write(tmp_path, json.dumps(PLANNING | {field: value}), "p.json")
    assert expected in error_of(load_planning_problem, path)


def test_a_wrong_file_that_a_problem_names_is_itself_named(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(changed(["nodes", 0, "count"], 0)))
    path = write(tmp_path, json.dumps(PLANNING), "p.json")
    with pytest.raises(InputError, match=r"c\.json: nodes\[0\]\.count: 0, expected at least 1"):
        load_planning_problem(path)


def test_a_config_without_its_layer_count_is_refused_with_the_file(tmp_path: Path) -> None:
    config = {key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}
    assert "num_hidden_layers" in error_of(load_model, write(tmp_path, json.dumps(config), "config.json"))
