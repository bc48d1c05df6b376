"""The problem of scheduling a pipeline whose backward is split, and its solutions, all in integers.

The backward of a stage is two passes: the gradient of its input, which the stage in front waits for, and the gradient
of its weights, which nobody waits for (zero-bubble schedules, Qi et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SplitStage:
    """A pipeline stage with given layers and GPUs.

    Attributes
    ----------
    forward_ns, input_gradient_ns, weight_gradient_ns : int
        Times of the three passes of one micro-batch.
    sync_ns : int
        After its last pass: gradient synchronisation and optimizer step.
    activation_bytes : int
        Memory of each GPU that a micro-batch takes from the start of its forward.
    kept_bytes : int
        What of it is still needed for the gradient of the weights: the rest is free when the gradient of the input
        has been computed, this when both have.
    limit_bytes : int
        Memory of each GPU that there is for all micro-batches.
    """

    forward_ns: int
    input_gradient_ns: int
    weight_gradient_ns: int
    sync_ns: int
    activation_bytes: int
    kept_bytes: int
    limit_bytes: int

    def __post_init__(self) -> None:
        for what in ("forward_ns", "input_gradient_ns", "weight_gradient_ns", "sync_ns", "kept_bytes"):
            if getattr(self, what) < 0:
                raise ValueError(f"{what}: {getattr(self, what)}, expected at least 0")
        if self.kept_bytes > self.activation_bytes:
            raise ValueError(
                f"kept_bytes: {self.kept_bytes}, expected at most the {self.activation_bytes} of activations"
            )
        if self.activation_bytes > self.limit_bytes:
            raise ValueError(
                f"limit_bytes: {self.limit_bytes}, expected at least the {self.activation_bytes} of one micro-batch"
            )

    @property
    def time_ns(self) -> int:
        """All passes of one micro-batch."""
        return self.forward_ns + self.input_gradient_ns + self.weight_gradient_ns


@dataclass(frozen=True, slots=True)
class ScheduleProblem:
    """Run an iteration of a pipeline in the shortest time, in whatever order.

    Attributes
    ----------
    name : str
        Name of the instance.
    stages : tuple of SplitStage
        Front to back.
    transfer_ns : tuple of int
        One-way transfer time over each boundary between neighbouring stages; transfers block nothing.
    micro_batches : int
        Micro-batches per iteration.
    barrier : bool
        Whether no stage starts the next iteration before all have ended this one, as where gradients are clipped by
        their global norm: then an iteration takes from the first start to the last end. Without a barrier it takes as
        long as the stage that takes longest from its own first start to its own end.
    """

    name: str
    stages: tuple[SplitStage, ...]
    transfer_ns: tuple[int, ...]
    micro_batches: int
    barrier: bool = True

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError("stages: none, expected at least one")
        if len(self.transfer_ns) != len(self.stages) - 1:
            raise ValueError(f"transfer_ns: {len(self.transfer_ns)} values, expected {len(self.stages) - 1}")
        if min(self.transfer_ns, default=0) < 0:
            raise ValueError(f"transfer_ns: {min(self.transfer_ns)}, expected no negative time")
        if self.micro_batches < 1:
            raise ValueError(f"micro_batches: {self.micro_batches}, expected at least 1")


@dataclass(frozen=True, slots=True)
class SplitSchedule:
    """A solution: when every pass starts, by stage and micro-batch.

    Attributes
    ----------
    problem : str
        Name of the problem.
    forward_start_ns, input_gradient_start_ns, weight_gradient_start_ns : tuple of tuple of int
        One row per stage, one entry per micro-batch.
    """

    problem: str
    forward_start_ns: tuple[tuple[int, ...], ...]
    input_gradient_start_ns: tuple[tuple[int, ...], ...]
    weight_gradient_start_ns: tuple[tuple[int, ...], ...]
