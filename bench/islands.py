"""Solvers in all their formulations on the library of islands problems, every run in a fresh process."""

from __future__ import annotations

import argparse

from bench import islands_report
from bench.greedy import losses_on_random
from bench.report import ROOT
from bench.running import limit_and_seeds, measure
from tangram_opt.documents import load_islands_problem

INSTANCES = ROOT / "instances" / "islands"
QUICK_NODES = 60
QUICK_RANDOM, FULL_RANDOM = 5, 100
"""Random problems of each family and size that the greedy method is tried on."""


def run(arguments: argparse.Namespace) -> None:
    """Measure, and write CSV, Markdown and pictures."""
    problems = {path: load_islands_problem(path) for path in sorted(INSTANCES.glob(f"{arguments.instances}*.json"))}
    if not arguments.full:
        problems = {path: each for path, each in problems.items() if len(each.cluster.nodes) <= QUICK_NODES}
    rows = measure(list(problems), arguments)
    limit_s, seeds = limit_and_seeds(arguments)
    name = "islands" if arguments.full else "islands-quick"
    random = losses_on_random(FULL_RANDOM if arguments.full else QUICK_RANDOM, limit_s)
    islands_report.write(name, list(problems.values()), rows, random, limit_s, len(seeds))
