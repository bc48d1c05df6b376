"""Every formulation with every solver finds the optimum of every problem that it is exact for."""

from dataclasses import replace
from pathlib import Path

import pytest
from composition_oracle import brute_force
from composition_strategies import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from formulations.pyomo import PyomoSolver
from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.composition import check, evaluate
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.documents import load_composition_problem
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, StopReason

INSTANCES = Path(__file__).parents[2] / "instances" / "composition"
SOLVERS = (CpSat(), HighsSolver(), PyomoSolver("highs"))
PAIRS = [(solver, formulation) for solver in SOLVERS for formulation in solver.composition.formulation_names]
each_pair = pytest.mark.parametrize(
    ("solver", "formulation"), PAIRS, ids=[f"{solver.name}-{formulation}" for solver, formulation in PAIRS]
)
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


@each_pair
def test_a_formulation_equals_brute_force_where_it_is_exact(solver, formulation):
    @settings(max_examples=60)
    @given(problems().filter(lambda problem: formulation in solver.formulations(problem)))
    def holds(problem):
        optimum = brute_force(problem)
        result = solver.solve(problem, SolveOptions(formulation=formulation))
        assert (result.objective, result.bound) == (optimum, optimum)
        assert result.outcome is (Outcome.INFEASIBLE if optimum is None else Outcome.OPTIMAL)
        assert result.stop_reason is StopReason.PROVED
        assert (result.solver, result.formulation) == (solver.name, formulation)
        if result.solution is not None:
            assert check(problem, result.solution) == ()
            assert evaluate(problem, result.solution).objective_ns == optimum

    holds()


@pytest.mark.parametrize("solver", [CpSat(), HighsSolver()], ids=lambda solver: solver.name)
def test_the_sweep_equals_brute_force_by_the_period(solver):
    @settings(max_examples=80)
    @given(problems(objective="period"))
    def holds(problem):
        optimum = brute_force(problem)
        result = solver.solve(problem, SolveOptions())
        assert (result.objective, result.bound) == (optimum, optimum)

    holds()


@pytest.mark.parametrize("solver", [CpSat(), HighsSolver()], ids=lambda solver: solver.name)
def test_the_sweep_equals_brute_force_where_depths_are_chosen(solver):
    @settings(max_examples=80)
    @given(problems(objective="period", depths="chosen"))
    def holds(problem):
        optimum = brute_force(problem)
        result = solver.solve(problem, SolveOptions())
        assert (result.objective, result.bound) == (optimum, optimum)

    holds()


