"""A training plan: every stage with its layers, GPUs, times and memory, and the figures that let one trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tangram_opt.data.composition import Depths, Objective
from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeInt, PositiveInt
from tangram_opt.data.planning import MOST_SEQUENCES
from tangram_opt.data.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class GpuRange:
    """Neighbouring GPUs of one node.

    Attributes
    ----------
    node : str
        Name of the node.
    first_gpu, count : int
        GPUs `first_gpu` to ``first_gpu + count - 1`` of it.
    """

    __pydantic_config__ = STRICT

    node: NonEmptyStr
    first_gpu: NonNegativeInt
    count: PositiveInt


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """One pipeline stage in its place.

    Attributes
    ----------
    island : str
        The island that runs it.
    gpu : str
        GPU model.
    gpus : tuple of GpuRange
        Where it runs.
    first_atom, atoms : int
        The model atoms that it holds: `atoms` of them from `first_atom` on.
    embedding, head : bool
        Whether the embedding, or the final norm with the head, is among them.
    first_layer : int or None
        Its first layer, from 0; None where it holds none.
    layers : int
        Its number of layers.
    strategy : mapping of str to int, bool or str
        How its GPUs share the work (tp, dp, cp, ep, zero, recompute, offload, ...).
    forward_ns, backward_ns : int
        Times of one micro-batch.
    transfer_ns : int
        One-way transfer to the next stage; 0 for the last one.
    sync_ns : int
        Gradient synchronisation and optimizer step at the end of the iteration.
    static_bytes, in_flight_bytes : int
        Memory of each GPU, once and for every micro-batch in flight.
    in_flight : int
        Micro-batches in flight at this place of the pipeline: ``min(n, stages after + 1)``, or more where depths are
        chosen.
    memory_limit_bytes : int
        Memory of each GPU that the plan may use.
    """

    __pydantic_config__ = STRICT

    island: NonEmptyStr
    gpu: NonEmptyStr
    gpus: tuple[GpuRange, ...]
    first_atom: NonNegativeInt
    atoms: PositiveInt
    embedding: bool
    head: bool
    first_layer: NonNegativeInt | None
    layers: NonNegativeInt
    strategy: Mapping[str, int | bool | str]
    forward_ns: NonNegativeInt
    backward_ns: NonNegativeInt
    transfer_ns: NonNegativeInt
    sync_ns: NonNegativeInt
    static_bytes: NonNegativeInt
    in_flight_bytes: NonNegativeInt
    in_flight: PositiveInt
    memory_limit_bytes: PositiveInt

    @property
    def time_ns(self) -> int:
        """Forward and backward time of one micro-batch."""
        return self.forward_ns + self.backward_ns

    @property
    def activation_bytes(self) -> int:
        """Memory of all micro-batches in flight."""
        return self.in_flight * self.in_flight_bytes

    @property
    def memory_bytes(self) -> int:
        """Peak memory of each GPU."""
        return self.memory_with_bytes(self.in_flight)

    def memory_with_bytes(self, in_flight: int) -> int:
        """Memory of each GPU with so many micro-batches in flight."""
        return self.static_bytes + in_flight * self.in_flight_bytes

    @property
    def gpu_count(self) -> int:
        """Number of GPUs that run it."""
        return sum(part.count for part in self.gpus)


@dataclass(frozen=True, slots=True)
class UnusedIsland:
    """An island class with islands that the plan leaves out.

    Attributes
    ----------
    island : str
        Name of the class.
    count, gpus : int
        Islands left out, and the GPUs in them.
    extra_ns : int or None
        How much longer an iteration takes when one more of them must be used; None where no plan can.
    reason : str
        The same in words.
    """

    __pydantic_config__ = STRICT

    island: NonEmptyStr
    count: PositiveInt
    gpus: PositiveInt
    extra_ns: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SearchReport:
    """How the plan was found.

    Attributes
    ----------
    parallelizer, solver, solver_version : str
        Who planned slices, and who composed them.
    pairs : int
        Slice/island pairs before pruning, over all micro-batch sizes.
    pruned : mapping of str to int
        Pairs removed, by policy.
    queries, options : int
        Queries to the parallelizer, and options they gave.
    micro_batches_tried : tuple of int
        Micro-batch sizes for which a composition problem was solved.
    micro_batches_ruled_out : tuple of int
        Those whose bound is no better than the plan, so that none had to be solved.
    enumeration_s, composition_s : float
        Elapsed times.
    islands_proven : bool
        Whether the islands are proven to be the best; what is proven of the plan is so for these islands.
    """

    __pydantic_config__ = STRICT

    parallelizer: NonEmptyStr
    solver: NonEmptyStr
    solver_version: str
    pairs: NonNegativeInt
    pruned: Mapping[str, int]
    queries: NonNegativeInt
    options: NonNegativeInt
    micro_batches_tried: tuple[PositiveInt, ...]
    enumeration_s: float
    composition_s: float
    micro_batches_ruled_out: tuple[PositiveInt, ...] = ()
    islands_proven: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A training plan.

    Attributes
    ----------
    name, cluster, model : str
        Of the problem, its cluster and its model.
    layers, parameters, active_parameters : int
        Of the model.
    flops_per_token : int
        Model FLOPs of one training token (forward and backward, no recomputation).
    peak_flops_per_s : int
        Dense half-precision peak of all GPUs of the stages.
    cluster_gpus : int
        GPUs in the cluster, used or not.
    global_batch, sequence_length, micro_batch : int
        The workload.
    recipe : str
        Name of the training recipe.
    stages : tuple of PlannedStage
        Front to back.
    outcome : {"optimal", "feasible"}
        Whether the composition is proven.
    iteration_ns, bound_ns : int or None
        Iteration time by the objective, and a proven bound on it.
    simulated_ns : int
        The same pipeline, event by event.
    unused : tuple of UnusedIsland
        What is left out, and what using it would cost.
    idle_gpus : int
        GPUs of used islands that no stage runs on.
    search : SearchReport
        How it was found.
    objective : {"closed", "period", "simulated"}
        Which iteration time was minimised.
    depths : {"standard", "chosen"}
        Whether the micro-batches in flight are those of 1F1B, or were chosen as well.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    cluster: NonEmptyStr
    model: NonEmptyStr
    layers: PositiveInt
    parameters: PositiveInt
    active_parameters: PositiveInt
    flops_per_token: PositiveInt
    peak_flops_per_s: PositiveInt
    cluster_gpus: PositiveInt
    global_batch: PositiveInt
    sequence_length: PositiveInt
    micro_batch: PositiveInt
    recipe: NonEmptyStr
    stages: tuple[PlannedStage, ...]
    outcome: Literal["optimal", "feasible"]
    iteration_ns: PositiveInt
    bound_ns: NonNegativeInt | None
    simulated_ns: PositiveInt
    unused: tuple[UnusedIsland, ...]
    idle_gpus: NonNegativeInt
    search: SearchReport
    objective: Objective = "closed"
    depths: Depths = "standard"

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError("stages: none, expected at least one")
        if self.global_batch > MOST_SEQUENCES:
            raise ValueError(f"global_batch: {self.global_batch}, expected at most {MOST_SEQUENCES}")

    @property
    def micro_batches(self) -> int:
        """Micro-batches per iteration."""
        return self.global_batch // self.micro_batch

    @property
    def tokens_per_s(self) -> float:
        """Training throughput by the simulated iteration time."""
        return self.global_batch * self.sequence_length * NS_PER_S / self.simulated_ns

    @property
    def model_flops_utilisation(self) -> float:
        """Model FLOPs over what the used GPUs could do at their peak in the simulated iteration time."""
        return self.flops_per_token * self.tokens_per_s / self.peak_flops_per_s

    @property
    def bubble_share(self) -> float:
        """Share of GPU time in which GPUs of the stages neither compute nor communicate inside a stage."""
        busy = sum(s.gpu_count * (self.micro_batches * s.time_ns + s.sync_ns) for s in self.stages)
        return 1 - busy / (sum(s.gpu_count for s in self.stages) * self.simulated_ns)
