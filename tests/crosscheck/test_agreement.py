"""Every kind of mistake is seen, and made small; in this process, as what is tested is not the processes."""

from __future__ import annotations

from dataclasses import replace

import planted
import pytest
from planted import DP

from tangram_opt.composition import check, evaluate
from tangram_opt.crosscheck import Fault, Size, generate, random_problems
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.campaign import smallest
from tangram_opt.crosscheck.runs import Answer, Run, make

POSITION = [generate("notedp", Size(4, 3, 3), seed) for seed in range(1, 5)]
FINE = [generate("edges", Size(3, 2, 2), seed) for seed in range(1, 5)]


def with_twins(problem):
    """Offer every option again, one nanosecond slower: the second best composition is close behind the best."""
    twins = [
        replace(o, stages=(replace(o.stages[0], forward_ns=o.stages[0].forward_ns + 1), *o.stages[1:]))
        for o in problem.options
    ]
    return replace(problem, options=(*problem.options, *twins))


TWINS = [with_twins(problem) for problem in FINE]


def findings(problem, *backends):
    pairs = [(run, make(run)) for run in (Run(problem, each, each.formulations(problem)[0], 60) for each in backends)]
    return contradictions(problem, pairs)


@pytest.mark.parametrize(
    ("backend", "problems", "faults", "options"),
    [
        (planted.DropsLimits(), POSITION, {Fault.NOT_ALLOWED}, 2),
        (planted.MemoryTooLax(), POSITION, {Fault.NOT_ALLOWED}, 2),
        (planted.MemoryTooStrict(), POSITION, {Fault.WRONG_BOUND, Fault.NOT_INFEASIBLE}, 3),
        (planted.GapTakenForProof(), TWINS, {Fault.WRONG_BOUND}, 2),
        (planted.MisstatesObjective(), FINE, {Fault.WRONG_OBJECTIVE}, 1),
        (planted.NeverFinds(), FINE, {Fault.NOT_INFEASIBLE}, 1),
        (planted.Raises(), FINE, {Fault.CRASH}, 3),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, planted.Planted) else "",
)
def test_a_mistake_is_seen_and_made_small(backend, problems, faults, options):
    found = [finding for problem in problems for finding in findings(problem, backend, DP)]
    assert {finding.fault for finding in found} <= faults
    # The run at fault comes first, whoever shows it.
    assert {finding.runs[0].backend for finding in found} == {backend}
    small = smallest(found[0], make)
    assert len(small.options) <= options
    assert len(small.islands) <= options
    assert found[0].fault in {finding.fault for finding in findings(small, backend, DP)}


def test_correct_solvers_never_contradict_each_other():
    solvers = [DP, planted.BruteForce("brute-force"), planted.GivesUp("gives-up")]
    small = [problem for problem in random_problems(40, seed=2) if len(problem.options) <= 30]
    assert len(small) >= 10
    for problem in small:
        assert findings(problem, *solvers) == ()


def test_a_bound_is_held_against_the_best_solution_not_only_against_its_own():
    (problem,) = POSITION[:1]
    run, answer = Run(problem, DP, "auto", 60), make(Run(problem, DP, "auto", 60))
    assert contradictions(problem, [(run, answer)]) == ()
    best = answer.result
    assert best.bound == best.objective == evaluate(problem, best.solution).objective_ns


def test_runs_that_were_killed_contradict_nothing():
    killed = Answer(None, None, 70.0, None)
    good = Run(POSITION[0], DP, "auto", 60)
    assert contradictions(POSITION[0], [(good, killed), (good, make(good))]) == ()


def test_the_solution_of_a_wrong_run_is_no_witness_against_others():
    lax = next(p for p in POSITION if Fault.NOT_ALLOWED in {f.fault for f in findings(p, planted.MemoryTooLax(), DP)})
    wrong = make(Run(lax, planted.MemoryTooLax(), "mistaken", 60)).result
    assert check(lax, wrong.solution)
    assert wrong.objective < DP.solve(lax, planted.SolveOptions()).objective
    assert [f.fault for f in findings(lax, planted.MemoryTooLax(), DP)] == [Fault.NOT_ALLOWED]
