from __future__ import annotations

import pytest

from tangram_opt import documents
from tangram_opt.cli import compare as compare_command
from tangram_opt.crosscheck import Disagreement, Fault, Report, Row

# The `cli` package's own conftest holds the instance that was solved by hand.
OPTIMUM_NS = 340
ROW_FIELDS = {"instance", "solver", "formulation", "outcome", "stop_reason", "objective", "bound", "wall_s", "error"}


@pytest.fixture
def disagreeing(monkeypatch, folder):
    """Make every cross-check end in the same disagreement."""
    problem = documents.load_composition_problem(folder / "composition-problem.json")
    row = Row("by-hand", "liar", "lies", "optimal", "proved", 339, 339, (), 0.1, None, None)
    found = Disagreement(Fault.WRONG_OBJECTIVE, ("liar/lies",), "by-hand: liar says 339", problem, problem)
    monkeypatch.setattr(compare_command, "crosscheck", lambda *_, **__: Report((row,), (found,)))


def test_answers_that_agree_are_one_json_object_and_exit_code_0(tangram, folder):
    instances = (folder / "composition-problem.json", folder / "islands-problem.json")
    ran = tangram("compare", *instances, "--solvers", "dp,paper-dp,agglomerative", "--json")
    assert ran.code == 0
    assert ran.json["agree"] is True
    assert ran.json["disagreements"] == []
    rows = {(row["instance"], row["solver"]): row for row in ran.json["rows"]}
    assert set(rows) == {("by-hand", "dp"), ("by-hand", "paper-dp"), ("islands", "agglomerative")}
    assert all(set(row) >= ROW_FIELDS for row in rows.values())
    assert [level["name"] for level in rows["islands", "agglomerative"]["levels"]] == [
        "compute_lost_flops_per_s",
        "slowest_link_bytes_per_s",
    ]
    assert rows["by-hand", "dp"]["levels"] == []
    proven = rows["by-hand", "dp"]
    assert (proven["outcome"], proven["objective"], proven["bound"]) == ("optimal", OPTIMUM_NS, OPTIMUM_NS)


def test_without_json_every_answer_is_a_line(tangram, folder):
    ran = tangram("compare", folder / "composition-problem.json", "--solvers", "dp,note-dp")
    assert ran.code == 0
    assert ran.out.count("by-hand") == 2
    assert ran.out.endswith("2 answers, no disagreement\n")


def test_a_campaign_is_counted_by_solver(tangram):
    ran = tangram("compare", "--random", 8, "--seed", 3, "--solvers", "dp", "--workers", 2)
    assert ran.code == 0
    assert ran.out.endswith("8 answers, no disagreement\n")
    assert "infeasible" in ran.out


def test_a_campaign_on_islands_is_counted_by_solver(tangram):
    ran = tangram("compare", "--random", 10, "--kind", "islands", "--solvers", "agglomerative,components")
    assert ran.code == 0
    assert ran.out.endswith("20 answers, no disagreement\n")


def test_a_disagreement_is_exit_code_1_and_saved(tangram, folder, disagreeing):
    ran = tangram("compare", folder / "composition-problem.json", "--json", "--save-disagreements", folder / "found")
    assert ran.code == 1
    assert ran.json["agree"] is False
    assert ran.json["disagreements"] == [
        {
            "instance": "by-hand",
            "fault": "wrong objective",
            "solvers": ["liar/lies"],
            "text": "by-hand: liar says 339",
        }
    ]
    assert "error: the solvers disagree: by-hand: liar says 339" in ran.err
    (saved,) = (folder / "found").glob("*.json")
    assert documents.load_composition_problem(saved).name == "by-hand"
    assert "liar/lies" in saved.with_suffix(".txt").read_text()


def test_disagreements_are_printed_too(tangram, folder, disagreeing):
    ran = tangram("compare", folder / "composition-problem.json")
    assert ran.code == 1
    assert "by-hand: liar says 339" in ran.out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "expected INSTANCE files or --random N"),
        (("{absent.json}",), "absent.json"),
        (("{planning-problem.json}",), "planning-problem.json: a planning problem"),
        (("{composition.json}",), "composition.json: format"),
        (("{composition-problem.json}", "--solvers", "dp,dpp"), "did you mean 'dp'"),
        (("{composition-problem.json}", "--solvers", ""), "unknown solver ''"),
        (("{composition-problem.json}", "--solvers", "agglomerative"), "by-hand: none of the solvers can take it"),
        (("--random", "0"), "--random"),
        (("--random", "3", "--time-limit", "0"), "--time-limit"),
        (("--random", "3", "--save-disagreements", "{composition.json}"), "composition.json"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tangram, folder, arguments, named):
    ran = tangram("compare", *(str(folder / a[1:-1]) if a.startswith("{") else a for a in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert ran.err.count("\n") == 1
