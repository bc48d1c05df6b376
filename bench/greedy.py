"""How often, and by how much, the greedy method has more islands than needed: on random problems of every family."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import ROOT, Row
from tangram_opt.data.island import IslandsProblem
from tangram_opt.documents import load_islands_problem
from tangram_opt.islands import agglomerate
from tangram_opt.solvers import solve

sys.path.insert(0, str(ROOT / "instances"))

from islands_families import FAMILIES, generate

MADE_FOR_IT = ("greedy", "chain")
"""Families on which the greedy method must lose are no sample of anything."""
NODES = (12, 24)
FIRST_SEED = 1000
"""Beyond the seeds of the library."""


def losses_on_random(problems: int, limit_s: float) -> list[Row]:
    """Compare the greedy method with the proven fewest islands.

    Parameters
    ----------
    problems : int
        For each family and number of nodes.
    limit_s : float
        For each exact solve; a problem without a proof of the number of islands does not count.

    Returns
    -------
    list of dict
        A row for each family and number of nodes.
    """
    rows: list[Row] = []
    for family in (each for each in FAMILIES if each not in MADE_FOR_IT):
        for nodes in NODES:
            excess = []
            for seed in range(FIRST_SEED, FIRST_SEED + problems):
                problem = _problem(family, nodes, seed)
                exact = solve(problem, time_limit=limit_s)
                if exact.objective is not None and exact.objective == exact.bound:
                    excess.append(len(agglomerate(problem).islands) / exact.objective - 1)
            rows.append(
                {
                    "family": family,
                    "nodes": nodes,
                    "problems": len(excess),
                    "too many islands": f"{100 * sum(each > 0 for each in excess) / max(len(excess), 1):.0f} %",
                    "mean excess": f"{100 * sum(excess) / max(len(excess), 1):.1f} %",
                    "largest excess": f"{100 * max(excess, default=0):.0f} %",
                }
            )
    return rows


def _problem(family: str, nodes: int, seed: int) -> IslandsProblem:
    head = {"format": "tangram-opt/islands-problem", "version": 1}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(head | generate(family, nodes, seed)))
        return load_islands_problem(path)
