"""What it is worth to choose in-flight depths: plans of 1F1B and of chosen depths, judged by the exact recurrence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from bench.regret import LIMIT_S, pipeline_of
from bench.report import ROOT, Row
from tangram_opt import plan
from tangram_opt.data.composition import Composition, CompositionProblem, Depths
from tangram_opt.documents import load_planning_problem
from tangram_opt.errors import InputError
from tangram_opt.pipeline import run as run_pipeline
from tangram_opt.pipeline import standard_depths
from tangram_opt.result import Result
from tangram_opt.solvers import solve

PLANNED = (
    "c1-8t4-8v100-gpt3-6.7b",
    "c1-8t4-8v100-moe-10b",
    "c1-8t4-8v100-moe-7.1b",
    "c2-8a100-8h100-mixtral-8x7b",
    "c2-8a100-8h100-qwen3-30b-a3b",
    "c3-4a100-8v100-gpt3-13b",
    "c3-4a100-8v100-4v100-4t4-gpt3-13b",
)
"""Planning problems with more than one island."""


@dataclass(frozen=True)
class Chosen:
    """What `dp` chose.

    Attributes
    ----------
    result : Result
        With a composition.
    simulated_ns : int
        How long its iteration takes.
    extra : int
        The most micro-batches that a stage keeps in flight beyond 1F1B.
    """

    result: Result[Composition]
    simulated_ns: int
    extra: int

    @property
    def proof(self) -> str:
        """Time that the proof took, or the gap without one."""
        result = self.result
        proven = result.bound == result.objective
        return f"{result.wall_s:.2f} s" if proven else f"gap {100 * (result.gap or 0):.1f} %"


def gains(problems: Iterable[CompositionProblem]) -> Iterator[Row]:
    """Solve each problem by the period form with `dp`, for either kind of depths, and simulate what it finds."""
    for problem in problems:
        standard, chosen = (_chosen(problem, depths) for depths in ("standard", "chosen"))
        if standard is not None and chosen is not None:
            yield {
                "instance": problem.name,
                "1F1B, proof": standard.proof,
                "chosen depths, proof": chosen.proof,
                "period form gains": _gain(standard.result.objective, chosen.result.objective),
                "simulated, 1F1B": f"{standard.simulated_ns / 1e9:.6g} s",
                "simulated, chosen depths": f"{chosen.simulated_ns / 1e9:.6g} s",
                "simulation gains": _gain(standard.simulated_ns, chosen.simulated_ns),
                "most extra in flight": chosen.extra,
            }


def planned() -> Iterator[Row]:
    """Plan training runs on mixed clusters of the paper with either kind of depths, over all micro-batch sizes."""
    for name in PLANNED:
        problem = load_planning_problem(ROOT / "instances" / "planning" / f"{name}.json")
        standard, chosen = (plan(replace(problem, depths=depths)) for depths in ("standard", "chosen"))
        yield {
            "instance": name,
            "micro-batch, 1F1B": standard.micro_batch,
            "simulated, 1F1B": f"{standard.simulated_ns / 1e9:.4g} s",
            "micro-batch, chosen depths": chosen.micro_batch,
            "simulated, chosen depths": f"{chosen.simulated_ns / 1e9:.4g} s",
            "simulation gains": _gain(standard.simulated_ns, chosen.simulated_ns),
            "in flight": " ".join(str(stage.in_flight) for stage in chosen.stages),
            "proven": "both" if standard.outcome == chosen.outcome == "optimal" else "not both",
        }


def summary(rows: Sequence[Row]) -> str:
    """Say how often, and how much, chosen depths gain or lose under simulation."""
    gained = [float(str(row["simulation gains"]).removesuffix(" %")) for row in rows]
    more, far, less = (sum(map(test, gained)) for test in (lambda x: x > 0, lambda x: x >= 5, lambda x: x < 0))
    return (
        f"Of {len(gained)} problems chosen depths make the simulated iteration shorter on {more} (by 5 % or more on "
        f"{far}, at most {max(gained):.1f} %, {mean(gained):.2f} % in the mean of all), and longer on {less} (at most "
        f"{max(-gain for gain in gained):.2f} %)."
    )


def _chosen(problem: CompositionProblem, depths: Depths) -> Chosen | None:
    try:
        asked = replace(problem, objective="period", depths=depths)
        result: Result[Composition] = solve(asked, "dp", time_limit=LIMIT_S)
    except (ValueError, InputError):
        return None  # A stage takes no time, or there are more ways to use the islands than `dp` can count.
    if result.solution is None:
        return None
    pipeline = pipeline_of(asked, result.solution)
    standard = standard_depths(pipeline.stages)
    return Chosen(
        result=result,
        simulated_ns=run_pipeline(pipeline).makespan_ns,
        extra=max(k - depth for k, depth in zip(pipeline.depths, standard, strict=True)),
    )


def _gain(before: int | None, after: int | None) -> str:
    return f"{100 * ((before or 0) / (after or 1) - 1):+.2f} %"
