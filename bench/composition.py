"""Solvers in all their formulations on the library of composition problems, every run in a fresh process."""

from __future__ import annotations

import argparse
import re

from bench import composition_report
from bench.report import ROOT
from bench.running import limit_and_seeds, measure

INSTANCES = ROOT / "instances" / "composition"
# Layers and islands of what the quick subset may hold; the seed is the first.
QUICK_NAME = re.compile(r"[a-z-]+-(\d+)x(\d+)(in\d+)?-1")
QUICK_LAYERS, QUICK_ISLANDS = 40, 4


def run(arguments: argparse.Namespace) -> None:
    """Measure, and write CSV, Markdown and pictures."""
    paths = [
        path
        for path in sorted(INSTANCES.glob(f"{arguments.instances}*.json"))
        if arguments.full or _is_quick(path.stem)
    ]
    rows = measure(paths, arguments)
    limit_s, seeds = limit_and_seeds(arguments)
    name = "composition" if arguments.full else "composition-quick"
    part = f"-{arguments.instances.rstrip('-')}" if arguments.instances else ""
    composition_report.write(f"{name}{part}", rows, limit_s, len(seeds))


def _is_quick(name: str) -> bool:
    match = QUICK_NAME.fullmatch(name)
    return match is not None and int(match[1]) <= QUICK_LAYERS and int(match[2]) <= QUICK_ISLANDS
