"""Keep the lists of best known values of composition and islands problems, with the solutions that have them.

    python instances/best_known.py composition|islands [--time-limit S] [--workers N] [INSTANCE ...]

Every solver that is installed runs on the instances, each in its own process; values are only ever improved.
``best_known.csv`` has for each instance a status as MIPLIB's lists do (=opt= proven optimal, =inf= proven infeasible,
=best= best known, =unkn= nothing known), objective and bound (ns, or islands with the two objectives that decide among
equally few), the solvers that proved it, and since when. The solutions are in ``solutions/``: whoever wants to believe
an objective can evaluate them.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from tangram_opt import composition, islands
from tangram_opt.backend import Backend, Problem
from tangram_opt.crosscheck.agreement import contradictions
from tangram_opt.crosscheck.runs import Answer, Run, answers
from tangram_opt.documents import (
    load_composition,
    load_composition_problem,
    load_islands_problem,
    load_partition,
    save,
)
from tangram_opt.result import Outcome, Result
from tangram_opt.solvers import available

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Known:
    """What is known of an instance; `proved_by` names solvers with version and formulation."""

    instance: str
    status: str = "=unkn="
    objective: int | None = None
    bound: int | None = None
    proved_by: str = ""
    date: str = ""


@dataclass(frozen=True)
class KnownIslands(Known):
    """Of an islands problem, with the further objectives of the solution."""

    compute_lost_flops_per_s: int | None = None
    slowest_link_bytes_per_s: int | None = None


@dataclass(frozen=True)
class Library:
    """A folder of instances of one kind.

    Attributes
    ----------
    folder : Path
        Where they are.
    known : type of Known
        A line of their list.
    load_problem, load_solution, check : callable
        Of the kind.
    value : callable
        From problem and solution to columns of the list, the objective among them.
    costs : callable
        From problem and solution to integers, of which less is better.
    """

    folder: Path
    known: type[Known]
    load_problem: Callable[[Path], Problem]
    load_solution: Callable[[Path], Any]
    check: Callable[[Any, Any], tuple[str, ...]]
    value: Callable[[Any, Any], dict[str, int]]
    costs: Callable[[Any, Any], tuple[int, ...]]

    @property
    def best_known(self) -> Path:
        """The list."""
        return self.folder / "best_known.csv"

    def solution(self, name: str) -> Path:
        """Where the solution of an instance is stored."""
        return self.folder / "solutions" / f"{name}.json"


def _islands_value(problem: Any, partition: Any) -> dict[str, int]:
    count, *others = islands.evaluate(problem, partition)
    return {"objective": count} | dict(zip(islands.PartitionValue._fields[1:], others, strict=True))


LIBRARIES = {
    "composition": Library(
        folder=HERE / "composition",
        known=Known,
        load_problem=load_composition_problem,
        load_solution=load_composition,
        check=composition.check,
        value=lambda problem, solution: {"objective": composition.evaluate(problem, solution).objective_ns},
        costs=lambda problem, solution: (composition.evaluate(problem, solution).objective_ns,),
    ),
    "islands": Library(
        folder=HERE / "islands",
        known=KnownIslands,
        load_problem=load_islands_problem,
        load_solution=load_partition,
        check=islands.check,
        value=_islands_value,
        costs=lambda problem, solution: islands.evaluate(problem, solution).costs,
    ),
}


def read(library: Library) -> dict[str, Known]:
    """Read the list, by instance."""
    if not library.best_known.exists():
        return {}
    numbers = {field.name for field in fields(library.known) if field.type == "int | None"}
    with library.best_known.open(newline="") as file:
        return {
            row["instance"]: library.known(**row | {key: int(row[key]) if row[key] else None for key in numbers})
            for row in csv.DictReader(file)
        }


def write(library: Library, known: dict[str, Known]) -> None:
    """Write the list, in the order of the instances' names."""
    with library.best_known.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(library.known)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(known[name]) for name in sorted(known))


def main() -> None:
    """Run the solvers and improve the list."""
    parser = argparse.ArgumentParser(description="Improve the list of best known values.")
    parser.add_argument("kind", choices=LIBRARIES, help="of the instances")
    parser.add_argument("instances", metavar="INSTANCE", nargs="*", help="names; all unless given")
    parser.add_argument("--time-limit", metavar="S", type=float, default=60.0, help="for each solver")
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="solvers that run at a time")
    arguments = parser.parse_args()
    library = LIBRARIES[arguments.kind]
    known = read(library)
    for name in arguments.instances or sorted(path.stem for path in library.folder.glob("*.json")):
        problem = library.load_problem(library.folder / f"{name}.json")
        pairs = _solve(problem, arguments.time_limit, arguments.workers)
        wrong = contradictions(problem, pairs)
        if wrong:
            sys.exit(f"{name}: the solvers disagree: {wrong[0].text}")
        old = known.get(name, library.known(name))
        known[name] = _improved(library, problem, old, [a.result for _, a in pairs if a.result])
        write(library, known)
        sys.stdout.write(f"{known[name].status} {name} {known[name].objective} {known[name].bound}\n")


def _solve(problem: Problem, time_limit_s: float, workers: int) -> list[tuple[Run, Answer]]:
    runs = [
        Run(problem, each.name, "auto", time_limit_s)
        for each in available()
        if isinstance(each, Backend) and not each.missing() and each.unsupported(problem) is None
    ]
    return list(zip(runs, answers(runs, workers=workers), strict=True))


def _improved(library: Library, problem: Any, old: Known, results: Sequence[Result[Any]]) -> Known:
    stored = _stored(library, problem, old)
    if old.objective is not None and stored is None:
        old = library.known(problem.name)  # It was of another instance of this name.
    solutions = [each for each in (stored, *(result.solution for result in results)) if each is not None]
    bounds = [bound for bound in (old.bound, *(result.bound for result in results)) if bound is not None]
    bound = max(bounds, default=None)
    if not solutions:
        provers = [result for result in results if result.outcome is Outcome.INFEASIBLE]
        new = replace(old, status="=inf=" if provers or old.status == "=inf=" else "=unkn=", bound=bound)
    else:
        solution = min(solutions, key=lambda each: library.costs(problem, each))
        costs = library.costs(problem, solution)
        provers = [
            result
            for result in results
            if (result.outcome is Outcome.OPTIMAL and library.costs(problem, result.solution) == costs)
            # One solver may prove what another has found, where there is a single objective.
            or (len(costs) == 1 and result.bound == costs[0])
        ]
        proven = provers or (solution is stored and old.status == "=opt=")
        status = "=opt=" if proven else "=best="
        new = replace(old, status=status, bound=bound, **library.value(problem, solution))
        if solution is not stored:
            library.solution(problem.name).parent.mkdir(exist_ok=True)
            save(solution, library.solution(problem.name))
    names = [f"{result.solver} {result.solver_version} ({result.formulation})" for result in provers]
    new = replace(new, proved_by="; ".join(names) or old.proved_by)
    return old if new == old else replace(new, date=date.today().isoformat())


def _stored(library: Library, problem: Any, known: Known) -> Any:
    """Load the stored solution, if it is one of this problem with the objective that is known."""
    path = library.solution(problem.name)
    solution = library.load_solution(path) if path.exists() else None
    if solution is None or library.check(problem, solution):
        return None
    return solution if library.value(problem, solution)["objective"] == known.objective else None


if __name__ == "__main__":
    main()
