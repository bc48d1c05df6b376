from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tangram_opt import documents, solvers
from tangram_opt.cli import planning
from tangram_opt.errors import UndecidedError
from tangram_opt.result import Outcome, Result, StopReason

# The `cli` package's own conftest holds the instance that was solved by hand.
OPTIMUM_NS = 340

FIELDS = {
    "instance",
    "kind",
    "solver",
    "solver_version",
    "formulation",
    "outcome",
    "stop_reason",
    "objective",
    "bound",
    "gap",
    "levels",
    "wall_s",
    "solution",
    "log",
    "notes",
}


def test_a_composition_problem_is_solved_to_the_optimum_found_by_hand(tangram, folder):
    ran = tangram("solve", folder / "composition-problem.json", "--json")
    assert ran.code == 0
    answer = ran.json
    assert set(answer) == FIELDS
    assert (answer["instance"], answer["kind"], answer["outcome"]) == ("by-hand", "composition", "optimal")
    assert (answer["objective"], answer["bound"], answer["gap"]) == (OPTIMUM_NS, OPTIMUM_NS, 0)
    assert {pick["option"] for pick in answer["solution"]["picks"]} == {2, 3}


@pytest.mark.parametrize("solver", ["dp", "cpsat"])
def test_exact_solvers_agree(tangram, folder, solver):
    answer = tangram("solve", folder / "composition-problem.json", "--solver", solver, "--json").json
    assert (answer["solver"], answer["outcome"], answer["objective"]) == (solver, "optimal", OPTIMUM_NS)


def test_an_islands_problem_is_solved(tangram, folder):
    answer = tangram("solve", folder / "islands-problem.json", "--json").json
    assert (answer["kind"], answer["objective"], answer["outcome"]) == ("islands", 2, "optimal")
    lost, link = answer["levels"]
    assert (lost["name"], lost["value"], lost["bound"]) == ("compute_lost_flops_per_s", 0, 0)
    assert link["name"] == "slowest_link_bytes_per_s"
    assert link["value"] == link["bound"] > 0
    assert sorted(map(sorted, answer["solution"]["islands"])) == [["fast-1", "fast-2"], ["slow-1", "slow-2"]]


def test_a_planning_problem_is_solved(tangram, folder):
    ran = tangram("solve", folder / "planning-problem.json", "--workers", 1, "--json")
    assert ran.code == 0, ran.err
    answer = ran.json
    assert set(answer) == FIELDS | {"iteration_ns_by_objective"}
    assert answer["kind"] == "planning"
    assert answer["objective"] == answer["solution"]["iteration_ns"]
    times = answer["iteration_ns_by_objective"]
    assert times["simulated"] == answer["solution"]["simulated_ns"] == answer["objective"]
    assert 0 < times["closed"] <= times["period"]
    assert sum(stage["layers"] for stage in answer["solution"]["stages"]) == 6


@pytest.mark.parametrize("kind", ["islands", "composition", "planning"])
def test_a_saved_solution_passes_the_check(tangram, folder, kind):
    instance, solution = folder / f"{kind}-problem.json", folder / "solution.json"
    assert tangram("solve", instance, "-o", solution).code == 0
    ran = tangram("check", instance, solution)
    assert (ran.code, ran.err) == (0, "")
    assert "allowed" in ran.out


def test_depths_are_chosen_where_they_are_asked_for(tangram, folder):
    instance = folder / "composition-problem.json"
    asked = ("solve", instance, "--depths", "chosen", "--json")
    # Three micro-batches through two stages of 90 and 60 ns with 5 ns between them: no transfer has to be waited for.
    assert tangram(*asked, "--objective", "period").json["objective"] == OPTIMUM_NS
    ran = tangram(*asked)
    assert ran.code == 2
    assert "depths: 'chosen' with objective 'closed', expected objective 'period'" in ran.err
    ran = tangram("solve", folder / "islands-problem.json", "--depths", "chosen")
    assert (ran.code, ran.out) == (2, "")
    assert "--depths is for iteration times" in ran.err


def test_the_text_names_outcome_objective_and_solver(tangram, folder):
    ran = tangram("solve", folder / "composition-problem.json")
    assert "optimal: 340 ns, bound 340 ns, gap 0.0 % (dp" in ran.out


def test_an_infeasible_problem_is_an_answer_with_exit_code_1(tangram, folder):
    document = json.loads((folder / "composition-problem.json").read_text())
    document["options"] = document["options"][:1]
    (folder / "composition-problem.json").write_text(json.dumps(document))
    ran = tangram("solve", folder / "composition-problem.json", "--json", "-o", folder / "solution.json")
    assert ran.code == 1
    assert (ran.json["outcome"], ran.json["objective"], ran.json["solution"]) == ("infeasible", None, None)
    assert ran.json["log"] != []
    assert ran.err.startswith("error: by-hand: infeasible: ")
    assert ran.err.count("\n") == 1
    assert not (folder / "solution.json").exists()


