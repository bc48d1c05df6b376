"""What is trained: the batch, the sequences, and how memory is spent on a parameter."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.data.cluster import Gpu
from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeInt, PositiveInt


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """Bytes of training state per parameter, and memory that is not the planner's to use.

    Attributes
    ----------
    name : str
        Name of the recipe in the catalogue.
    weight_bytes, gradient_bytes, optimizer_bytes : int
        Bytes per parameter of the weights used in the passes, of their gradients, and of the optimizer's states
        with the master weights (ZeRO, Rajbhandari et al. 2020, section 3.1).
    reserved_bytes : int
        Memory of each GPU that the driver, the framework and communication buffers take.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    weight_bytes: PositiveInt
    gradient_bytes: PositiveInt
    optimizer_bytes: NonNegativeInt
    reserved_bytes: NonNegativeInt

    @property
    def state_bytes(self) -> int:
        """Bytes per parameter of all training state together."""
        return self.weight_bytes + self.gradient_bytes + self.optimizer_bytes

    def usable_bytes(self, gpu: Gpu) -> int:
        """Memory of a GPU that stages may use; not positive where the reserve takes all of it."""
        return gpu.memory_bytes - self.reserved_bytes


@dataclass(frozen=True, slots=True)
class Workload:
    """One iteration, cut into micro-batches.

    Attributes
    ----------
    global_batch : int
        Sequences per iteration.
    sequence_length : int
        Tokens per sequence.
    micro_batch : int
        Sequences that move through the pipeline together, over all data-parallel replicas of a stage. Every
        stage sees the same ones, so a stage with `dp` replicas gives each of them ``micro_batch / dp``.
    recipe : TrainingRecipe
        Precision and optimizer.
    """

    __pydantic_config__ = STRICT

    global_batch: PositiveInt
    sequence_length: PositiveInt
    micro_batch: PositiveInt
    recipe: TrainingRecipe

    def __post_init__(self) -> None:
        if self.global_batch % self.micro_batch:
            raise ValueError(
                f"micro_batch: {self.micro_batch}, expected a divisor of the global batch {self.global_batch}"
            )

    @property
    def micro_batches(self) -> int:
        """Micro-batches per iteration."""
        return self.global_batch // self.micro_batch

    @property
    def tokens(self) -> int:
        """Tokens per iteration."""
        return self.global_batch * self.sequence_length
