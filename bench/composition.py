"""Compose every saved composition problem with every solver that takes it."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import tangram_opt
from bench.report import ROOT, Row, write_report
from tangram_opt.backend import Backend
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.documents import load_composition_problem
from tangram_opt.solvers import available

INSTANCES = ROOT / "instances" / "composition"
REPEATS = 5
TIME_LIMIT_S = 60.0


def run() -> None:
    """Measure all solvers on all instances."""
    rows: list[Row] = []
    for path in sorted(INSTANCES.glob("*.json")):
        problem = load_composition_problem(path)
        backends = (each for each in available() if isinstance(each, Backend) and not each.missing())
        rows += [_measure(path.stem, problem, each) for each in backends if each.unsupported(problem) is None]
    notes = [
        f"Time of one solve inside a running process, the median of {REPEATS} repeats (one where it takes more than a",
        f"second), without reading the file; time limit {TIME_LIMIT_S:.0f} s. Objective and bound in ns.",
    ]
    write_report("composition", "Composition problems", notes, rows)


def _measure(name: str, problem: CompositionProblem, backend: Backend) -> Row:
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < 1:
        started = perf_counter()
        result = tangram_opt.solve(problem, backend.name, time_limit=TIME_LIMIT_S)
        times.append(perf_counter() - started)
    return {
        "instance": name,
        "atoms": problem.length,
        "islands": sum(island.count for island in problem.islands),
        "options": len(problem.options),
        "solver": backend.name,
        "outcome": result.outcome.value,
        "objective": result.objective,
        "bound": result.bound,
        "ms": f"{1000 * median(times):.1f}",
    }
