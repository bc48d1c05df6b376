"""Solvers in the formulations that they choose, or in all, on the library of islands problems; fresh processes."""

from __future__ import annotations

import argparse

from bench import islands_report
from bench.greedy import losses_on_random
from bench.report import ROOT
from bench.running import limit_and_seeds, measure
from tangram_opt.documents import load_islands_problem

NAME = "islands"
"""Of the results, whichever instances were measured last."""
INSTANCES = ROOT / "instances" / "islands"
QUICK_RANDOM, FULL_RANDOM = 56, 200
"""Random problems of each family and size that the methods without a proof are tried on: about a thousand in all."""


def run(arguments: argparse.Namespace) -> None:
    """Measure, and write CSV, Markdown and pictures; formulations one by one only where everything is measured."""
    problems = {path: load_islands_problem(path) for path in sorted(INSTANCES.glob(f"{arguments.instances}*.json"))}
    rows = measure(list(problems), arguments, auto=True, named=arguments.full)
    limit_s, seeds = limit_and_seeds(arguments)
    random = losses_on_random(FULL_RANDOM if arguments.full else QUICK_RANDOM, limit_s)
    islands_report.write(NAME, list(problems.values()), rows, random, limit_s, len(seeds))
