"""Preparing a problem loses no optimum."""

from collections import Counter

from composition_oracle import brute_force, tilings
from composition_strategies import problems
from hypothesis import given, settings

from formulations.composition_arc_flow_milp import arc_flow
from formulations.composition_circuit import circuit
from formulations.composition_circuit import not_exact as circuit_not_exact
from formulations.composition_data import composition_data
from formulations.composition_deadline import deadline
from formulations.composition_deadline import not_exact as deadline_not_exact
from formulations.composition_placements import merged_runs
from tangram_opt.composition import check, evaluate, positions
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import SignatureRun


def allowed(problem):
    return [composition for composition in tilings(problem) if not check(problem, composition)]


def models(data):
    yield arc_flow(data)
    if deadline_not_exact(data) is None:
        yield deadline(data)
    if circuit_not_exact(data) is None:
        yield circuit(data)


def test_neighbouring_runs_of_one_signature_are_one():
    runs = (SignatureRun("a", 2), SignatureRun("a", 1), SignatureRun("b", 1))
    assert merged_runs(runs) == (SignatureRun("a", 3), SignatureRun("b", 1))


@settings(max_examples=100)
@given(problems())
def test_placements_stand_where_the_options_can(problem):
    data = composition_data(problem)
    for index in {p.option for p in data.placements}:
        placements = [p for p in data.placements if p.option == index]
        firsts = sorted(first for p in placements for first in p.first_atoms)
        assert tuple(firsts) == positions(problem, problem.options[index])


@settings(max_examples=100)
@given(problems())
def test_stand_ins_are_allowed_and_no_worse(problem):
    data = composition_data(problem)
    for composition in allowed(problem):
        better = placed(problem, (p.option for p in data.placements_of(composition)))
        assert not check(problem, better)
        assert evaluate(problem, better).objective_ns <= evaluate(problem, composition).objective_ns


@settings(max_examples=100)
@given(problems())
def test_what_is_called_impossible_is(problem):
    if composition_data(problem).impossible:
        assert brute_force(problem) is None


@settings(max_examples=100)
@given(problems())
def test_no_composition_has_more_stages_than_the_bound(problem):
    data = composition_data(problem)
    assert all(len(evaluate(problem, c).times_ns) <= data.most_stages for c in allowed(problem))


@settings(max_examples=60)
@given(problems())
def test_every_composition_is_a_solution_of_every_model_and_comes_back(problem):
    """So hints are complete and feasible, and no model forbids what is allowed."""
    data = composition_data(problem)
    compositions = allowed(problem)[:20]
    for model in models(data) if compositions else ():
        for composition in compositions:
            values = model.encode(composition)
            assert model.linear.violated(values) == ()
            decoded = model.decode(values)
            assert model.linear.objective(values) == evaluate(problem, decoded).objective_ns
            used = Counter(p.option for p in data.placements_of(composition))
            assert Counter(pick.option for pick in decoded.picks) == used


@settings(max_examples=60)
@given(problems())
def test_names_are_distinct_and_can_be_exported(problem):
    for model in models(composition_data(problem)):
        for named in (model.linear.variables, model.linear.rows):
            names = [each.name for each in named]
            assert len(set(names)) == len(names)
            assert all(name.isidentifier() for name in names)
