"""``tangram-opt solvers``: which backends there are and what each can do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from tangram_opt import solvers as registry
from tangram_opt.backend import Backend, Problem
from tangram_opt.cli.options import AsJson
from tangram_opt.cli.output import print_json, stdout_console
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.schedule import ScheduleProblem, SplitStage
from tangram_opt.show.tables import Column, print_table
from tangram_opt.solvers import BrokenBackend

_ATOM: Final = (SignatureRun("atom", 1),)
# The smallest problem of each kind: a backend says of a problem, not of a kind, whether it can take it.
SMALLEST: Final[dict[str, Problem]] = {
    "islands": IslandsProblem(
        "smallest", Cluster("smallest", (Node("node", Gpu("gpu", 1, 1, 1, 1, 1), 1, ((0,),)),), MatrixNetwork(((0,),)))
    ),
    "composition": CompositionProblem(
        "smallest",
        1,
        _ATOM,
        (IslandClass("island", 1, 1),),
        (
            Option(
                "island",
                _ATOM,
                (Stage(1, forward_ns=1, backward_ns=1, static_bytes=0, in_flight_bytes=0),),
                (),
                None,
                "port",
                "port",
            ),
        ),
        ("port",),
        ((0,),),
    ),
    "schedule": ScheduleProblem("smallest", (SplitStage(1, 1, 1, 0, 1, 1, 1),), (), 1),
}


EXACT: Final = {True: "yes", False: "no", None: ""}


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    version: str
    problems: tuple[str, ...]
    exact: bool | None
    status: str
    summary: str


def solvers(as_json: AsJson = False) -> None:
    """List the solver backends: what each can do, and what it still needs."""
    rows = [_describe(backend) for backend in registry.available()]
    if as_json:
        print_json({"solvers": [asdict(row) for row in rows]})
        return
    print_table(
        stdout_console(),
        [Column(title) for title in ("solver", "version", "problems", "exact", "status", "what it does")],
        [(row.name, row.version, ", ".join(row.problems), EXACT[row.exact], row.status, row.summary) for row in rows],
    )


def _describe(backend: Backend | BrokenBackend) -> _Row:
    if isinstance(backend, BrokenBackend):
        return _Row(backend.name, "", (), None, f"broken: {backend.error}", f"from {backend.distribution}")
    missing = backend.missing()
    if missing is not None:
        return _Row(backend.name, "", (), backend.exact, f"missing: {missing}", backend.summary)
    problems = tuple(kind for kind, problem in SMALLEST.items() if backend.unsupported(problem) is None)
    return _Row(backend.name, backend.version(), problems, backend.exact, "ready", backend.summary)
