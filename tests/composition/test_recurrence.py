from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from composition_oracle import brute_force, tilings
from composition_strategies import problems
from generated_problems import generated_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from tangram_opt.backend import SolveOptions
from tangram_opt.composition import check, evaluate, front_bounds, recurrence, suffixes
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.composition.exact import Best
from tangram_opt.composition.note_dp import NoteDynamicProgram
from tangram_opt.composition.objective import MOST_PASSES
from tangram_opt.composition.paper_dp import PaperDynamicProgram
from tangram_opt.composition.recurrence import RecurrenceSearch, quick_makespan_bound_ns
from tangram_opt.composition.table import IMPOSSIBLE
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.documents import load_composition_problem
from tangram_opt.errors import InputError
from tangram_opt.pipeline import simulate
from tangram_opt.result import Outcome, StopReason

INSTANCES = Path(__file__).parents[2] / "instances" / "composition"
some = settings(max_examples=40)
simulated = problems(objective="simulated")


def solve(problem, **options):
    return DynamicProgram().solve(problem, SolveOptions(**options))


def agrees_with_brute_force(problem):
    result, expected = solve(problem), brute_force(problem)
    assert result.objective == expected
    if expected is None:
        assert result.outcome is Outcome.INFEASIBLE
        assert len(result.log) == 1
    else:
        assert result.outcome is Outcome.OPTIMAL
        assert result.bound == expected
        assert check(problem, result.solution) == ()
        assert evaluate(problem, result.solution).objective_ns == expected


@st.composite
def rich(draw):
    """Equal layers on two to four islands, some alike, with many slices: many compositions in every order."""
    layers = draw(st.integers(3, 6))
    small = st.integers(0, 15)
    options = []
    islands = tuple(
        IslandClass(name, draw(st.integers(1, 2)), draw(st.integers(15, 60)))
        for name in "ab"[: draw(st.integers(1, 2))]
    )
    for island in islands:
        for length in range(1, layers + 1):
            for _ in range(draw(st.integers(0, 2))):
                depth = draw(st.integers(1, min(3, length)))
                held = tuple(
                    Stage(
                        length // depth + (i < length % depth),
                        draw(small),
                        draw(small),
                        draw(small),
                        draw(st.integers(0, 6)),
                        draw(small),
                    )
                    for i in range(depth)
                )
                options.append(
                    Option(
                        island.name,
                        (SignatureRun("layer", length),),
                        held,
                        tuple(draw(small) for _ in held[1:]),
                        None,
                        draw(st.sampled_from("pq")),
                        draw(st.sampled_from("pq")),
                    )
                )
    return CompositionProblem(
        name="rich",
        micro_batches=draw(st.integers(1, 12)),
        atoms=(SignatureRun("layer", layers),),
        islands=islands,
        options=tuple(options),
        ports=("p", "q"),
        transfer_ns=tuple(tuple(draw(small) for _ in "pq") for _ in "pq"),
        objective="simulated",
    )


@settings(max_examples=150)
@given(simulated)
def test_it_finds_what_brute_force_finds(problem):
    agrees_with_brute_force(problem)


@settings(max_examples=100)
@given(rich())
def test_it_finds_what_brute_force_finds_among_many_orders(problem):
    agrees_with_brute_force(problem)


