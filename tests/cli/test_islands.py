"""``tangram-opt islands`` and ``tangram-opt sensitivity``: what they say of a cluster, and in which form."""

from __future__ import annotations

import pytest

from tangram_opt import documents
from tangram_opt.islands import check

HOT = """
format: tangram-opt/cluster
version: 1
name: hot
nodes:
  - name: n
    count: 12
    gpu: A100-SXM4-80GB
    gpus_per_node: 8
    intra_node_gb_per_s: 300
    node_overrides: {n-03: {derate: 0.92}}
network: {tiers: [{name: all, gb_per_s: 50}]}
"""


@pytest.fixture
def hot(folder):
    (folder / "hot.yaml").write_text(HOT)
    return folder / "hot.yaml"


def test_a_node_that_runs_hot_stays_by_the_tolerance_and_the_report_names_it(tangram, hot):
    answer = tangram("islands", hot, "--json").json
    assert (answer["objective"], answer["outcome"]) == (1, "optimal")
    gpu = documents.load_cluster(hot).nodes[0].gpu.matmul_flops_per_s
    assert answer["compute_lost_flops_per_s"] == 11 * 8 * (gpu - round(gpu * 0.92))
    text = tangram("islands", hot).out
    assert "n-[01-12]" in text
    assert "island 1 runs at the 249 TFLOP/s of n-03, n-01 reaches 271" in text


def test_a_node_that_runs_hot_goes_by_the_tolerance_and_the_report_says_why(tangram, hot):
    answer = tangram("islands", hot, "--compute-tolerance", 0.05, "--json").json
    assert (answer["objective"], answer["compute_lost_flops_per_s"]) == (2, 0)
    (boundary,) = answer["boundaries"]
    assert (boundary["by"], boundary["pairs"]) == (["compute"], [[0, 1]])
    (apart,) = boundary["example"]["apart"]
    assert (apart["what"], apart["first"], apart["second"]) == ("compute", "n-03", "n-01")
    assert boundary["example"]["network"] is None
    text = tangram("islands", hot, "--compute-tolerance", 0.05).out
    assert "n-[01-02,04-12]" in text
    assert "compute 1.09 times (249 TFLOP/s of n-03, 271 of n-01)" in text


def test_an_option_replaces_the_tolerance_of_a_problem_and_no_other(tangram, folder, hot):
    text = "format: tangram-opt/islands-problem\nversion: 1\nname: p\ncluster: hot.yaml\n"
    (folder / "p.yaml").write_text(text + "tolerances: {compute: 0.05, memory: 0.3}\n")
    answer = tangram("islands", folder / "p.yaml", "--network-tolerance", 0.1, "--json").json
    tolerances = {"compute": 0.05, "memory": 0.3, "intra_bandwidth": 0.2, "network": 0.1, "fast_link_bytes_per_s": None}
    assert answer["tolerances"] == tolerances
    assert len(answer["islands"]) == 2


def test_fast_links_count_as_equally_fast(tangram, folder):
    nodes = "  - {{name: {}, gpu: T4, gpus_per_node: 1}}\n"
    head = "format: tangram-opt/cluster\nversion: 1\nname: c\nnodes:\n" + "".join(nodes.format(name) for name in "abc")
    (folder / "c.yaml").write_text(head + "  - {name: d, gpu: L40S, gpus_per_node: 1}\n")
    with (folder / "c.yaml").open("a") as file:
        file.write("network: {matrix_gb_per_s: [[0, 9, 9, 12], [9, 0, 9, 5], [9, 9, 0, 5], [12, 5, 5, 0]]}\n")
    assert tangram("islands", folder / "c.yaml", "--json").json["objective"] == 3
    assert tangram("islands", folder / "c.yaml", "--fast-link", 9, "--json").json["objective"] == 2
    # 12 is a third more than 9.
    assert tangram("islands", folder / "c.yaml", "--network-tolerance", 0.3, "--json").json["objective"] == 3
    assert tangram("islands", folder / "c.yaml", "--network-tolerance", 0.34, "--json").json["objective"] == 2
    assert (
        "a has 12.0 GB/s to d but 9.00 to b, so d would have to be in it" in tangram("islands", folder / "c.yaml").out
    )