@pytest.mark.parametrize("memory_bytes", [9, 8])
@pytest.mark.parametrize("solver", [DynamicProgram(), CpSat(), HighsSolver()], ids=lambda solver: solver.name)
def test_every_boundary_takes_a_micro_batch_more_however_short_it_is(solver, memory_bytes):
    island = IslandClass("a", 5, memory_bytes)
    stage = Stage(1, forward_ns=40, backward_ns=60, static_bytes=0, in_flight_bytes=1)
    option = Option("a", (SignatureRun("layer", 1),), (stage,), (), None, "p", "p")
    problem = CompositionProblem(
        "equal", 20, (SignatureRun("layer", 5),), (island,), (option,), ("p",), ((1,),), (), "period", "chosen"
    )
    result = solver.solve(problem, SolveOptions())
    # With 9 in flight in front the transfers vanish; with 8 there is one boundary that has to be waited for.
    period = 100 if memory_bytes == 9 else -(-(2 * 100 + 2) // 2)
    assert (result.objective, result.bound) == (19 * period + 500 + 8, 19 * period + 500 + 8)
    assert max(evaluate(problem, result.solution).in_flight) == (9 if memory_bytes == 9 else 7)


@pytest.mark.parametrize("solver", [CpSat(), HighsSolver()], ids=lambda solver: solver.name)
def test_long_times_by_the_period_are_never_answered_wrongly(solver):
    """A second for an atom and more: with such coefficients presolve and tolerances of solvers lose solutions."""

    @settings(max_examples=30)
    @given(problems(objective="period"), st.sampled_from([10**8, 10**9]))
    def holds(problem, factor):
        scaled = stretched(problem, factor)
        optimum = brute_force(scaled)
        result = solver.solve(scaled, SolveOptions(time_limit_s=5))
        assert result.outcome is not Outcome.INFEASIBLE or optimum is None
        if optimum is not None:
            assert result.bound is None or result.bound <= optimum
            assert result.objective is None or result.objective >= optimum

    holds()


def test_only_a_sequence_of_models_minimises_the_period():
    problem = replace(load_composition_problem(INSTANCES / "paper-c1-8t4-8v100-gpt3-6.7b.json"), objective="period")
    assert CpSat().formulations(problem) == HighsSolver().formulations(problem) == ("sweep",)
    assert "period" in PyomoSolver("highs").unsupported(problem)


@pytest.mark.parametrize("solver", [CpSat(), HighsSolver(), PyomoSolver("highs")], ids=lambda solver: solver.name)
def test_the_libraries_refuse_the_simulated_time(solver):
    problem = replace(load_composition_problem(INSTANCES / "tiny-order.json"), objective="simulated")
    assert solver.unsupported(problem) == "it does not minimise the simulated iteration time, which 'dp' does"


def stretched(problem, factor):
    """All times of a problem, multiplied."""

    def stage(s):
        return replace(
            s, forward_ns=s.forward_ns * factor, backward_ns=s.backward_ns * factor, sync_ns=s.sync_ns * factor
        )

    return replace(
        problem,
        options=tuple(
            replace(
                option,
                stages=tuple(map(stage, option.stages)),
                inner_transfers_ns=tuple(time * factor for time in option.inner_transfers_ns),
            )
            for option in problem.options
        ),
        transfer_ns=tuple(tuple(time * factor for time in row) for row in problem.transfer_ns),
    )


@each_solver
def test_times_of_a_real_cluster_are_proven_to_the_nanosecond(solver):
    """Seconds in nanoseconds, with an odd one in front: a tolerance of 1e-9 of the objective would not do."""

    @settings(max_examples=30)
    @given(problems(), st.integers(1, 9))
    def holds(problem, odd):
        factor = 100_000_000
        first = problem.options[0]
        longer = replace(first.stages[0], forward_ns=first.stages[0].forward_ns * factor + odd)
        scaled = stretched(problem, factor)
        option = replace(scaled.options[0], stages=(longer, *first.stages[1:]))
        option = replace(option, stages=(longer, *scaled.options[0].stages[1:]))
        scaled = replace(scaled, options=(option, *scaled.options[1:]))
        optimum = brute_force(scaled)
        result = solver.solve(scaled, SolveOptions())
        assert (result.objective, result.bound) == (optimum, optimum)

    holds()


@each_solver
def test_the_strongest_formulation_is_taken_and_named(solver):
    @settings(max_examples=20)
    @given(problems())
    def holds(problem):
        names = solver.formulations(problem)
        assert "arc-flow" in names
        result = solver.solve(problem, SolveOptions())
        assert result.formulation == names[0]
        assert result.log[0].startswith(f"{names[0]}: ")

    holds()


def option(island, atoms, *, time=10, stages=1, after=None, memory=1, port="p"):
    """An option for a slice like "elll" whose first stage holds what the other stages do not."""
    held = [len(atoms) - stages + 1, *[1] * (stages - 1)]
    runs = []
    for signature in atoms:
        if runs and runs[-1].signature == signature:
            runs[-1] = SignatureRun(signature, runs[-1].count + 1)
        else:
            runs.append(SignatureRun(signature, 1))
    return Option(
        island=island,
        atoms=tuple(runs),
        stages=tuple(Stage(count, time, 0, memory, 1) for count in held),
        inner_transfers_ns=(0,) * (stages - 1),
        max_stages_after=after,
        entry_port=port,
        exit_port=port,
    )


def problem_of(atoms, options, islands="ab", required=(), transfer=((0,),)):
    whole = option("a", atoms)
    return CompositionProblem(
        name="small",
        micro_batches=4,
        atoms=whole.atoms,
        islands=tuple(IslandClass(name, islands.count(name), 10) for name in sorted(set(islands))),
        options=tuple(options),
        ports=("p", "q")[: len(transfer)],
        transfer_ns=transfer,
        required=required,
    )


COVERED = problem_of("llll", [option("a", "ll"), option("b", "ll")])
CASES = {
    "too few atoms are covered": (COVERED, replace(COVERED, options=COVERED.options[:1])),
    "an island is used twice": (COVERED, problem_of("llll", [option("a", "ll")])),
    "islands of a class serve one slice each": (
        problem_of("llll", [option("a", "ll")], "aa"),
        problem_of("llllll", [option("a", "ll")], "aa"),
    ),
    "a required class has an option": (
        replace(COVERED, required=("b",)),
        replace(COVERED, required=("b",), options=(option("a", "llll"),)),
    ),
    "a required class can be used beside the others": (
        replace(COVERED, required=("a", "b")),
        replace(COVERED, required=("a", "b"), options=(*COVERED.options[:1], option("b", "llll"))),
    ),
    "stages behind are within the limit in some order": (
        problem_of("llll", [option("a", "ll", after=0), option("b", "ll", after=1)]),
        problem_of("llll", [option("a", "ll", after=0), option("b", "ll", after=0)]),
    ),
    "all stages of an option count behind another": (
        problem_of("llll", [option("a", "ll", stages=2), option("b", "ll", after=2)]),
        problem_of("llll", [option("a", "ll", stages=2, after=0), option("b", "ll", after=1)]),
    ),
    "a crossing slice has its place in front": (
        problem_of("ell", [option("a", "el", after=1), option("b", "l")]),
        problem_of("ell", [option("a", "el", after=0), option("b", "l")]),
    ),
    "an interior slice has what crosses out of its run behind it": (
        problem_of("llh", [option("a", "l", after=1), option("b", "lh")]),
        problem_of("llh", [option("a", "l", after=0), option("b", "lh")]),
    ),
    "only one slice crosses a boundary": (
        problem_of("lleelle", [option("a", "lle"), option("b", "elle")]),
        problem_of("llee", [option("a", "lle"), option("b", "le")]),
    ),
    "memory holds the micro-batches in flight": (
        problem_of("llll", [option("a", "ll", memory=8), option("b", "ll", memory=9)]),
        problem_of("llll", [option("a", "ll", memory=9), option("b", "ll", memory=9)]),
    ),
}


@each_pair
@pytest.mark.parametrize("case", CASES)
def test_each_constraint_allows_what_it_should_and_no_more(solver, formulation, case):
    allowed, forbidden = CASES[case]
    for problem, outcome in ((allowed, Outcome.OPTIMAL), (forbidden, Outcome.INFEASIBLE)):
        if formulation in solver.formulations(problem):
            result = solver.solve(problem, SolveOptions(formulation=formulation))
            assert result.outcome is outcome
            assert outcome is Outcome.OPTIMAL or len(result.log) == 2, "infeasible comes with a reason"


def test_the_order_is_modelled_only_where_links_depend_on_the_neighbours():
    options = [option("a", "ll"), option("b", "ll", port="q")]
    uniform = problem_of("llll", options, transfer=((3, 3), (3, 3)))
    # A single island never meets itself, so its own row and column do not matter.
    nearly = problem_of("llll", options, transfer=((9, 3), (3, 9)))
    dependent = problem_of("llll", options, transfer=((3, 3), (5, 3)))
    assert CpSat().formulations(uniform) == CpSat().formulations(nearly) == ("sweep", "deadline", "circuit", "arc-flow")
    assert CpSat().formulations(dependent) == ("sweep", "circuit", "arc-flow")
    assert CpSat().formulations(replace(dependent, atoms=option("a", "llllell").atoms)) == ("sweep", "arc-flow")
    with pytest.raises(InputError, match="'deadline' is not exact for problem 'small': transfer times depend"):
        CpSat().solve(dependent, SolveOptions(formulation="deadline"))


@each_solver
def test_an_unknown_formulation_is_refused_with_those_there_are(solver):
    with pytest.raises(InputError, match=r"formulation: 'lagrange', expected one of auto, .*arc-flow"):
        solver.solve(COVERED, SolveOptions(formulation="lagrange"))


@each_solver
def test_it_is_a_backend_and_takes_no_other_kind(solver):
    assert isinstance(solver, Backend)
    assert solver.missing() is None
    assert solver.version()
    assert solver.unsupported(COVERED) is None
    assert solver.unsupported("a planning problem") is not None


def test_a_solver_that_pyomo_does_not_find_is_missing():
    assert PyomoSolver("nosuchsolver").missing() == "nosuchsolver"
