"""How often, and by how much, methods without a proof are wrong: on random problems of every family."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import ROOT, Row
from tangram_opt.data.island import IslandsProblem
from tangram_opt.documents import load_islands_problem
from tangram_opt.islands import agglomerate, check, similarity_components
from tangram_opt.solvers import solve

sys.path.insert(0, str(ROOT / "instances"))

from islands_documents import FAMILIES, generate

MADE_FOR_IT = ("greedy", "chain")
"""Families on which the greedy method must lose are no sample of anything."""
NODES = (12, 24)
FIRST_SEED = 1000
"""Beyond the seeds of the library."""


def losses_on_random(problems: int, limit_s: float) -> list[Row]:
    """Compare the greedy method and connected components with the proven fewest islands.

    Parameters
    ----------
    problems : int
        For each family and number of nodes.
    limit_s : float
        For each exact solve; a problem without a proof of the number of islands does not count.

    Returns
    -------
    list of dict
        A row for each family and number of nodes, and one for all.
    """
    found: dict[tuple[str, int | str], list[tuple[float, bool]]] = {}
    for family in (each for each in FAMILIES if each not in MADE_FOR_IT):
        for nodes in NODES:
            own = found[family, nodes] = []
            for seed in range(FIRST_SEED, FIRST_SEED + problems):
                problem = _problem(family, nodes, seed)
                exact = solve(problem, time_limit=limit_s)
                if exact.objective is not None and exact.objective == exact.bound:
                    excess = len(agglomerate(problem).islands) / exact.objective - 1
                    own.append((excess, bool(check(problem, similarity_components(problem)))))
            print(f"random {family}-{nodes}: {len(own)} problems", flush=True)
    found["all", ""] = [each for own in found.values() for each in own]
    return [_row(family, nodes, own) for (family, nodes), own in found.items()]


def _row(family: str, nodes: int | str, found: Sequence[tuple[float, bool]]) -> Row:
    count = max(len(found), 1)
    return {
        "family": family,
        "nodes": nodes,
        "problems": len(found),
        "greedy has too many": f"{100 * sum(excess > 0 for excess, _ in found) / count:.1f} %",
        "mean excess": f"{100 * sum(excess for excess, _ in found) / count:.1f} %",
        "largest excess": f"{100 * max((excess for excess, _ in found), default=0):.0f} %",
        "components are wrong": f"{100 * sum(wrong for _, wrong in found) / count:.1f} %",
    }


def _problem(family: str, nodes: int, seed: int) -> IslandsProblem:
    head = {"format": "tangram-opt/islands-problem", "version": 1}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.json"
        path.write_text(json.dumps(head | generate(family, nodes, seed)))
        return load_islands_problem(path)
