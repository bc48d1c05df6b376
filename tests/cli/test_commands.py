from __future__ import annotations

import io

import pytest
from rich.console import Console

from tangram_opt import documents, solvers
from tangram_opt.cli import check, progress, solve
from tangram_opt.cli import solvers as solvers_command
from tangram_opt.cli.text import standing
from tangram_opt.solvers import BrokenBackend

COMMANDS = ("plan", "solve", "check", "compare", "show", "simulate", "islands", "sensitivity", "schema", "solvers")


def test_help_lists_every_command(tangram):
    ran = tangram("--help")
    assert ran.code == 0
    assert all(command in ran.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(tangram, command):
    ran = tangram(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"tangram-opt {command}" in ran.out


@pytest.mark.parametrize("kind", documents.KINDS)
def test_schema_prints_the_schema_of_every_kind(tangram, kind):
    assert tangram("schema", kind).json == documents.schema(kind)


def test_check_names_every_violation(tangram, folder):
    composition = documents.load_composition(folder / "composition.json")
    wrong = type(composition)("by-hand", composition.picks[:1])
    documents.save(wrong, folder / "wrong.json")
    ran = tangram("check", folder / "composition-problem.json", folder / "wrong.json")
    assert ran.code == 1
    assert "expected the 4 atoms of the model" in ran.out
    assert ran.err == f"error: {folder / 'wrong.json'}: violates one condition of 'by-hand'\n"


def test_check_sees_islands_that_mix_gpus(tangram, folder):
    wrong = documents.load_islands_problem(folder / "islands-problem.json")
    names = tuple(node.name for node in wrong.cluster.nodes)
    from tangram_opt.data.island import Partition

    documents.save(Partition("islands", (names,)), folder / "wrong.json")
    assert tangram("check", folder / "islands-problem.json", folder / "wrong.json").code == 1


def test_islands_are_listed_with_their_nodes_and_links(tangram, folder):
    answer = tangram("islands", folder / "cluster.yaml", "--json").json
    assert [island["gpus"] for island in answer["islands"]] == [4, 4]
    members = sorted(tuple(names) for island in answer["islands"] for names in island["members"])
    assert members == [("fast-1", "fast-2"), ("slow-1", "slow-2")]
    assert answer["links"] == {"usual_bytes_per_s": 10**9, "others_bytes_per_s": []}
    text = tangram("islands", folder / "cluster.yaml").out
    assert "fast-[1-2]" in text
    assert "slow-[1-2]" in text


def test_wide_tolerances_join_islands(tangram, folder):
    cluster = (folder / "cluster.yaml").read_text().replace("slow: 1}", "slow: 10}")
    (folder / "cluster.yaml").write_text(cluster)
    wide = ("--compute-tolerance", 9, "--memory-tolerance", 9, "--bandwidth-tolerance", 9)
    assert len(tangram("islands", folder / "cluster.yaml", "--json").json["islands"]) == 2
    assert len(tangram("islands", folder / "cluster.yaml", *wide, "--json").json["islands"]) == 1


def test_plan_equals_solve_on_the_same_problem(tangram, folder):
    planned = tangram(
        *("plan", "--cluster", folder / "cluster.yaml", "--model", folder / "model.json"),
        *("--global-batch", 8, "--sequence-length", 128, "--micro-batch", 2, "--workers", 1, "--json"),
    ).json
    solved = tangram("solve", folder / "planning-problem.json", "--workers", 1, "--json").json
    assert planned["objective"] == solved["objective"]
    assert planned["solution"]["stages"] == solved["solution"]["stages"]


def test_every_pruning_policy_can_be_switched_off(tangram, folder):
    plan = (
        *("plan", "--cluster", folder / "cluster.yaml", "--model", folder / "model.json"),
        *("--global-batch", 8, "--sequence-length", 128, "--micro-batch", 2, "--workers", 1, "--json"),
    )
    off = ("--no-redundancy-pruning", "--no-infeasibility-pruning", "--imbalance-window", "off")
    usual, all_pairs = tangram(*plan).json, tangram(*plan, *off).json
    assert sum(usual["solution"]["search"]["pruned"].values()) > 0
    assert set(all_pairs["solution"]["search"]["pruned"].values()) == {0}
    assert all_pairs["objective"] <= usual["objective"]


def test_plan_is_shown_and_drawn(tangram, folder):
    made = tangram("solve", folder / "planning-problem.json", "--workers", 1, "-o", folder / "plan.json")
    assert made.code == 0
    picture = folder / "plan.svg"
    ran = tangram("show", folder / "plan.json", "--picture", picture)
    assert ran.code == 0, ran.err
    assert ran.out.strip() in made.out
    assert "<svg" in picture.read_text()


def test_no_progress_and_no_table_in_json(tangram, folder):
    ran = tangram("solve", folder / "islands-problem.json", "--json")
    assert ran.out.startswith("{")
    assert ran.err == ""


def test_solvers_lists_all_and_says_what_is_wrong_with_a_broken_one(tangram, monkeypatch):
    real = solvers.available()
    broken = BrokenBackend("bad", "a-third-party", "bad:X does not load: ImportError: no module")
    monkeypatch.setattr(solvers_command.registry, "available", lambda: (*real, broken))
    rows = {row["name"]: row for row in tangram("solvers", "--json").json["solvers"]}
    assert rows["dp"]["problems"] == ["composition"]
    assert rows["dp"]["exact"] is True
    assert rows["agglomerative"]["problems"] == ["islands"]
    assert rows["note-dp"]["exact"] is False
    assert rows["bad"]["status"] == "broken: bad:X does not load: ImportError: no module"
    text = tangram("solvers").out
    assert all(name in text for name in ("agglomerative", "cpsat", "dp", "note-dp", "paper-dp", "bad", "a-third-party"))
    assert "…" not in text


def test_a_missing_package_is_listed_as_such(tangram, monkeypatch):
    class Waiting:
        name, summary, exact = "waiting", "it waits", True

        def missing(self):
            return "gurobipy"

    monkeypatch.setattr(solvers_command.registry, "available", lambda: (Waiting(),))
    (row,) = tangram("solvers", "--json").json["solvers"]
    assert (row["status"], row["problems"]) == ("missing: gurobipy", [])


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (MemoryError(), 2, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "some.json"), 2, "some.json: Permission denied"),
        (ZeroDivisionError("in a\nplug-in"), 2, "this is a bug, please report it: ZeroDivisionError: in a plug-in"),
        (RecursionError(), 2, "this is a bug"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(tangram, folder, monkeypatch, error, code, sentence):
    def fail(path):
        raise error

    monkeypatch.setattr(solve.documents, "load_instance", fail)
    ran = tangram("solve", folder / "composition-problem.json")
    assert ran.code == code
    assert ran.err.startswith(f"error: {sentence}")
    assert ran.err.count("\n") == 1


def test_check_does_not_solve(tangram, folder, monkeypatch):
    monkeypatch.setattr(solvers, "get", lambda name: pytest.fail("a solver was asked"))
    assert check.check is not None
    assert tangram("check", folder / "composition-problem.json", folder / "composition.json").code == 0


@pytest.mark.parametrize(
    ("kind", "objective", "bound", "text"),
    [
        ("composition", None, None, ""),
        ("composition", None, 1000, "bound 1.000 us"),
        ("composition", 2_000_000, 1_000_000, "2.000 ms, bound 1.000 ms, gap 50.0 %"),
        ("islands", 3, 3, "3 islands, bound 3 islands, gap 0.0 %"),
        ("composition", 0, 0, "0 ns, bound 0 ns, gap 0.0 %"),
    ],
)
def test_the_standing_of_a_search_in_words(kind, objective, bound, text):
    assert standing(kind, objective, bound) == text


def test_progress_in_a_pipe_is_a_line_now_and_then(monkeypatch):
    clock = iter([0.0, 1.0, 6.0, 7.0, 12.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    written = io.StringIO()
    monkeypatch.setattr(progress, "stderr_console", lambda: Console(file=written, width=100))
    with progress.reporting("planning") as report:
        for done in range(4):
            report("queries", done, 9)
    assert written.getvalue().splitlines() == ["planning: 1 of 9 queries, 6 s", "planning: 3 of 9 queries, 12 s"]


def test_progress_on_a_terminal_is_live(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(progress, "stderr_console", lambda: Console(file=written, width=100, force_terminal=True))
    with progress.reporting("planning") as report:
        report("queries", 4, 9)
        report("best [1] ns")
    assert "planning: best [1] ns" in written.getvalue()