def test_no_plan_is_an_answer_with_exit_code_1(tangram, folder):
    cluster = (folder / "cluster.yaml").read_text()
    small = cluster.replace("gpus_per_node: 2,", "gpus_per_node: 2, gpu_overrides: {memory_gb: 1.7},")
    (folder / "cluster.yaml").write_text(small)
    ran = tangram("solve", folder / "planning-problem.json", "--workers", 1, "--json")
    assert ran.code == 1
    assert ran.json["outcome"] == "infeasible"
    assert ran.json["log"] != []
    assert ran.err.count("\n") == 1


def test_a_solver_that_ran_out_of_time_without_a_solution_says_so(tangram, folder, monkeypatch):
    result = Result(Outcome.UNKNOWN, StopReason.TIME_LIMIT, None, 5, 1.0, None, "dp", "1", "labels")
    monkeypatch.setattr(solvers, "solve", lambda *_, **__: result)
    ran = tangram("solve", folder / "composition-problem.json", "--time-limit", 1, "--json")
    assert (ran.code, ran.json["outcome"], ran.json["bound"]) == (1, "unknown", 5)
    assert ran.err == "error: by-hand: no solution found (time limit)\n"


def test_what_an_interrupted_solver_has_is_printed(tangram, folder, monkeypatch):
    composition = documents.load_composition(folder / "composition.json")
    result = Result(Outcome.FEASIBLE, StopReason.INTERRUPTED, 340, 100, 1.0, composition, "dp", "1", "labels")
    monkeypatch.setattr(solvers, "solve", lambda *_, **__: result)
    ran = tangram("solve", folder / "composition-problem.json")
    assert ran.code == 0
    assert "feasible: 340 ns, bound 100 ns, gap 70.6 % (dp 1, interrupted" in ran.out


@pytest.mark.parametrize(
    ("change", "limit", "stop_reason", "bound_is_kept"),
    [
        ({"outcome": "feasible"}, (), "interrupted", False),
        ({"outcome": "feasible", "bound_ns": 1}, ("--time-limit", 5), "time limit", True),
        ({"outcome": "feasible", "bound_ns": None}, ("--time-limit", 5), "time limit", False),
        ({"outcome": "optimal"}, ("--time-limit", 5), "proved", True),
    ],
)
def test_a_plan_that_is_not_proven_says_why(tangram, folder, monkeypatch, change, limit, stop_reason, bound_is_kept):
    found = planning.plan_problem(documents.load_planning_problem(folder / "planning-problem.json"))
    plan = replace(found, **change)
    monkeypatch.setattr(planning, "plan_problem", lambda *_, **__: plan)
    answer = tangram("solve", folder / "planning-problem.json", *limit, "--json").json
    assert (answer["outcome"], answer["stop_reason"]) == (plan.outcome, stop_reason)
    assert answer["bound"] == (plan.bound_ns if bound_is_kept else None)


def test_a_plan_by_a_heuristic_is_not_called_optimal(tangram, folder):
    instance = folder / "planning-problem.json"
    answer = tangram("solve", instance, "--workers", 1, "--solver", "note-dp", "--objective", "closed", "--json").json
    assert (answer["solver"], answer["outcome"], answer["stop_reason"]) == ("note-dp", "feasible", "heuristic")


def test_arguments_reach_the_solver(tangram, folder, monkeypatch):
    heard = {}

    def fake(problem, solver, *, on_progress, **rest):
        heard.update(rest, solver=solver)
        return Result(Outcome.UNKNOWN, StopReason.TIME_LIMIT, None, None, 0.0, None, "dp", "1", "labels")

    monkeypatch.setattr(solvers, "solve", fake)
    options = ("--solver", "dp", "--time-limit", 2.5, "--threads", 3, "--seed", 4)
    tangram("solve", folder / "composition-problem.json", *options)
    given = {"solver": "dp", "time_limit": 2.5, "threads": 3, "seed": 4}
    assert heard == {**given, "formulation": "auto", "parameters": {}}


def test_a_planner_that_ran_out_of_time_proves_nothing(tangram, folder, monkeypatch):
    def give_up(*_, **__):
        raise UndecidedError("nothing found", StopReason.TIME_LIMIT)

    monkeypatch.setattr(planning, "plan_problem", give_up)
    ran = tangram("solve", folder / "planning-problem.json", "--json")
    assert (ran.code, ran.json["outcome"], ran.json["stop_reason"]) == (1, "unknown", "time limit")
    assert "infeasible" not in ran.err
