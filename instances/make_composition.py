"""Make the ``paper-*`` and ``beyond-*`` composition problems from the planning problems.

For every planning problem the composition problem of its best micro-batch size is saved: run
``python instances/make_composition.py`` after a change of the cost model, and commit what changes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tangram_opt.documents import load_planning_problem, save
from tangram_opt.parallelizers import UniformParallelizer
from tangram_opt.planner import search

HERE = Path(__file__).parent
PAPER_CLUSTERS = ("c1-", "c2-", "c3-")


def main() -> None:
    """Plan every instance and save the composition problem that its plan solves."""
    for path in sorted((HERE / "planning").glob("*.json")):
        found = search(load_planning_problem(path), UniformParallelizer())
        family = "paper" if path.name.startswith(PAPER_CLUSTERS) else "beyond"
        name = f"{family}-{path.stem}"
        save(replace(found.composition_problem, name=name), HERE / "composition" / f"{name}.json")


if __name__ == "__main__":
    main()