def test_the_chain_of_reasons_is_told(tangram, folder):
    nodes = "  - {{name: {}, gpu: {}, gpus_per_node: 1}}\n"
    gpus = {"a": "T4", "b": "T4", "c": "T4", "x": "L40S"}
    text = "".join(nodes.format(*each) for each in gpus.items())
    (folder / "c.yaml").write_text("format: tangram-opt/cluster\nversion: 1\nname: c\nnodes:\n" + text)
    with (folder / "c.yaml").open("a") as file:
        file.write("network: {matrix_gb_per_s: [[0, 5, 7, 1], [5, 0, 1, 1], [4, 4, 0, 6], [1, 1, 1, 0]]}\n")
    ran = tangram("islands", folder / "c.yaml", "--explain", "a", "b")
    assert ran.code == 0
    told = [
        "a and b cannot be in one island",
        "An island with a and b must also have:",
        "c, as a has 7.00 GB/s to c but 5.00 to b",
        "x, as c has 6.00 GB/s to x but 4.00 to a",
        "No island has both a and x: compute",
    ]
    assert all(line in ran.out for line in told)
    assert tangram("islands", folder / "c.yaml", "--explain", "a", "b", "--json").json["together"] is False
    together = tangram("islands", folder / "c.yaml", "--explain", "a", "b", "--fast-link", 5).out
    assert "a and b can be in one island" in together
    assert "has 2 nodes: a,b" in together
    assert tangram("islands", folder / "c.yaml", "--explain", "a", "z").code == 2


def test_nodes_without_a_link_are_never_in_one_island(tangram, folder):
    head = "format: tangram-opt/cluster\nversion: 1\nname: c\nnodes: [{name: n, count: 2, gpu: T4, gpus_per_node: 1}]\n"
    (folder / "c.yaml").write_text(head + "network: {matrix_gb_per_s: [[0, 0], [5, 0]]}\n")
    assert tangram("islands", folder / "c.yaml", "--json").json["objective"] == 2
    assert "there is no link from n-1 to n-2" in tangram("islands", folder / "c.yaml").out
    ran = tangram(
        *("plan", "--cluster", folder / "c.yaml", "--model", folder / "model.json", "--workers", 1),
        *("--global-batch", 8, "--sequence-length", 128),
    )
    assert ran.code == 2
    assert "network: no link from island 'T4 x1 a' to island 'T4 x1 b'" in ran.err


def test_the_islands_are_saved_and_drawn(tangram, folder, hot):
    ran = tangram("islands", hot, "-o", folder / "islands.json", "--picture", folder / "islands.svg")
    assert ran.code == 0, ran.err
    assert "hot: 12 nodes, 96 GPUs in 1 island" in (folder / "islands.svg").read_text()
    partition = documents.load_partition(folder / "islands.json")
    (folder / "p.yaml").write_text("format: tangram-opt/islands-problem\nversion: 1\nname: hot\ncluster: hot.yaml\n")
    assert check(documents.load_islands_problem(folder / "p.yaml"), partition) == ()


def test_sensitivity_finds_the_tolerance_at_which_a_node_joins(tangram, folder, hot):
    answer = tangram("sensitivity", hot, "--picture", folder / "s.svg", "--json").json
    first, second = answer["intervals"]
    assert (first["islands"], second["islands"]) == (2, 1)
    gpu = documents.load_cluster(hot).nodes[0].gpu.matmul_flops_per_s
    less = round(gpu * 0.92)
    numerator, denominator = map(int, second["start_exact"].split("/"))
    assert numerator * less == denominator * (gpu - less)
    assert first["end_exact"] == second["start_exact"]
    assert [each["proven"] for each in answer["intervals"]] == [True, True]
    assert "<svg" in (folder / "s.svg").read_text()
    text = tangram("sensitivity", hot).out
    assert "0.086957" in text
    assert tangram("sensitivity", hot, "--which", "memory", "--json").json["intervals"][0]["islands"] == 1


def test_the_tolerance_that_is_printed_is_enough(tangram, hot):
    assert tangram("islands", hot, "--compute-tolerance", 0.086957, "--json").json["objective"] == 1
    assert tangram("islands", hot, "--compute-tolerance", 0.086956, "--json").json["objective"] == 2


def test_sensitivity_of_a_planning_problem_plans_on_the_islands(tangram, folder):
    answer = tangram("sensitivity", folder / "planning-problem.json", "--to", 0.1, "--workers", 1, "--json").json
    (interval,) = answer["intervals"]
    solved = tangram("solve", folder / "planning-problem.json", "--workers", 1, "--json").json
    assert interval["iteration_ns"] == solved["objective"]
    assert interval["proven"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--from", "-1"), "--from: '-1', expected a number from 0 to 1000"),
        (("--to", "1e400"), "--to: '1e400'"),
        (("--from", "1/3"), "--from: '1/3'"),
        (("--to", "wide"), "--to: 'wide'"),
        (("--from", "0.5", "--to", "0.1"), "--from: 0.5, expected at most the 0.1 of --to"),
        (("--which", "speed"), "--which: 'speed', expected some of compute, memory"),
        (("--picture", "{}/x.pdf"), "expected .png or .svg"),
    ],
)
def test_bad_options_of_sensitivity_are_named(tangram, folder, hot, arguments, named):
    ran = tangram("sensitivity", hot, *(each.format(folder) for each in arguments))
    assert ran.code == 2
    assert named in ran.err


