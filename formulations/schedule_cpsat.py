"""The solver ``cpsat-schedule``: pipelines with a split backward as a disjunctive model for CP-SAT.

Sets: stages s = 0..p-1, micro-batches m = 0..n-1. Parameters: durations f, b, w of a stage's forward, gradient of the
input and gradient of the weights, its synchronisation y; one-way transfers c; memory a of a micro-batch, of which k
is kept until the gradient of the weights, and the limit M.

Variables: starts F(s,m), B(s,m), W(s,m) of the three passes, and the iteration time T.

    minimise T
    (order)     F, B and W of a stage start in the order of m
    (forward)   F(s,m) >= F(s-1,m) + f(s-1) + c(s-1)
    (turn)      B(p-1,m) >= F(p-1,m) + f(p-1)
    (backward)  B(s,m) >= B(s+1,m) + b(s+1) + c(s)
    (weights)   W(s,m) >= B(s,m) + b(s)
    (stage)     passes of a stage do not overlap
    (memory)    at any time sum of a - k over micro-batches from F to the end of B, and of k from F to the end of W,
                is at most M(s)
    (time)      T >= W(s,n-1) + w(s) + y(s) - begin, where begin is 0, or F(s,0) where there is no barrier

Micro-batches are alike, so that any schedule can be renumbered stage by stage, the j-th pass of a kind becoming that
of micro-batch j: (order) loses nothing. It makes precedences out of memory: with K = floor(M / a) micro-batches
before their B has ended at most, F(s,m) >= B(s,m-K) + b(s), and with K' = floor((M - a) / k) + 1 before their W has
ended at most, F(s,m) >= W(s,m-K') + w(s). Where k is 0 or a they say all; between them a cumulative constraint does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from formulations.library import Library
from formulations.linear_cpsat import integer_bound, run_cpsat, take_answer
from formulations.search import Search
from tangram_opt.backend import Problem, SolveOptions
from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule, SplitStage
from tangram_opt.errors import InputError
from tangram_opt.pipeline.split import check_schedule, iteration_ns, lower_bound_ns
from tangram_opt.pipeline.split_schedules import as_one_f_one_b, as_zero_bubble
from tangram_opt.result import Outcome, Result, StopReason

Row = list[Any]

LARGEST: Final = 1 << 53
"""Times stay below it: CP-SAT reports objectives as floating-point numbers, exact up to here."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of CP-SAT.

    Attributes
    ----------
    model : CpModel
        The model.
    forward, input_gradient, weight_gradient : list of list of IntVar
        Starts of the passes, by stage and micro-batch.
    time : IntVar
        The iteration time, T.
    """

    model: Any
    forward: list[Row]
    input_gradient: list[Row]
    weight_gradient: list[Row]
    time: Any


def build(problem: ScheduleProblem, known_ns: int) -> Model:
    """Write a problem for CP-SAT.

    Parameters
    ----------
    problem : ScheduleProblem
        The problem.
    known_ns : int
        Iteration time of some schedule.

    Returns
    -------
    Model
        With every schedule that takes at most so long.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    # Without a barrier stage 0 runs all of its passes within T of its first one. B(0,0) is one of them, and F(s,0)
    # comes before it: every stage begins within T, and ends within another T.
    horizon = known_ns if problem.barrier else 2 * known_ns
    if horizon >= LARGEST:
        raise InputError(f"problem {problem.name!r}: schedules of {horizon} ns, expected less than 2^53 ns for CP-SAT")

    def starts(kind: str) -> list[Row]:
        turns = range(problem.micro_batches)
        return [[model.new_int_var(0, horizon, f"{kind}_{s}_{m}") for m in turns] for s in range(len(problem.stages))]

    built = Model(
        model,
        starts("F"),
        starts("B"),
        starts("W"),
        model.new_int_var(lower_bound_ns(problem), known_ns, "T"),
    )
    model.minimize(built.time)
    model.add(built.forward[0][0] == 0).with_name("begin")
    for s, stage in enumerate(problem.stages):
        _add_order(built, stage, s)
        _add_inputs(built, problem, s)
        _add_resources(built, stage, s)
        begin = 0 if problem.barrier else built.forward[s][0]
        end = built.weight_gradient[s][-1] + stage.weight_gradient_ns + stage.sync_ns
        model.add(built.time >= end - begin).with_name(f"time_{s}")
    return built


