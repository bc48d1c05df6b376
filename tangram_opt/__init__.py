"""Training pipelines for large models on mixed GPU clusters.

A cluster is cut into homogeneous GPU islands, a parallelizer plans slices of the model on them, and an exact solver
composes those plans into the 1F1B pipeline with the shortest iteration.

>>> import tangram_opt
>>> plan = tangram_opt.plan(tangram_opt.load_planning_problem("planning.json"))  # doctest: +SKIP
>>> result = tangram_opt.solve(tangram_opt.load_composition_problem("composition.json"))  # doctest: +SKIP
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.composition import (
    Composition,
    CompositionProblem,
    IslandClass,
    Option,
    Pick,
    SignatureRun,
    Stage,
)
from tangram_opt.data.island import Island, IslandsProblem, Partition, Tolerances
from tangram_opt.data.model import Atom, AtomRun, Model
from tangram_opt.data.plan import Plan, PlannedStage
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import TrainingRecipe, Workload
from tangram_opt.errors import InputError, NoPlanError, TangramError
from tangram_opt.result import Outcome, Result, StopReason
from tangram_opt.solvers import solve

if TYPE_CHECKING:
    from tangram_opt.documents import (
        dumps,
        load_cluster,
        load_composition,
        load_composition_problem,
        load_instance,
        load_islands_problem,
        load_model,
        load_partition,
        load_plan,
        load_planning_problem,
        save,
        schema,
    )
    from tangram_opt.planner import plan_problem as plan

__version__ = version("tangram-opt")

__all__ = [
    "Atom",
    "AtomRun",
    "Cluster",
    "Composition",
    "CompositionProblem",
    "Gpu",
    "InputError",
    "Island",
    "IslandClass",
    "IslandsProblem",
    "MatrixNetwork",
    "Model",
    "NoPlanError",
    "Node",
    "Option",
    "Outcome",
    "Partition",
    "Pick",
    "Plan",
    "PlannedStage",
    "PlanningProblem",
    "Pruning",
    "Result",
    "SignatureRun",
    "Stage",
    "StopReason",
    "TangramError",
    "TierNetwork",
    "Tolerances",
    "TrainingRecipe",
    "Workload",
    "__version__",
    "dumps",
    "load_cluster",
    "load_composition",
    "load_composition_problem",
    "load_instance",
    "load_islands_problem",
    "load_model",
    "load_partition",
    "load_plan",
    "load_planning_problem",
    "plan",
    "save",
    "schema",
    "solve",
]


def __getattr__(name: str) -> Any:
    # Files and planning are imported when they are first asked for: worker processes and plug-ins, which import one
    # part of the package and with it this module, do without.
    if name == "plan":
        return import_module("tangram_opt.planner").plan_problem
    if name in __all__:
        return getattr(import_module("tangram_opt.documents"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
