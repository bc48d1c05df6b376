"""Make the ``paper-*`` and ``beyond-*`` composition problems from the planning problems.

For every planning problem the composition problem of its best micro-batch size is saved: run
``python instances/make_composition.py`` after a change of the cost model, then ``instances/generate.py`` and
``instances/best_known.py``, and commit what changes. The large clusters give tens of thousands of options; their
problems are made with a narrow imbalance window, which keeps the files small.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tangram_opt.data.planning import Pruning
from tangram_opt.documents import load_planning_problem, save
from tangram_opt.parallelizers import UniformParallelizer
from tangram_opt.planner import search

HERE = Path(__file__).parent
PAPER_CLUSTERS = ("c1-", "c2-", "c3-")
BEYOND_WINDOW = 1.1
TIME_LIMIT_S = 60.0


def main() -> None:
    """Plan every instance and save the composition problem that its plan solves."""
    for path in sorted((HERE / "planning").glob("*.json")):
        problem = load_planning_problem(path)
        family = "paper"
        if not path.name.startswith(PAPER_CLUSTERS):
            family, problem = "beyond", replace(problem, pruning=Pruning(imbalance_window=BEYOND_WINDOW))
        found = search(problem, UniformParallelizer(), time_limit_s=TIME_LIMIT_S)
        name = f"{family}-{path.stem}"
        save(replace(found.composition_problem, name=name), HERE / "composition" / f"{name}.json")


if __name__ == "__main__":
    main()
