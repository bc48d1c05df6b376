"""The 1F1B recurrence: its speed, the errors of the forms against it, and what objectives and depths are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from statistics import mean, median
from time import perf_counter

import numpy as np

from bench import depths
from bench.regret import LIMIT_S, MOST_ISLANDS, gains, pipeline_of, regrets, summary, summary_of_gains
from bench.report import ROOT, Row, table, write_csv, write_markdown
from tangram_opt.composition.objective import closed_form_of_ns
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.schedule import ScheduleProblem, SplitStage
from tangram_opt.documents import load_composition, load_composition_problem
from tangram_opt.pipeline import Pipeline, makespans, period_form_ns, standard_depths, upper_bound_ns
from tangram_opt.pipeline import run as run_pipeline
from tangram_opt.pipeline.graph import event_graph
from tangram_opt.pipeline.orders import one_f_one_b
from tangram_opt.pipeline.simulation import schedule_of
from tangram_opt.pipeline.split import iteration_ns
from tangram_opt.pipeline.split_schedules import as_one_f_one_b, as_zero_bubble
from tangram_opt.solvers import solve

INSTANCES = ROOT / "instances" / "composition"
PIPELINES = 2000
"""Random pipelines of each family."""
REPEATS = 7
SEARCH_LIMIT_S = 60.0


def run() -> None:
    """Measure everything, and write the report."""
    library = list(_library())
    by_form = list(regrets(_problems()))
    by_depths = list(depths.gains(_problems()))
    by_recurrence = list(gains(_problems()))
    write_csv("pipeline", library)
    write_csv("pipeline-depths", by_depths)
    write_csv("pipeline-regret", by_form)
    write_csv("pipeline-recurrence", by_recurrence)
    forms = [_errors(name, family) for name, family in FAMILIES.items()]
    write_markdown(
        "pipeline",
        "The 1F1B pipeline",
        [
            "## Speed",
            table(_speed()),
            "## Closed form and period form against the recurrence, random pipelines",
            f"{PIPELINES} pipelines of each family with 2 to 8 stages p and n = 1, 2, 4 or 8 p micro-batches. Closed "
            "form: (n-1) max t + sum t + 2 sum c; period form: the period P in the place of max t. *Too low* and *too "
            "high*: share of the pipelines, and the worst of them.",
            table([row for pair in forms for row in pair]),
            "## The same over the best known compositions of the library",
            table(library),
            "## Plans chosen by the closed form and by the period form",
            f"Composition problems of the library, solved by `dp` with {LIMIT_S:.0f} s for each form; what they choose "
            f"is simulated. {summary(by_form)}",
            table(by_form),
            "## What it is worth to choose in-flight depths",
            f"The same problems by the period form with the depths of 1F1B and with depths chosen, {LIMIT_S:.0f} s for "
            f"each; what `dp` finds is simulated with its depths. {depths.summary(by_depths)}",
            table(by_depths),
            "The same for whole training runs, planned over all micro-batch sizes:",
            table(list(depths.planned())),
            "## What minimising the simulated time itself gains",
            f"Composition problems of the library with up to {MOST_ISLANDS} islands, solved by `dp` with {LIMIT_S:.0f} "
            f"s for the period form and for the recurrence. {summary_of_gains(by_recurrence)}",
            table(by_recurrence),
            "## What 1F1B leaves on the table",
            "Equal passes, the backward in two of them; memory in micro-batches. Without a barrier stages may start "
            "the next iteration before the others have ended. Searched by `cpsat-schedule` for at most "
            f"{SEARCH_LIMIT_S:.0f} s with one thread; times in passes.",
            table([_searched(*shape) for shape in product(((4, 8), (8, 16)), (0.5, 1, 2), (True, False))]),
        ],
    )


def _speed() -> list[Row]:
    rng = Random(0)
    deep = _unbalanced(rng, 64, 512)

    def build() -> None:
        schedule_of(event_graph(one_f_one_b(deep.depths, 512), 64, 512), deep)

    small = _unbalanced(rng, 8, 64)
    numbers = np.random.default_rng(0)
    columns = [numbers.integers(1, 100, (5000, width)) for width in (8, 8, 7, 8)]
    many_s = _timed(lambda: makespans(*columns, 64))
    return [
        {"what": "64 stages x 512 micro-batches, event graph made anew", "median": _ms(_timed(build))},
        {"what": "the same, event graph kept", "median": _ms(_timed(lambda: run_pipeline(deep)))},
        {"what": "8 stages x 64 micro-batches, one by one", "median": _ms(_timed(lambda: run_pipeline(small)))},
        {
            "what": "8 x 64, 5,000 at once",
            "median": f"{5000 / many_s:,.0f} per second",
        },
    ]


def _timed(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = perf_counter()
        work()
        times.append(perf_counter() - started)
    return median(times)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


@dataclass(frozen=True)
class Family:
    """Random pipelines.

    Attributes
    ----------
    spread : float
        Stage times are from 1 to 1 + `spread`.
    transfer : float
        Transfers are from 0 to this share of the mean time, or exactly this share of it where `equal_transfers`.
    equal_transfers : bool
        See there.
    recompute : float
        Share of the stages whose backward takes 3 times the forward, and not 2 times.
    """

    spread: float
    transfer: float
    equal_transfers: bool = False
    recompute: float = 0.0

    def draw(self, rng: Random) -> Pipeline:
        """Draw one."""
        p = rng.randint(2, 8)
        times = [rng.randint(10_000, round(10_000 * (1 + self.spread))) for _ in range(p)]
        ratios = [3 if rng.random() < self.recompute else 2 for _ in range(p)]
        forward = [time // (1 + ratio) for time, ratio in zip(times, ratios, strict=True)]
        most = round(self.transfer * mean(times))
        return Pipeline(
            tuple(forward),
            tuple(ratio * f for f, ratio in zip(forward, ratios, strict=True)),
            tuple(most if self.equal_transfers else rng.randint(0, most) for _ in range(p - 1)),
            (0,) * p,
            p * rng.choice((1, 2, 4, 8)),
        )


FAMILIES = {
    "t in [1, 3], no transfers": Family(2, 0),
    "the same, half of the stages recompute": Family(2, 0, recompute=0.5),
    "t in [1, 3], transfers up to 10 % of t": Family(2, 0.1),
    "balanced within 5 %, transfers 3 % of t": Family(0.05, 0.03, True),
    "balanced within 5 %, transfers 17 % of t": Family(0.05, 0.17, True),
    "balanced within 5 %, transfers 30 % of t": Family(0.05, 0.3, True),
}


def _errors(name: str, family: Family) -> tuple[Row, Row]:
    rng = Random(1)
    closed, period = [], []
    for _ in range(PIPELINES):
        pipeline = family.draw(rng)
        makespan = run_pipeline(pipeline).makespan_ns
        closed.append(closed_form_of_ns(pipeline) / makespan - 1)
        period.append(float(period_form_ns(pipeline) / makespan) - 1)
    return _summary(name, "closed", closed), _summary("", "period", period)


def _summary(name: str, form: str, errors: Sequence[float]) -> Row:
    low, high = ([error for error in errors if sign * error > 1e-9] for sign in (-1, 1))
    return {
        "pipelines": name,
        "form": form,
        "exact": _percent(1 - (len(low) + len(high)) / len(errors)),
        "too low": _percent(len(low) / len(errors)),
        "too high": _percent(len(high) / len(errors)),
        "worst too low": _percent(-min(low, default=0)),
        "worst too high": _percent(max(high, default=0)),
        "mean error": _percent(mean(map(abs, errors))),
    }


def _problems() -> Iterator[CompositionProblem]:
    """Load the problems of the library one by one."""
    return (load_composition_problem(path) for path in sorted(INSTANCES.glob("*.json")))


def _library() -> Iterator[Row]:
    """Measure the pipelines of the best known solutions."""
    for path in sorted((INSTANCES / "solutions").glob("*.json")):
        pipeline = pipeline_of(load_composition_problem(INSTANCES / path.name), load_composition(path))
        makespan = run_pipeline(pipeline).makespan_ns
        deep = replace(pipeline, depths=tuple(2 * depth - 1 for depth in standard_depths(pipeline.stages)))
        upper = upper_bound_ns(pipeline)
        assert upper is not None
        yield {
            "instance": path.stem,
            "stages": pipeline.stages,
            "micro-batches": pipeline.micro_batches,
            "simulated s": f"{makespan / 1e9:.6g}",
            "closed form": _signed(closed_form_of_ns(pipeline) / makespan - 1),
            "period form": _signed(float(period_form_ns(pipeline) / makespan) - 1),
            "upper bound": _signed(upper / makespan - 1),
            "simulated, warm-up doubled": _signed(run_pipeline(deep).makespan_ns / makespan - 1),
        }


def _searched(shape: tuple[int, int], memory: float, barrier: bool) -> Row:
    p, n = shape
    limit = round(memory * p) - (memory > 1)  # ZB-H2 needs 2p - 1
    stages = (SplitStage(1, 1, 1, 0, 1, 1, limit),) * p
    problem = ScheduleProblem("equal", stages, (0,) * (p - 1), n, barrier)
    result = solve(problem, time_limit=SEARCH_LIMIT_S)
    return {
        "stages x micro-batches": f"{p} x {n}",
        "memory": limit,
        "barrier": "yes" if barrier else "no",
        "1F1B": iteration_ns(problem, as_one_f_one_b(problem)),
        "greedy": iteration_ns(problem, as_zero_bubble(problem)),
        "best": result.objective,
        "bound": result.bound,
        "s": f"{result.wall_s:.1f}",
    }


def _unbalanced(rng: Random, p: int, n: int) -> Pipeline:
    return Pipeline(*(tuple(rng.randint(1, 100) for _ in range(count)) for count in (p, p, p - 1, p)), micro_batches=n)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.2f} %"
