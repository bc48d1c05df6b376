"""A cluster with machines of several GPU models and a node that runs hot, from the file to a plan."""

from __future__ import annotations

import pytest

MIXED = """
format: tangram-opt/cluster
version: 1
name: mixed
nodes:
  - name: box
    count: 2
    gpu: [A100-SXM4-80GB, A100-SXM4-80GB, V100-SXM2-32GB, V100-SXM2-32GB]
    gpus_per_node: 4
    intra_node_gb_per_s: 20
  - name: plain
    count: 3
    gpu: A100-SXM4-80GB
    gpus_per_node: 2
    intra_node_gb_per_s: 20
    node_overrides: {plain-2: {derate: 0.93}}
network:
  between_groups_gb_per_s: {box: {box: 10, plain: 10}, plain: {plain: 10}}
"""
NOTE = (
    "machines box-[1-2] count as 2 nodes, one for each GPU model: A100-SXM4-80GB (GPUs 0-1) and "
    "V100-SXM2-32GB (GPUs 2-3)"
)


@pytest.fixture
def mixed(folder):
    (folder / "cluster.yaml").write_text(MIXED)
    return folder


def test_a_plan_on_mixed_machines_is_made_said_and_allowed(tangram, mixed):
    plan = mixed / "plan.json"
    ran = tangram("solve", mixed / "planning-problem.json", "--workers", 1, "-o", plan)
    assert ran.code == 0, ran.err
    assert f"note: {NOTE}\n" in ran.err
    assert tangram("check", mixed / "planning-problem.json", plan).code == 0
    answer = tangram("solve", mixed / "planning-problem.json", "--workers", 1, "--json")
    first, *others = answer.json["notes"]
    assert (first, answer.err) == (NOTE, "")
    assert [note.split(" is in no island")[0] for note in others] == [
        "A100-SXM4-80GB of machines box-[1-2]",
        "V100-SXM2-32GB of machines box-[1-2]",
    ]
    used = {part["node"] for stage in answer.json["solution"]["stages"] for part in stage["gpus"]}
    assert used & {"box-1/A100-SXM4-80GB", "plain-2"}


def test_no_gpu_of_a_mixed_machine_is_lost_or_counted_twice(tangram, mixed):
    answer = tangram("solve", mixed / "planning-problem.json", "--workers", 1, "--json").json
    assert answer["solution"]["cluster_gpus"] == 2 * 4 + 3 * 2
