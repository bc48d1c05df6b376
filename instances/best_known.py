"""Keep the list of best known values of the composition problems, with the solutions that have them.

    python instances/best_known.py [--time-limit S] [--workers N] [INSTANCE ...]

Every exact solver that is installed runs on the instances, each in its own process; values are only ever improved.
``best_known.csv`` has for each instance a status as MIPLIB's lists do (=opt= proven optimal, =inf= proven infeasible,
=best= best known, =unkn= nothing known), objective and bound in ns, the solvers that proved it, and since when. The
solutions are in ``solutions/``: whoever wants to believe an objective can evaluate them.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path

from tangram_opt.backend import Backend
from tangram_opt.composition import check, evaluate
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.runs import Answer, Run, answers
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.documents import load_composition, load_composition_problem, save
from tangram_opt.result import Outcome, Result
from tangram_opt.solvers import available

FOLDER = Path(__file__).parent / "composition"
BEST_KNOWN = FOLDER / "best_known.csv"
SOLUTIONS = FOLDER / "solutions"


@dataclass(frozen=True)
class Known:
    """What is known of an instance; `proved_by` names solvers with version and formulation."""

    instance: str
    status: str = "=unkn="
    objective: int | None = None
    bound: int | None = None
    proved_by: str = ""
    date: str = ""


def read() -> dict[str, Known]:
    """Read the list, by instance."""
    if not BEST_KNOWN.exists():
        return {}
    with BEST_KNOWN.open(newline="") as file:
        return {
            row["instance"]: Known(**row | {key: int(row[key]) if row[key] else None for key in ("objective", "bound")})
            for row in csv.DictReader(file)
        }


def write(known: dict[str, Known]) -> None:
    """Write the list, in the order of the instances' names."""
    with BEST_KNOWN.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Known)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(known[name]) for name in sorted(known))


def main() -> None:
    """Run the solvers and improve the list."""
    parser = argparse.ArgumentParser(description="Improve the list of best known values.")
    parser.add_argument("instances", metavar="INSTANCE", nargs="*", help="names; all unless given")
    parser.add_argument("--time-limit", metavar="S", type=float, default=60.0, help="for each solver")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="solvers that run at a time")
    arguments = parser.parse_args()
    known = read()
    for name in arguments.instances or sorted(path.stem for path in FOLDER.glob("*.json")):
        problem = load_composition_problem(FOLDER / f"{name}.json")
        pairs = _solve(problem, arguments.time_limit, arguments.workers)
        wrong = contradictions(problem, pairs)
        if wrong:
            sys.exit(f"{name}: the solvers disagree: {wrong[0].text}")
        known[name] = _improved(problem, known.get(name, Known(name)), [a.result for _, a in pairs if a.result])
        write(known)
        sys.stdout.write(f"{known[name].status} {name} {known[name].objective} {known[name].bound}\n")


def _solve(problem: CompositionProblem, time_limit_s: float, workers: int) -> list[tuple[Run, Answer]]:
    runs = [
        Run(problem, each.name, each.formulations(problem)[0], time_limit_s)
        for each in available()
        if isinstance(each, Backend) and each.exact and not each.missing() and each.unsupported(problem) is None
    ]
    return list(zip(runs, answers(runs, workers=workers), strict=True))


def _improved(problem: CompositionProblem, old: Known, results: Sequence[Result[Composition]]) -> Known:
    if old.objective is not None and not _is_stored(problem, old.objective):
        old = Known(problem.name)  # It was of another instance of this name.
    found = [(result.objective, result.solution) for result in results if result.objective is not None]
    best, solution = min(found, key=lambda pair: pair[0], default=(None, None))
    bounds = [result.bound for result in results if result.bound is not None]
    new = replace(
        old,
        objective=min((value for value in (old.objective, best) if value is not None), default=None),
        bound=max((value for value in (old.bound, *bounds) if value is not None), default=None),
    )
    infeasible = old.status == "=inf=" or any(result.outcome is Outcome.INFEASIBLE for result in results)
    if infeasible:
        status = "=inf="
    elif new.objective is None:
        status = "=unkn="
    else:
        status = "=opt=" if new.objective == new.bound else "=best="
    provers = [
        f"{result.solver} {result.solver_version} ({result.formulation})"
        for result in results
        if result.outcome is Outcome.INFEASIBLE or (status == "=opt=" and result.bound == new.objective)
    ]
    new = replace(new, status=status, proved_by="; ".join(provers) or old.proved_by)
    if new == old:
        return old
    if solution is not None and new.objective != old.objective:
        SOLUTIONS.mkdir(exist_ok=True)
        save(solution, SOLUTIONS / f"{problem.name}.json")
    return replace(new, date=date.today().isoformat())


def _is_stored(problem: CompositionProblem, objective: int) -> bool:
    """Tell whether the stored solution is one of this problem, with this objective."""
    path = SOLUTIONS / f"{problem.name}.json"
    solution = load_composition(path) if path.exists() else None
    if solution is None or check(problem, solution):
        return False
    return evaluate(problem, solution).objective_ns == objective


if __name__ == "__main__":
    main()
