from __future__ import annotations

import os
from dataclasses import replace

import planted
import pytest
from planted import DP

from tangram_opt import documents
from tangram_opt.backend import SolveOptions
from tangram_opt.crosscheck import Fault, Size, crosscheck, generate, random_problems, runs, save_disagreements
from tangram_opt.crosscheck.runs import Run, answers
from tangram_opt.data.cluster import Cluster, Gpu, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem
from tangram_opt.errors import InputError
from tangram_opt.islands import AgglomerativeBackend, check

SMALL = generate("uniform", Size(3, 2, 2), 1)
OTHER = generate("uniform", Size(3, 2, 2), 2)
DP_FORMULATION = DP.formulations(SMALL)[0]

SLOW, FAST = Gpu("slow", 65, 40, 16, 300, 12), Gpu("fast", 300, 200, 40, 1500, 25)
CLUSTER = Cluster(
    "mixed",
    tuple(Node(f"node-{i}", FAST if i % 2 else SLOW, 1, ((0,),)) for i in range(6)),
    TierNetwork((10,), ((),) * 6),
)
ISLANDS = IslandsProblem("islands", CLUSTER)


def run(backend, problem=SMALL, seconds=60.0):
    return Run(problem, backend, backend.formulations(problem)[0], seconds)


def test_solvers_without_a_mistake_agree():
    report = crosscheck([SMALL, OTHER], [DP, planted.BruteForce("brute-force"), "note-dp"], fresh=False)
    assert report.agree
    assert [(row.instance, row.solver) for row in report.rows] == [
        (problem.name, solver) for problem in (SMALL, OTHER) for solver in ("dp", "brute-force", "note-dp")
    ]
    assert {row.outcome for row in report.rows if row.solver != "note-dp"} == {"optimal"}
    assert all(row.peak_memory_bytes > 1_000_000 for row in report.rows)


def test_a_small_campaign_over_all_families_finds_nothing():
    problems = list(random_problems(16, seed=5))
    report = crosscheck(problems, ["dp", "paper-dp", "note-dp"], fresh=False, workers=2)
    assert report.disagreements == ()
    assert len(report.rows) == 3 * len(problems)
    assert {"optimal", "infeasible"} <= {row.outcome for row in report.rows if row.solver == "dp"}


def test_a_mistake_is_found_by_a_campaign_made_small_and_saved(tmp_path):
    report = crosscheck(random_problems(14, seed=1), [DP, planted.MemoryTooStrict("strict")], fresh=False)
    found = {each.fault for each in report.disagreements}
    assert found <= {Fault.WRONG_BOUND, Fault.NOT_INFEASIBLE}
    assert found
    assert all(each.solvers == ("strict/mistaken", f"dp/{DP_FORMULATION}") for each in report.disagreements)
    paths = save_disagreements(report.disagreements, tmp_path / "new")
    assert len(paths) == len(found)
    for path, each in zip(paths, [each for each in report.disagreements if each.shrunk], strict=True):
        problem = documents.load_composition_problem(path)
        assert problem == each.shrunk
        assert len(problem.options) <= 3
        again = crosscheck([problem], [DP, planted.MemoryTooStrict("strict")], fresh=False)
        assert [one.fault for one in again.disagreements] == [each.fault]
        assert "strict/mistaken and dp" in path.with_suffix(".txt").read_text()


def test_a_process_that_dies_is_held_against_its_own_problem_alone():
    tiny = replace(SMALL, options=SMALL.options[:2])
    dies = planted.Dies("dies")
    calm, dead, after = answers([run(dies, tiny), run(dies), run(dies, tiny)], fresh=False)
    assert calm.failure is None
    assert dead.failure == "its process ended: SIGABRT"
    assert after.result.objective == calm.result.objective


def test_a_solver_that_ignores_its_time_limit_is_killed_and_is_no_disagreement(monkeypatch):
    monkeypatch.setattr(runs, "GRACE_S", 0.2)
    report = crosscheck([SMALL], [planted.Hangs("hangs")], time_limit_s=0.1)
    (row,) = report.rows
    assert (row.outcome, row.stop_reason, row.objective, row.error) == ("unknown", "killed", None, None)
    assert report.agree


def test_a_solver_that_stops_without_a_proof_is_no_disagreement():
    report = crosscheck([SMALL], [DP, planted.GivesUp("gives-up")], fresh=False)
    assert report.agree
    assert [row.outcome for row in report.rows] == ["optimal", "feasible"]


def test_what_solvers_print_goes_nowhere(capfd):
    report = crosscheck([SMALL], [planted.Prints("prints")])
    assert report.agree
    assert capfd.readouterr().out == ""


def test_fresh_runs_have_a_process_each():
    parents = answers([run(planted.TellsItsProcess("tells"))] * 2, fresh=True)
    shared = answers([run(planted.TellsItsProcess("tells"))] * 2, fresh=False)
    assert len({answer.result.log for answer in parents}) == 2
    assert len({answer.result.log for answer in shared}) == 1
    assert str(os.getpid()) not in {answer.result.log[0] for answer in parents + shared}


def test_islands_problems_are_compared_too():
    report = crosscheck([ISLANDS], [AgglomerativeBackend()], fresh=False)
    assert report.agree
    assert [(row.objective, row.outcome) for row in report.rows] == [(2, "optimal")]


def test_a_wrong_partition_is_caught_and_made_small():
    report = crosscheck([ISLANDS], [AgglomerativeBackend(), planted.TooFewIslands()], fresh=False)
    (wrong, *others) = report.disagreements
    assert (wrong.fault, wrong.solvers[0].split("/")[0]) == (Fault.NOT_ALLOWED, "agglomerative")
    assert others == []
    assert len(wrong.shrunk.cluster.nodes) == 2
    assert check(ISLANDS, planted.TooFewIslands().solve(ISLANDS, SolveOptions()).solution)


def test_a_problem_that_no_solver_takes_is_refused():
    with pytest.raises(InputError, match="islands: none of the solvers can take it"):
        crosscheck([ISLANDS], ["dp"])


def test_an_unknown_solver_is_refused():
    with pytest.raises(InputError, match="did you mean 'dp'"):
        crosscheck([SMALL], ["dpp"])


def test_progress_counts_the_runs():
    heard = []
    crosscheck([SMALL, OTHER], ["dp"], fresh=False, on_answer=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]
