from __future__ import annotations

import json

import pytest

from tangram_opt import documents
from tangram_opt.errors import InputError

PLAN = (
    *("plan", "--cluster", "{cluster.yaml}", "--model", "{model.json}", "--workers", "1"),
    *("--global-batch", "8", "--sequence-length", "8"),
)

# Arguments with files of the folder in braces, what the sentence must name, and the exit code.
BAD = [
    ((), "Missing command", 2),
    (("sovle",), "sovle", 2),
    (("--no-such-option",), "--no-such-option", 2),
    (("solve",), "INSTANCE", 2),
    (("solve", "{absent.json}"), "absent.json", 2),
    (("solve", "{.}"), "", 2),
    (("solve", "{truncated.json}"), "truncated.json", 2),
    (("solve", "{empty.json}"), "empty.json", 2),
    (("solve", "{binary.json}"), "binary.json", 2),
    (("solve", "{list.json}"), "list.json", 2),
    (("solve", "{cluster.yaml}"), "cluster.yaml: format", 2),
    (("solve", "{unknown-field.json}"), "micro_batchs", 2),
    (("solve", "{composition-problem.json}", "--solver", "dpp"), "did you mean 'dp'", 2),
    (("solve", "{composition-problem.json}", "--solver", "pyomo:"), "solver 'pyomo:'", 2),
    (
        ("solve", "{composition-problem.json}", "--solver", "cpsat", "--seed", str(10**11)),
        "random_seed = 1000",
        2,
    ),
    (("solve", "{composition-problem.json}", "--solver", "cpsat", "--threads", "100000"), "'num_workers' should be", 2),
    (("solve", "{composition-problem.json}", "-o", "{composition-problem.json}"), "is read", 2),
    (("islands", "{cluster.yaml}", "-o", "{new.svg}", "--picture", "{new.svg}"), "is written already", 2),
    (("solve", "{composition-problem.json}", "--solver", "agglomerative"), "agglomerative", 2),
    (("solve", "{islands-problem.json}", "--solver", "dp"), "'dp' cannot take 'islands'", 2),
    (("solve", "{planning-problem.json}", "--solver", "dpp", "--workers", "1"), "did you mean 'dp'", 2),
    (("solve", "{composition-problem.json}", "--objective", "shortest"), "shortest", 2),
    (("solve", "{composition-problem.json}", "--time-limit", "soon"), "soon", 2),
    (("solve", "{composition-problem.json}", "--time-limit", "0"), "--time-limit", 2),
    (("solve", "{composition-problem.json}", "--time-limit", "-1"), "--time-limit", 2),
    (("solve", "{composition-problem.json}", "--time-limit", "nan"), "nan", 2),
    (("solve", "{planning-problem.json}", "--time-limit", "inf"), "inf", 2),
    (("solve", "{composition-problem.json}", "--threads", "0"), "--threads", 2),
    (("solve", "{composition-problem.json}", "--threads", "1.5"), "1.5", 2),
    (("solve", "{composition-problem.json}", "--seed", "-1"), "--seed", 2),
    (("solve", "{composition-problem.json}", "--sead", "1"), "--sead", 2),
    (("solve", "{composition-problem.json}", "--json=yes"), "--json", 2),
    (("solve", "{composition-problem.json}", "extra"), "extra", 2),
    (("solve", "{composition-problem.json}", "-o", "{absent/solution.json}"), "absent", 2),
    (("solve", "{composition-problem.json}", "-o", "{.}"), "expected a file", 2),
    (("check", "{composition-problem.json}"), "SOLUTION", 2),
    (("check", "{composition-problem.json}", "{planning-problem.json}"), "planning-problem", 2),
    (("check", "{composition-problem.json}", "{wrong.json}"), "wrong.json: violates", 1),
    (("schema", "plans"), "plans", 2),
    (("schema",), "KIND", 2),
    (("show", "{composition.json}"), "composition.json: format", 2),
    (("show", "{absent.json}"), "absent.json", 2),
    (("simulate", "{composition.json}"), "composition.json: format", 2),
    (("simulate", "{absent.json}"), "absent.json", 2),
    (("simulate", "{absent.json}", "--trace", "{absent/trace.json}"), "absent", 2),
    (("islands", "{model.json}"), "model.json: format", 2),
    (("islands", "{cluster.yaml}", "--compute-tolerance", "-0.1"), "--compute-tolerance", 2),
    (("islands", "{cluster.yaml}", "--memory-tolerance", "nan"), "nan", 2),
    (("islands", "{cluster.yaml}", "--network-tolerance", "inf"), "inf", 2),
    (("islands", "{cluster.yaml}", "--fast-link", "inf"), "inf", 2),
    (("islands", "{cluster.yaml}", "--fast-link", "0"), "--fast-link", 2),
    (("islands", "{cluster.yaml}", "--explain", "fast-1"), "--explain", 2),
    (("islands", "{cluster.yaml}", "--explain", "fast-1", "fast-3"), "node 'fast-3': expected a node of 'box'", 2),
    (("islands", "{cluster.yaml}", "--solver", "dp"), "'dp' cannot take 'box'", 2),
    (("islands", "{composition-problem.json}"), "composition-problem.json: format", 2),
    (("islands", "{negative.yaml}"), "-1", 2),
    (("sensitivity", "{composition-problem.json}"), "composition-problem.json: format", 2),
    (("sensitivity", "{cluster.yaml}", "--to", "inf"), "inf", 2),
    (("plan", "--cluster", "{cluster.yaml}"), "--model", 2),
    ((*PLAN, "--global-batch", "0"), "--global-batch", 2),
    ((*PLAN, "--global-batch", "1000000000000"), "global_batch: 1000000000000, expected at most 1048576", 2),
    ((*PLAN, "--sequence-length", "2147483648"), "sequence_length: 2147483648, expected at most 2147483647", 2),
    ((*PLAN, "--sequence-length", "long"), "long", 2),
    ((*PLAN, "--model", "{cluster.yaml}"), "cluster.yaml: format", 2),
    ((*PLAN, "--model", "{no-layers.json}"), "n_layer", 2),
    ((*PLAN, "--cluster", "{negative.yaml}"), "-1", 2),
    ((*PLAN, "--micro-batch", "3"), "micro_batch: 3, expected a divisor of the global batch 8", 2),
    ((*PLAN, "--recipe", "mixed-adm"), "mixed-adm", 2),
    ((*PLAN, "--imbalance-window", "wide"), "wide", 2),
    ((*PLAN, "--imbalance-window", "0.5"), "0.5", 2),
    ((*PLAN, "--imbalance-window", "nan"), "nan", 2),
]


