"""What the choice of the objective is worth: compositions by each of them, judged by the recurrence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bench.report import Row
from tangram_opt.composition import evaluate
from tangram_opt.data.composition import Composition, CompositionProblem, Objective
from tangram_opt.errors import InputError
from tangram_opt.pipeline import Pipeline, depths_of
from tangram_opt.pipeline import run as run_pipeline
from tangram_opt.planner.search import MOST_SIMULATED
from tangram_opt.result import Outcome, Result
from tangram_opt.solvers import solve

LIMIT_S = 5.0
"""For each solve; most problems of the library are proven in far less."""
MOST_ISLANDS = MOST_SIMULATED
"""Problems of so many islands are solved by the recurrence, too: those for which plans minimise it."""


def pipeline_of(problem: CompositionProblem, composition: Composition) -> Pipeline:
    """Put the stages of a composition in a row."""
    evaluation = evaluate(problem, composition)
    stages = [stage for pick in composition.picks for stage in problem.options[pick.option].stages]
    return Pipeline(
        forward_ns=tuple(stage.forward_ns for stage in stages),
        backward_ns=tuple(stage.backward_ns for stage in stages),
        transfer_ns=evaluation.transfers_ns,
        sync_ns=tuple(stage.sync_ns for stage in stages),
        micro_batches=problem.micro_batches,
        depths=depths_of(evaluation.in_flight, problem.micro_batches),
    )


def regrets(problems: Iterable[CompositionProblem]) -> Iterator[Row]:
    """Solve each problem by the closed and by the period form with `dp`, and simulate what they choose."""
    for problem in problems:
        try:
            closed, period = (_solved(problem, objective) for objective in ("closed", "period"))
        except InputError:
            continue  # There are more ways to use the islands than `dp` can count where their order matters.
        if closed.solution is None or period.solution is None:
            continue
        chosen = [run_pipeline(pipeline_of(problem, each.solution)).makespan_ns for each in (closed, period)]
        yield {
            "instance": problem.name,
            "closed form s": f"{closed.wall_s:.2f}",
            "period form s": f"{period.wall_s:.2f}",
            "proven": "yes" if closed.outcome is period.outcome is Outcome.OPTIMAL else _gaps(closed, period),
            "simulated, by closed form": f"{chosen[0] / 1e9:.6g} s",
            "by period form": f"{chosen[1] / 1e9:.6g} s",
            "closed form slower by": f"{100 * (chosen[0] / chosen[1] - 1):+.2f} %",
        }


def gains(problems: Iterable[CompositionProblem]) -> Iterator[Row]:
    """Solve each problem of few islands by the period form and by the recurrence, and compare in simulation."""
    for problem in problems:
        if sum(island.count for island in problem.islands) > MOST_ISLANDS:
            continue
        period, simulated = (_solved(problem, objective) for objective in ("period", "simulated"))
        if period.solution is None or simulated.objective is None:
            continue
        by_period = run_pipeline(pipeline_of(problem, period.solution)).makespan_ns
        yield {
            "instance": problem.name,
            "islands": sum(island.count for island in problem.islands),
            "simulated, by period form": f"{by_period / 1e9:.6g} s",
            "by recurrence": f"{simulated.objective / 1e9:.6g} s",
            "period form slower by": f"{100 * (by_period / simulated.objective - 1):.2f} %",
            "recurrence s": f"{simulated.wall_s:.2f}",
            "proven": "yes" if simulated.outcome is Outcome.OPTIMAL else _gaps(simulated),
        }


def summary_of_gains(rows: Sequence[Row]) -> str:
    """Say how many are proven, how long that took, and what the period form loses."""
    slower = [float(str(row["period form slower by"]).removesuffix(" %")) for row in rows]
    proven = sum(row["proven"] == "yes" for row in rows)
    slowest = max(float(str(row["recurrence s"])) for row in rows)
    return (
        f"{proven} of {len(rows)} problems are proven by the recurrence, in at most {slowest:.1f} s each. The plan of "
        f"the period form is slower on {sum(loss > 0 for loss in slower)}: by {max(slower):.1f} % at most, by "
        f"{sum(slower) / len(rows):.2f} % on the mean of all."
    )


def summary(rows: Sequence[Row]) -> str:
    """Say how often, and by how much at most, each form chooses the slower plan."""
    slower = [float(str(row["closed form slower by"]).removesuffix(" %")) for row in rows]
    worse, far, better = (sum(map(test, slower)) for test in (lambda x: x > 0, lambda x: x >= 5, lambda x: x < 0))
    return (
        f"Of {len(slower)} problems the plan of the closed form is slower on {worse} (by 5 % or more on {far}, at most "
        f"{max(slower):.1f} %), that of the period form on {better} (at most {max(-loss for loss in slower):.1f} %)."
    )


def _solved(problem: CompositionProblem, objective: Objective) -> Result[Composition]:
    return solve(replace(problem, objective=objective), "dp", time_limit=LIMIT_S)


def _gaps(*results: Result[Composition]) -> str:
    return ", ".join(f"gap {100 * (result.gap or 0):.1f} %" for result in results)
