"""The smallest problem of each kind: no work for a solver that can take the kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram_opt.backend import Problem
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.schedule import ScheduleProblem, SplitStage

_ATOM: Final = (SignatureRun("atom", 1),)
SMALLEST: Final[Mapping[str, Problem]] = {
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
"""By kind. A backend says of a problem, not of a kind, whether it can take it."""


def smallest_like(problem: Problem) -> Problem:
    """Take the smallest problem of the kind of another one."""
    return next(each for each in SMALLEST.values() if type(each) is type(problem))
