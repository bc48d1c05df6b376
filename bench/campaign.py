"""Random problems of all families by all solvers in all formulations, and whether their answers agree."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.report import table, write_markdown
from tangram_opt.backend import Problem
from tangram_opt.crosscheck import Report, crosscheck, random_islands_problems, random_problems

KINDS = {
    "closed": "",
    "period": " --objective period",
    "depths": " --objective period --depths chosen",
    "islands": " --kind islands",
}
"""Kinds of problems, and how `tangram-opt compare` is asked for them."""
FORMS: dict[str, dict[str, Any]] = {
    "closed": {"objective": "closed"},
    "period": {"objective": "period"},
    "depths": {"objective": "period", "depths": "chosen"},
}
OUTCOMES = ("optimal", "feasible", "infeasible", "unknown", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """State what this measurement can be told."""
    parser.add_argument("--random", metavar="N", type=int, default=2000, help="how many problems")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the problems")
    parser.add_argument("--kind", choices=KINDS, default="closed", help="which problems")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="runs at a time")


def run(arguments: argparse.Namespace) -> None:
    """Compare, and write a report."""
    problems = _problems(arguments.kind, arguments.random, arguments.seed)
    report = crosscheck(problems, workers=arguments.workers, fresh=False, on_answer=_tell)
    command = f"tangram-opt compare --random {arguments.random} --seed {arguments.seed}{KINDS[arguments.kind]}"
    found = [f"- {each.text}" for each in report.disagreements] or ["No answer contradicts another one."]
    paragraphs = [
        f"{arguments.random} problems, {len(report.rows)} answers, {len(report.disagreements)} disagreements; the same "
        f"problems as `{command}`. A solver takes a problem in every formulation that is exact for it. "
        "Every solution was checked and evaluated without a solver.",
        table(_totals(report)),
        "\n".join(found),
    ]
    name = "campaign" if arguments.kind == "closed" else f"campaign-{arguments.kind}"
    write_markdown(name, "Random campaign", paragraphs)


def _problems(kind: str, count: int, seed: int) -> Iterator[Problem]:
    if kind == "islands":
        yield from random_islands_problems(count, seed)
    else:
        yield from (replace(problem, **FORMS[kind]) for problem in random_problems(count, seed))


def _totals(report: Report) -> list[dict[str, object]]:
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    times: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in report.rows:
        counts[row.solver, row.formulation][row.outcome] += 1
        times[row.solver, row.formulation] += row.wall_s
    return [
        {"solver": solver, "formulation": formulation}
        | {outcome: own[outcome] for outcome in OUTCOMES}
        | {"total s": f"{times[solver, formulation]:.1f}"}
        for (solver, formulation), own in sorted(counts.items())
    ]


def _tell(done: int, total: int) -> None:
    if done % 1000 == 0:
        print(f"{done} of {total} answers", flush=True)