def _add_order(built: Model, stage: SplitStage, s: int) -> None:
    """(order): a pass starts when the one before it of its kind has ended, as they share the stage."""
    for kind, rows, duration in _kinds(built, stage):
        for m in range(1, len(rows[s])):
            built.model.add(rows[s][m] >= rows[s][m - 1] + duration).with_name(f"order_{kind}_{s}_{m}")


def _add_inputs(built: Model, problem: ScheduleProblem, s: int) -> None:
    """(forward), (turn), (backward) and (weights)."""
    model, stages, last = built.model, problem.stages, len(problem.stages) - 1
    for m in range(problem.micro_batches):
        forward, gradient, weight = (rows[s][m] for _, rows, _ in _kinds(built, stages[s]))
        if s:
            sent = built.forward[s - 1][m] + stages[s - 1].forward_ns
            model.add(forward >= sent + problem.transfer_ns[s - 1]).with_name(f"forward_{s}_{m}")
        if s == last:
            model.add(gradient >= forward + stages[s].forward_ns).with_name(f"turn_{m}")
        else:
            sent = built.input_gradient[s + 1][m] + stages[s + 1].input_gradient_ns
            model.add(gradient >= sent + problem.transfer_ns[s]).with_name(f"backward_{s}_{m}")
        model.add(weight >= gradient + stages[s].input_gradient_ns).with_name(f"weights_{s}_{m}")


