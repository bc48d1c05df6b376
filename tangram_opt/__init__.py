"""Training pipelines for large models on mixed GPU clusters.

A cluster is cut into homogeneous GPU islands, a parallelizer plans slices of the model on them, and an exact solver
composes those plans into the 1F1B pipeline with the shortest iteration.

>>> import tangram_opt
>>> plan = tangram_opt.plan(tangram_opt.load_planning_problem("planning.json"))  # doctest: +SKIP
>>> result = tangram_opt.solve(tangram_opt.load_composition_problem("composition.json"))  # doctest: +SKIP
"""

from importlib.metadata import version

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
    "solve",
]
