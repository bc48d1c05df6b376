"""The narrow interface to a homogeneous parallelizer (paper section 4.2, table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

from tangram_opt.data.composition import SignatureRun, Stage
from tangram_opt.data.island import Island
from tangram_opt.data.model import AtomRun, Model
from tangram_opt.data.workload import Workload


@dataclass(frozen=True)
class ModelSlice:
    """A contiguous part of a model.

    Attributes
    ----------
    runs : tuple of AtomRun
        Its atoms in order, equal neighbours merged.
    """

    runs: tuple[AtomRun, ...]

    @cached_property
    def signature(self) -> tuple[SignatureRun, ...]:
        """What it is made of: slices with equal signatures are interchangeable."""
        return tuple(SignatureRun(run.atom.signature, run.count) for run in self.runs)

    @cached_property
    def length(self) -> int:
        """Number of atoms."""
        return sum(run.count for run in self.runs)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a slice on an island before it is parallelized.

    Attributes
    ----------
    time_ns : int
        Forward and backward time of one micro-batch if the work spread over all GPUs without any loss.
    memory_bytes : int
        The least memory that the slice needs on the island, over all its GPUs: its training state, once.
    """

    time_ns: int
    memory_bytes: int


@dataclass(frozen=True)
class SlicePlan:
    """A model-slice/island plan: a partial parallelization plan, of one or more pipeline stages.

    Attributes
    ----------
    stages : tuple of Stage
        Front to back.
    inner_transfers_ns : tuple of int
        One-way transfer times between neighbouring stages.
    max_stages_after : int or None
        The most pipeline stages that may come after the last of these before one of them runs out of memory;
        None where any number may.
    boundary_nodes : int
        Number of nodes that hold the first stage, and the last one: their network links carry a boundary together.
    strategy : mapping
        The parallelizer's choices by name (tp, dp, recompute, ...), for the report and for launching.
    """

    stages: tuple[Stage, ...]
    inner_transfers_ns: tuple[int, ...]
    max_stages_after: int | None
    boundary_nodes: int
    strategy: Mapping[str, int | bool | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a parallelizer says to one query.

    Attributes
    ----------
    plans : tuple of SlicePlan
        Non-dominated plans, each of which tolerates at least the stages after it that were asked for.
    complete : bool
        True where no further plan exists for any larger number of stages after it, so there is no need to ask.
    reason : str
        Why there is no plan, in the user's terms; empty where there is one.
    """

    plans: tuple[SlicePlan, ...]
    complete: bool
    reason: str = ""


@runtime_checkable
class Parallelizer(Protocol):
    """Any object with the paper's four functions; it must be picklable, as queries run in other processes."""

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    def slice_model(self, model: Model) -> Sequence[ModelSlice]:
        """Cut a model into atoms, front to back."""
        ...

    def concatenate(self, front: ModelSlice, back: ModelSlice) -> ModelSlice:
        """Join two neighbouring slices."""
        ...

    def profile(self, model_slice: ModelSlice, island: Island, workload: Workload) -> Profile:
        """Bounds on time and memory of a slice on an island."""
        ...

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        """Plans of a slice on an island that tolerate `stages_after` pipeline stages behind them."""
        ...