@pytest.fixture
def bad_folder(folder):
    """Add files that are wrong in one way each."""
    problem = (folder / "composition-problem.json").read_text()
    (folder / "truncated.json").write_text(problem[: len(problem) // 2])
    (folder / "empty.json").write_text("")
    (folder / "binary.json").write_bytes(bytes(range(256)))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "unknown-field.json").write_text(problem.replace('"micro_batches"', '"micro_batchs"', 1))
    composition = json.loads((folder / "composition.json").read_text())
    composition["picks"][1]["option"] = 4
    (folder / "wrong.json").write_text(json.dumps(composition))
    cluster = (folder / "cluster.yaml").read_text()
    (folder / "negative.yaml").write_text(cluster.replace("gb_per_s: 300", "gb_per_s: -1"))
    model = json.loads((folder / "model.json").read_text())
    del model["n_layer"]
    (folder / "no-layers.json").write_text(json.dumps(model))
    return folder


@pytest.mark.parametrize(("arguments", "named", "code"), BAD)
def test_a_bad_invocation_is_answered_with_one_sentence(tangram, bad_folder, arguments, named, code):
    ran = tangram(*(str(bad_folder / a[1:-1]) if a.startswith("{") else a for a in arguments))
    assert ran.code == code, ran
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("error: ")
    assert named in lines[0]
    assert "Traceback" not in ran.err + ran.out
    assert "bug" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("solve", "{absent.json}"), 2),
        (("solve", "{composition-problem.json}", "--solver", "dpp"), 2),
        (("solve", "{composition-problem.json}", "--threads", "0"), 2),
        (("islands", "{negative.yaml}"), 2),
        (("compare",), 2),
        ((*PLAN, "--micro-batch", "3"), 2),
        ((*PLAN, "--sequence-length", "100000000"), 1),
    ],
)
def test_json_is_one_object_whatever_goes_wrong(tangram, bad_folder, arguments, code):
    ran = tangram(*(str(bad_folder / a[1:-1]) if a.startswith("{") else a for a in arguments), "--json")
    assert ran.code == code, ran
    if code == 2:
        assert ran.json == {"error": ran.err.removeprefix("error: ").rstrip("\n")}
    else:
        assert ran.json["outcome"] == "infeasible"


@pytest.mark.parametrize("command", ["solve", "islands"])
def test_json_is_one_object_when_the_solution_cannot_be_saved(tangram, folder, monkeypatch, command):
    def refuse(*_):
        raise InputError("disk full")

    monkeypatch.setattr(documents, "save", refuse)
    file = "composition-problem.json" if command == "solve" else "cluster.yaml"
    ran = tangram(command, folder / file, "--json", "-o", folder / "saved.json")
    assert (ran.code, ran.json) == (2, {"error": "disk full"})