def _add_resources(built: Model, stage: SplitStage, s: int) -> None:
    """(stage) and (memory)."""
    model, n = built.model, len(built.forward[s])
    passes = [
        model.new_fixed_size_interval_var(start, duration, f"pass_{kind}_{s}_{m}")
        for kind, rows, duration in _kinds(built, stage)
        for m, start in enumerate(rows[s])
    ]
    model.add_no_overlap(passes).with_name(f"stage_{s}")
    whole, kept, limit = stage.activation_bytes, stage.kept_bytes, stage.limit_bytes
    gradient_ends = [start + stage.input_gradient_ns for start in built.input_gradient[s]]
    weight_ends = [start + stage.weight_gradient_ns for start in built.weight_gradient[s]]
    for kind, ends, most in (
        ("B", gradient_ends, limit // whole if whole else n),
        ("W", weight_ends, (limit - whole) // kept + 1 if kept else n),
    ):
        for m in range(most, n):
            model.add(built.forward[s][m] >= ends[m - most]).with_name(f"memory_{kind}_{s}_{m}")
    if 0 < kept < whole:
        held, demands = [], []
        for kind, ends, demand in (("B", gradient_ends, whole - kept), ("W", weight_ends, kept)):
            for m, (start, end) in enumerate(zip(built.forward[s], ends, strict=True)):
                size = model.new_int_var(0, 2 * LARGEST, f"held_{kind}_{s}_{m}")
                held.append(model.new_interval_var(start, size, end, f"in_flight_{kind}_{s}_{m}"))
                demands.append(demand)
        model.add_cumulative(held, demands, limit).with_name(f"memory_{s}")


def _kinds(built: Model, stage: SplitStage) -> tuple[tuple[str, list[Row], int], ...]:
    return (
        ("F", built.forward, stage.forward_ns),
        ("B", built.input_gradient, stage.input_gradient_ns),
        ("W", built.weight_gradient, stage.weight_gradient_ns),
    )


ScheduleSearch = Search[ScheduleProblem, SplitSchedule]


def _judge(problem: ScheduleProblem, schedule: SplitSchedule) -> tuple[int]:
    """Evaluate a schedule without a solver."""
    violations = check_schedule(problem, schedule)
    if violations:
        raise RuntimeError(f"a schedule of {problem.name!r} is not allowed: {violations[0]}")
    return (iteration_ns(problem, schedule),)


class ScheduleSolver(Library):
    """A backend for schedule problems."""

    name = "cpsat-schedule"
    library = "ortools"
    summary: Final = "CP-SAT on pipelines with a split backward (zero-bubble schedules), proves its answers"
    exact: Final = True
    formulation: Final = "disjunctive"

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        return None if isinstance(problem, ScheduleProblem) else "it solves schedule problems only"

    def formulations(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002 (the same for all)
        """Name the one formulation."""
        return (self.formulation,)

    def solve(self, problem: ScheduleProblem, options: SolveOptions) -> Result[SplitSchedule]:
        """Solve a schedule problem.

        Parameters
        ----------
        problem : ScheduleProblem
            The problem.
        options : SolveOptions
            All of them count; `on_model` gets the :class:`Model`.

        Returns
        -------
        Result
            Never worse than 1F1B, a greedy zero-bubble schedule and an allowed hint.

        Raises
        ------
        InputError
            A parameter is wrong, or numbers are too large.
        """
        search: ScheduleSearch = Search(problem, options, partial(_judge, problem))
        # With constraints of the user's own a known schedule may not be a solution.
        if options.on_model is None:
            for start in (*_hints(problem, options.hint), as_one_f_one_b(problem), as_zero_bubble(problem)):
                search.offer(start)
        search.prove(lower_bound_ns(problem))
        infeasible = False
        try:
            # Where a simple schedule meets the bound there is nothing to search.
            if search.objective != search.bound:
                infeasible = _search(problem, search)
        except KeyboardInterrupt:
            search.interrupted = True
        return self._answer(search, infeasible=infeasible)

    def _answer(self, search: ScheduleSearch, *, infeasible: bool) -> Result[SplitSchedule]:
        proven = search.objective is not None and search.objective == search.bound
        if search.best is None:
            outcome = Outcome.INFEASIBLE if infeasible else Outcome.UNKNOWN
        else:
            outcome = Outcome.OPTIMAL if proven else Outcome.FEASIBLE
        return Result(
            outcome=outcome,
            stop_reason=StopReason.PROVED if proven or infeasible else search.why_unproved,
            objective=search.objective,
            bound=None if infeasible else search.bound,
            wall_s=search.elapsed_s,
            solution=search.best,
            solver=self.name,
            solver_version=self.version(),
            formulation=self.formulation,
        )


def _hints(problem: ScheduleProblem, hint: Any) -> Iterator[SplitSchedule]:
    if isinstance(hint, SplitSchedule) and not check_schedule(problem, hint):
        yield hint


def _search(problem: ScheduleProblem, search: ScheduleSearch) -> bool:
    """Let CP-SAT look for a better schedule than the best so far; return whether there is proven to be none at all."""
    from ortools.sat.python import cp_model

    built = build(problem, _serial_ns(problem) if search.objective is None else search.objective)
    if search.best is not None:
        _add_hint(built, problem, search.best)
    if search.options.on_model is not None:
        search.options.on_model(built)
    solver = cp_model.CpSolver()
    status = run_cpsat(
        built.model,
        solver,
        search,
        lambda values: search.offer(_read(built, problem, values)),
        lambda bound: search.hear(integer_bound(bound)),
    )
    infeasible = take_answer(status, solver, search, lambda values: _read(built, problem, values))
    if infeasible and search.best is not None:
        raise RuntimeError(f"{problem.name!r}: called infeasible, but there is a schedule")
    return infeasible


def _serial_ns(problem: ScheduleProblem) -> int:
    """Iteration time of one pass after the other."""
    once = sum(stage.time_ns for stage in problem.stages) + 2 * sum(problem.transfer_ns)
    return problem.micro_batches * once + max(stage.sync_ns for stage in problem.stages)


def _read(built: Model, problem: ScheduleProblem, values: Any) -> SplitSchedule:
    rows = (built.forward, built.input_gradient, built.weight_gradient)
    return SplitSchedule(problem.name, *(tuple(tuple(values.value(x) for x in row) for row in kind) for kind in rows))


def _add_hint(built: Model, problem: ScheduleProblem, schedule: SplitSchedule) -> None:
    """Start from a schedule, its micro-batches numbered in the order of their passes."""
    for variables, starts in (
        (built.forward, schedule.forward_start_ns),
        (built.input_gradient, schedule.input_gradient_start_ns),
        (built.weight_gradient, schedule.weight_gradient_start_ns),
    ):
        for row, values in zip(variables, starts, strict=True):
            for variable, value in zip(row, sorted(values), strict=True):
                built.model.add_hint(variable, value)
    built.model.add_hint(built.time, iteration_ns(problem, schedule))
