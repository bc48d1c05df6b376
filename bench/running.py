"""Every backend in every formulation on every problem, each run in a fresh process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.measured import Measured
from tangram_opt.backend import Backend, Problem
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.runs import Answer, Run, answers
from tangram_opt.documents import load_instance
from tangram_opt.result import Outcome
from tangram_opt.solvers import available

SEEDS = (0, 1, 2)
WITHOUT_SEED = ("agglomerative", "components", "dp", "paper-dp", "note-dp")
QUICK_LIMIT_S, FULL_LIMIT_S = 10.0, 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """State what a measurement of solvers can be told."""
    parser.add_argument("--full", action="store_true", help="all instances and seeds; hours instead of minutes")
    parser.add_argument("--time-limit", metavar="S", type=float, help="for each run")
    parser.add_argument("--seeds", metavar="N", type=int, choices=(1, 2, 3), help="how many; 3 with --full, else 1")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="runs at a time")
    parser.add_argument("--solvers", metavar="A,B,...", help="all unless given")
    parser.add_argument("--instances", metavar="PREFIX", default="", help="only those whose names begin so")


def limit_and_seeds(arguments: argparse.Namespace) -> tuple[float, tuple[int, ...]]:
    """Time limit of a run, and seeds."""
    limit_s, seeds = (FULL_LIMIT_S, len(SEEDS)) if arguments.full else (QUICK_LIMIT_S, 1)
    return arguments.time_limit or limit_s, SEEDS[: arguments.seeds or seeds]


def measure(
    paths: Sequence[Path], arguments: argparse.Namespace, *, auto: bool = False, named: bool = True
) -> list[Measured]:
    """Run every backend in every formulation with every seed on every problem.

    With `auto` it also runs as a backend does that may choose, which is then what it prefers; without `named` not in
    any other way. A run that fails with the first seed is not repeated with others: that counts as failing with all.
    """
    names = arguments.solvers.split(",") if arguments.solvers else None
    backends = [
        each
        for each in available()
        if isinstance(each, Backend) and not each.missing() and (names is None or each.name in names)
    ]
    limit_s, seeds = limit_and_seeds(arguments)
    rows: list[Measured] = []
    for path in paths:
        problem = load_instance(path)
        first = list(_runs(problem, backends, seeds[0], limit_s, auto=auto, named=named))
        pairs = list(zip(first, answers(first, workers=arguments.workers), strict=True))
        again = [
            replace(made, seed=seed)
            for made, answer in pairs
            if made.solver not in WITHOUT_SEED and _proved(answer)
            for seed in seeds[1:]
        ]
        pairs += zip(again, answers(again, workers=arguments.workers), strict=True)
        wrong = {id(finding.runs[0]): finding.text for finding in contradictions(problem, pairs)}
        rows += [_measured(made, answer, wrong.get(id(made))) for made, answer in pairs]
        print(f"{problem.name}: {len(pairs)} runs", flush=True)
    return rows


def _runs(
    problem: Problem, backends: Sequence[Backend], seed: int, limit_s: float, *, auto: bool, named: bool
) -> Iterator[Run]:
    for backend in backends:
        if backend.unsupported(problem) is None:
            one, *others = backend.formulations(problem) if named else ("auto",)
            for formulation in ("auto", one, *others) if auto and others else (one,):
                yield Run(problem, backend.name, formulation, limit_s, seed=seed)


def _proved(answer: Answer) -> bool:
    return answer.result is not None and answer.result.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE)


def _measured(made: Run, answer: Answer, wrong: str | None) -> Measured:
    result = answer.result
    return Measured(
        instance=made.problem.name,
        solver=made.solver,
        formulation=made.formulation,
        seed=made.seed,
        outcome="error" if wrong or answer.failure else "unknown" if result is None else result.outcome.value,
        stop_reason="killed" if answer.killed else "error" if result is None else result.stop_reason.value,
        objective=None if result is None else result.objective,
        bound=None if result is None else result.bound,
        wall_s=round(answer.wall_s, 4),
        peak_memory_mb=None if answer.peak_memory_bytes is None else answer.peak_memory_bytes // 1_000_000,
        error=wrong or answer.failure,
    )
