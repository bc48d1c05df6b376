"""The planning problem: a cluster, a model, a batch, and how wide to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.composition import Depths, Objective, check_depths
from tangram_opt.data.constraints import STRICT, NonEmptyStr, PositiveInt
from tangram_opt.data.island import Tolerances
from tangram_opt.data.model import Model
from tangram_opt.data.workload import TrainingRecipe

MOST_SEQUENCES: Final = 2**20
"""Far above any global batch; plans are simulated micro-batch by micro-batch."""
LONGEST_SEQUENCE: Final = 2**31 - 1
"""Far above any context; positions are 32-bit integers."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """The paper's three policies (section 5.1), each of which can be switched off.

    Attributes
    ----------
    redundancy : bool
        Query equal slices, and equal islands, once.
    imbalance_window : float or None
        Skip a pair when the slice's share of the work is more than this factor away from the island's share of
        the cluster's speed, either way; None skips nothing.
    infeasibility : bool
        Skip a pair whose training state alone does not fit the island's memory.
    """

    __pydantic_config__ = STRICT

    redundancy: bool = True
    imbalance_window: float | None = 2.0
    infeasibility: bool = True

    def __post_init__(self) -> None:
        if self.imbalance_window is not None and not self.imbalance_window >= 1:
            raise ValueError(f"imbalance_window: {self.imbalance_window}, expected at least 1, or null for no window")


@dataclass(frozen=True, slots=True)
class PlanningProblem:
    """Find the training pipeline with the shortest iteration.

    Attributes
    ----------
    name : str
        Name of the instance.
    cluster, model : Cluster, Model
        What there is to run on, and what is to be trained.
    global_batch, sequence_length : int
        Sequences per iteration, tokens per sequence.
    micro_batch : int or None
        Sequences that move through the pipeline together; None tries every divisor of the global batch.
    recipe : TrainingRecipe
        Precision and optimizer.
    tolerances : Tolerances
        Of island construction.
    pruning : Pruning
        Of the enumeration.
    objective : {"closed", "period", "simulated"} or None
        Which iteration time is minimised, see :mod:`tangram_opt.composition.objective`; None takes the best
        affordable one.
    depths : {"standard", "chosen"}
        Whether stages keep as many micro-batches in flight as 1F1B does, or as many more as pay; the runtime must be
        able to run ahead so far.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    cluster: Cluster
    model: Model
    global_batch: PositiveInt
    sequence_length: PositiveInt
    micro_batch: PositiveInt | None
    recipe: TrainingRecipe
    tolerances: Tolerances = Tolerances()
    pruning: Pruning = Pruning()
    objective: Objective | None = None
    depths: Depths = "standard"

    def __post_init__(self) -> None:
        check_depths(self.depths, self.objective)
        if self.global_batch > MOST_SEQUENCES:
            raise ValueError(f"global_batch: {self.global_batch}, expected at most {MOST_SEQUENCES}")
        if self.sequence_length > LONGEST_SEQUENCE:
            raise ValueError(f"sequence_length: {self.sequence_length}, expected at most {LONGEST_SEQUENCE}")
        if self.micro_batch is not None and self.global_batch % self.micro_batch:
            raise ValueError(
                f"micro_batch: {self.micro_batch}, expected a divisor of the global batch {self.global_batch}"
            )