def enumerated(problem):
    """The optimum by the enumeration alone, without what the dynamic program and the dive find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrence, "_WIDTH", 0)
        search = RecurrenceSearch(problem, Best(), lambda: False, lambda: True, lambda: None)
        search.run()
    return search.best.objective_ns if search.best.options else None


@given(st.one_of(simulated, rich()))
def test_the_enumeration_alone_finds_what_brute_force_finds(problem):
    assert enumerated(problem) == brute_force(problem)


@given(st.one_of(simulated, rich()))
def test_it_does_so_where_the_bounds_count_few_islands_and_stages(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front_bounds, "_MOST_STATES", 60)
        patch.setattr(front_bounds, "_MOST_STAGES", 2)
        assert enumerated(problem) == brute_force(problem)


@given(rich())
def test_it_does_so_in_small_steps(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suffixes, "_PAIRS", 3)
        patch.setattr(recurrence, "_EVENTS", 1)
        patch.setattr(recurrence, "_MOST_OPEN", 4)
        assert enumerated(problem) == brute_force(problem)


@given(st.one_of(simulated, rich()), st.sampled_from([1, 40]))
def test_no_bound_of_any_part_of_a_composition_is_above_its_iteration_time(problem, most_stages):
    search = RecurrenceSearch(problem, Best(), lambda: False, lambda: False, lambda: None)
    if not search.open:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front_bounds, "_MOST_STAGES", most_stages)
        grow = search.look_ahead()
    assert grow is not None
    rows = {int(option): row for row, option in enumerate(grow.table.option)}
    for composition in tilings(problem):
        path = [rows.get(pick.option) for pick in reversed(composition.picks)]
        if check(problem, composition) or None in path:  # not allowed, or another option is as good throughout
            continue
        whole = evaluate(problem, composition).objective_ns
        suffix = search.root(0).suffixes
        for row in path:
            grown = grow.prepend(suffix, IMPOSSIBLE)
            suffix = grown.keep(np.flatnonzero(grown.path[:, 0] == row))
            assert suffix.bound.max() <= whole
        assert grow.makespans(suffix.path).tolist() == [whole] * len(suffix.path)


@some
@given(simulated, st.integers(0, 6))
def test_wherever_it_is_stopped_its_bound_holds(problem, steps):
    asked = count()
    search = RecurrenceSearch(problem, Best(), lambda: next(asked) >= steps, lambda: False, lambda: None)
    search.run()
    expected = brute_force(problem)
    if expected is not None:
        assert search.bound_ns <= expected <= search.best.objective_ns


@some
@given(st.one_of(simulated, rich()), st.integers(1, 500))
def test_the_quick_bound_is_never_above_the_optimum_or_the_cutoff(problem, cutoff):
    best = brute_force(problem)
    assert quick_makespan_bound_ns(problem, cutoff) <= min(cutoff, IMPOSSIBLE if best is None else best)


@some
@given(rich())
def test_the_simulated_optimum_is_never_above_the_simulation_of_another_form(problem):
    for form in ("closed", "period"):
        by_form = solve(replace(problem, objective=form))
        if by_form.solution is not None:
            assert solve(problem).objective <= evaluate(problem, by_form.solution).objective_ns


def splits():
    """Two ways to run the first half in the same time: an even one, and one with a short backward."""
    options = tuple(
        Option(island, (SignatureRun(kind, 1),), (Stage(1, forward, backward, 1, 1),), (), None, "p", "p")
        for island, kind, forward, backward in (("x", "first", 9, 1), ("x", "first", 5, 5), ("y", "second", 2, 3))
    )
    return CompositionProblem(
        name="splits",
        micro_batches=3,
        atoms=(SignatureRun("first", 1), SignatureRun("second", 1)),
        islands=(IslandClass("x", 1, 100), IslandClass("y", 1, 100)),
        options=options,
        ports=("p",),
        transfer_ns=((0,),),
        objective="simulated",
    )


def test_options_of_equal_stage_times_are_told_apart_by_their_forwards():
    uneven, even = (simulate((f, 2), (10 - f, 3), (0,), (0, 0), 3).makespan_ns for f in (9, 5))
    assert even < uneven
    for options in (splits().options, splits().options[::-1]):
        assert enumerated(replace(splits(), options=options)) == even


def test_a_stage_more_can_make_an_iteration_shorter():
    # A stage of no time in front of a slow link is a buffer: the stages on either side keep one more micro-batch apart.
    stage, buffer = Stage(1, 5, 5, 1, 1), Stage(1, 0, 0, 1, 1)
    problem = splits()
    short, back = problem.options[1], replace(problem.options[2], stages=(stage,))
    first = (SignatureRun("first", 2),)
    long = replace(short, atoms=first, stages=(stage, buffer), inner_transfers_ns=(0,))
    short = replace(short, atoms=first, stages=(replace(stage, atoms=2),))
    problem = replace(
        problem,
        micro_batches=8,
        atoms=(*first, SignatureRun("second", 1)),
        options=(short, long, back),
        transfer_ns=((6,),),
    )
    with_buffer = simulate((5, 0, 5), (5, 0, 5), (0, 6), (0, 0, 0), 8).makespan_ns
    assert with_buffer < simulate((5, 5), (5, 5), (6,), (0, 0), 8).makespan_ns
    assert enumerated(problem) == with_buffer


def test_a_problem_of_the_papers_size_is_proven():
    problem = replace(generated_problem(40, 4, 1, 5), objective="simulated")
    result = solve(problem)
    assert result.outcome is Outcome.OPTIMAL
    assert result.formulation == "enumeration"
    by_period = solve(replace(problem, objective="period"))
    assert result.objective < evaluate(problem, by_period.solution).objective_ns


def test_without_time_it_has_a_bound_and_says_why_it_stopped():
    result = solve(replace(generated_problem(40, 4, 1, 5), objective="simulated"), time_limit_s=1e-9)
    assert result.outcome is Outcome.UNKNOWN
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert 0 < result.bound < 2**58


def test_ctrl_c_returns_the_best_so_far_with_its_bound():
    problem = replace(generated_problem(40, 4, 1, 5), objective="simulated")
    heard = []

    def interrupt(progress):
        heard.append(progress)
        if progress.objective is not None:
            raise KeyboardInterrupt

    result = solve(problem, on_progress=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.bound <= solve(problem).objective <= result.objective


def test_ctrl_c_during_the_dynamic_program_keeps_what_it_has_found():
    problem = replace(generated_problem(40, 4, 1, 5), objective="simulated")
    calls = count()

    def interrupt(progress):
        if next(calls) == 1:
            raise KeyboardInterrupt

    result = solve(problem, on_progress=interrupt)
    assert result.outcome is Outcome.FEASIBLE


def test_a_hint_is_where_it_starts():
    problem = replace(generated_problem(40, 4, 1, 5), objective="simulated")
    best = solve(problem)
    hinted = solve(problem, hint=best.solution, time_limit_s=1e-9)
    assert hinted.solution == best.solution
    assert hinted.outcome is Outcome.FEASIBLE


def test_more_kinds_of_island_than_it_can_count_are_refused():
    problem = replace(load_composition_problem(INSTANCES / "tiny-order.json"), objective="simulated")
    many = replace(problem, islands=(*problem.islands, *(IslandClass(f"i{k}", 1, 1) for k in range(80))))
    assert "2^62 or more ways to use the islands" in DynamicProgram().unsupported(many)


def test_more_passes_than_can_be_run_are_refused():
    problem = replace(load_composition_problem(INSTANCES / "tiny-order.json"), objective="simulated")
    long = replace(problem, micro_batches=MOST_PASSES)
    with pytest.raises(InputError, match=rf"{MOST_PASSES} micro-batches on 2 stages, .* at most {MOST_PASSES} forward"):
        solve(long)
    with pytest.raises(InputError, match="micro-batches on 2 stages"):
        evaluate(long, solve(problem).solution)


def test_times_beyond_64_bits_are_refused():
    problem = replace(load_composition_problem(INSTANCES / "tiny-order.json"), objective="simulated")
    best = solve(problem).solution

    slow = replace(problem, micro_batches=2**10, transfer_ns=tuple((2**50,) * len(row) for row in problem.transfer_ns))
    with pytest.raises(InputError, match=r"one after the other could take \d+ ns, .* expects less than"):
        solve(slow)
    with pytest.raises(InputError, match=r"expected less than 2\^63 ns"):
        evaluate(replace(slow, micro_batches=2**15), best)


@pytest.mark.parametrize("solver", [NoteDynamicProgram(), PaperDynamicProgram()], ids=lambda solver: solver.name)
def test_the_heuristics_refuse_it(solver):
    assert solver.unsupported(splits()) == ("it does not minimise the simulated iteration time, which 'dp' does")
