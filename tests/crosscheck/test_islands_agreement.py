"""Every kind of mistake in islands is seen by the cross-check, and made small."""

from __future__ import annotations

from functools import cache

import planted_islands as planted
import pytest
from islands_oracle import best_value

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from tangram_opt.crosscheck import ISLANDS_FAMILIES, Fault, generate_islands, random_islands_problems
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.campaign import smallest
from tangram_opt.crosscheck.runs import Run, make
from tangram_opt.islands import AgglomerativeBackend, ComponentsBackend, check, evaluate, similarity_components

EXACT = CpSat()


@cache
def problems(count=90):
    return tuple(random_islands_problems(count, seed=3))


# Where two blocks that are not the first of their island ask for a third.
ASKING = [generate_islands("tastes", 9, seed) for seed in (15, 35)]


def findings(problem, *backends):
    runs = [Run(problem, each, formulation, 60) for each in backends for formulation in each.formulations(problem)]
    return contradictions(problem, [(run, make(run)) for run in runs])


@pytest.mark.parametrize(
    ("mistake", "given", "faults", "nodes"),
    [
        (planted.IgnoresNetwork(), (), {Fault.NOT_ALLOWED, Fault.WRONG_BOUND, Fault.WRONG_OBJECTIVE}, 3),
        (planted.OneDirection(), (), {Fault.NOT_ALLOWED, Fault.WRONG_BOUND, Fault.WRONG_OBJECTIVE}, 3),
        (planted.StrictTolerance(), (), {Fault.WRONG_BOUND}, 2),
        (planted.LooseTolerance(), (), {Fault.NOT_ALLOWED}, 2),
        (planted.NoSlack(), (), {Fault.WRONG_BOUND}, 3),
        (planted.MergesByBoxAlone(), (), {Fault.NOT_ALLOWED, Fault.WRONG_BOUND, Fault.CRASH, Fault.WRONG_OBJECTIVE}, 4),
        (planted.ForgetsImplications(), (), {Fault.NOT_ALLOWED, Fault.CRASH}, 3),
        (planted.ForgetsReasons(), ASKING, {Fault.NOT_ALLOWED, Fault.CRASH}, 6),
        (planted.ClaimsLost(), (), {Fault.WRONG_BOUND}, 4),
        (planted.MisstatesLink(), (), {Fault.WRONG_OBJECTIVE}, 1),
        (planted.MisstatesLost(), (), {Fault.WRONG_OBJECTIVE}, 1),
        (planted.ForgetsLost(), (), {Fault.WRONG_BOUND}, 4),
        (planted.ForgetsLink(), (), {Fault.WRONG_BOUND}, 6),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, planted.PlantedIslands) else "",
)
def test_a_mistake_is_seen_and_made_small(mistake, given, faults, nodes):
    found = next(found for problem in given or problems() if (found := findings(problem, mistake, EXACT)))
    assert {finding.fault for finding in found} <= faults
    assert {finding.runs[0].backend for finding in found} == {mistake}
    small = smallest(found[0], make)
    assert len(small.cluster.nodes) <= nodes
    assert found[0].fault in {finding.fault for finding in findings(small, mistake, EXACT)}


def test_correct_solvers_never_contradict_each_other():
    searched = 0
    for problem in (*problems(), *ASKING):
        assert findings(problem, EXACT, HighsSolver(), AgglomerativeBackend(), ComponentsBackend()) == ()
        result = EXACT.solve(problem, planted.SolveOptions())
        searched += result.formulation != "structure"
        if len(problem.cluster.nodes) <= 7:
            assert evaluate(problem, result.solution).costs == best_value(problem)
    assert searched >= 15


@pytest.mark.parametrize("family", ISLANDS_FAMILIES)
def test_a_family_is_the_same_again_and_every_seed_is_different(family):
    first, again, other = (generate_islands(family, 8, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.cluster != other.cluster
    assert first.name == f"{family}-8-1"


def test_components_are_islands_or_wrong_and_say_so():
    outcomes = set()
    for problem in problems():
        result = ComponentsBackend().solve(problem, planted.SolveOptions())
        best = EXACT.solve(problem, planted.SolveOptions())
        violated = check(problem, similarity_components(problem))
        outcomes.add(result.outcome)
        if violated:
            assert (result.outcome, result.solution) == ("unknown", None)
            assert violated[0] in result.log[0]
            assert result.bound <= best.objective
        else:
            assert evaluate(problem, result.solution) == evaluate(problem, best.solution)
            assert result.outcome == "optimal"
    assert outcomes == {"optimal", "unknown"}