@pytest.mark.parametrize("suffix", ["pdf", "json"])
def test_a_picture_of_another_kind_is_refused_before_any_work(tangram, folder, hot, suffix):
    ran = tangram("islands", hot, "--picture", folder / f"x.{suffix}")
    assert (ran.code, ran.out) == (2, "")
    assert "expected .png or .svg" in ran.err


def test_the_slowest_link_is_stated_as_it_is_where_fast_links_count_as_equal(tangram, hot):
    capped = tangram("islands", hot, "--fast-link", 9, "--json").json
    assert capped["slowest_link_bytes_per_s"] == 50_000_000_000
    (_, link) = capped["levels"]
    assert (link["name"], link["value"], link["bound"]) == ("slowest_link_bytes_per_s", 9_000_000_000, 9_000_000_000)
    assert "50.0" in tangram("islands", hot, "--fast-link", 9).out


@pytest.mark.parametrize("option", ["-o", "--picture"])
def test_an_explanation_is_neither_saved_nor_drawn(tangram, folder, hot, option):
    ran = tangram("islands", hot, "--explain", "n-01", "n-02", option, folder / "x.svg")
    assert (ran.code, ran.out) == (2, "")
    assert "--explain: says why two nodes can or cannot be together, expected no -o and no --picture" in ran.err
    assert not (folder / "x.svg").exists()


def test_islands_and_solve_answer_in_one_shape(tangram, folder):
    found = tangram("islands", folder / "islands-problem.json", "--json").json
    solved = tangram("solve", folder / "islands-problem.json", "--json").json
    assert set(found) == set(solved)
    assert {"levels", "gap", "stop_reason", "log", "solution", "islands", "notes"} <= set(found)
    for each in (found, solved):
        del each["wall_s"]
    assert found == solved
    without = tangram("islands", folder / "islands-problem.json", "--solver", "components", "--json")
    assert without.code == 0 or without.json["solution"] is None


def test_what_is_said_of_pairs_of_classes_is_said_once(tangram, folder):
    groups = "".join(
        f"  - {{name: {name}, gpu: {gpu}, gpus_per_node: 8, intra_node_gb_per_s: 300, position: [{place}]}}\n"
        for name, gpu, place in (
            ("a", "A100-SXM4-80GB", "x"),
            ("b", "H100-SXM5-80GB", "x"),
            ("c", "V100-SXM2-16GB", "y"),
        )
    )
    head = "format: tangram-opt/cluster\nversion: 1\nname: c\nnodes:\n"
    network = "network: {tiers: [{name: all, gb_per_s: 1}, {name: rack, gb_per_s: 5}]}\n"
    (folder / "c.yaml").write_text(head + groups + network)
    ran = tangram("islands", folder / "c.yaml", "--json")
    answer = ran.json
    assert answer["links"]["usual_bytes_per_s"] == 1_000_000_000
    assert answer["links"]["others_bytes_per_s"] == [[0, 1, 5_000_000_000], [1, 0, 5_000_000_000]]
    assert sorted(pair for each in answer["boundaries"] for pair in each["pairs"]) == [[0, 1], [0, 2], [1, 2]]
    assert len({tuple(each["by"]) for each in answer["boundaries"]}) == len(answer["boundaries"])
    assert "[0, 1, 5000000000]" in ran.out


def test_mixed_machines_that_the_network_keeps_apart_are_named(tangram, folder):
    head = "format: tangram-opt/cluster\nversion: 1\nname: c\nnodes:\n"
    node = "  - {name: m, count: 2, gpu: [A10, L40S], gpus_per_node: 2, intra_node_gb_per_s: 30}\n"
    (folder / "c.yaml").write_text(head + node + "network: {tiers: [{name: all, gb_per_s: 10}]}\n")
    answer = tangram("islands", folder / "c.yaml", "--json").json
    assert answer["objective"] == 4
    notes = [note for note in answer["notes"] if "is in no island with another machine" in note]
    assert [note.split()[0] for note in notes] == ["A10", "L40S"]
    assert all("machines m-[1-2]" in note and "--network-tolerance 2 or more" in note for note in notes)
    lifted = tangram("islands", folder / "c.yaml", "--network-tolerance", 2, "--json").json
    assert lifted["objective"] == 2
    assert not any("no island" in note for note in lifted["notes"])
