"""``uniform``: a homogeneous parallelizer that tries every uniform layout of a slice on an island.

It covers data, tensor, context, expert and pipeline parallelism, activation recomputation and offloading, and
ZeRO 0 to 3, with the same choice for all stages of the slice, and returns all plans that no other one beats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from tangram_opt.data.composition import Stage
from tangram_opt.data.island import Island
from tangram_opt.data.model import AtomRun, Model
from tangram_opt.data.units import GIB, NS_PER_S
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.collectives import BoolArray, FloatArray, IntArray
from tangram_opt.parallelizers.cost import LayoutArrays, inner_transfers_ns, pass_times, stage_times
from tangram_opt.parallelizers.figures import SliceFigures, slice_figures
from tangram_opt.parallelizers.interface import Answer, ModelSlice, Profile, SlicePlan
from tangram_opt.parallelizers.layout import Layout, layouts
from tangram_opt.parallelizers.memory import (
    UNLIMITED,
    StageMemory,
    kept_bytes,
    max_stages_after,
    stage_memory,
    stage_parameters,
)
from tangram_opt.parallelizers.pareto import non_dominated
from tangram_opt.parallelizers.split import balanced_splits
from tangram_opt.parallelizers.variants import OFFLOAD, RECOMPUTE, ZERO_STAGES

LONGEST_ITERATION_NS = 2.0**58
"""Nine years: what takes longer is no plan, and its sums would leave the range of 64-bit integers."""


class UniformParallelizer:
    """The built-in parallelizer; see the module."""

    name = "uniform"

    def slice_model(self, model: Model) -> Sequence[ModelSlice]:
        """Cut a model into its atoms, front to back."""
        return [ModelSlice((AtomRun(atom, 1),)) for atom in model.atoms()]

    def concatenate(self, front: ModelSlice, back: ModelSlice) -> ModelSlice:
        """Join two neighbouring slices."""
        last, first = front.runs[-1], back.runs[0]
        if last.atom != first.atom:
            return ModelSlice(front.runs + back.runs)
        joined = AtomRun(last.atom, last.count + first.count)
        return ModelSlice((*front.runs[:-1], joined, *back.runs[1:]))

    def profile(self, model_slice: ModelSlice, island: Island, workload: Workload) -> Profile:
        """Bound time and memory from below: perfect scaling, and every byte of training state held once."""
        flops = parameters = 0
        for run in model_slice.runs:
            atom, length = run.atom, workload.sequence_length
            flops += run.count * (atom.forward_flops_per_token(length) + atom.backward_flops_per_token(length))
            parameters += run.count * (atom.parameters + atom.expert_parameters)
        tokens = workload.micro_batch * workload.sequence_length
        rate = island.gpus * island.gpu.matmul_flops_per_s
        return Profile(
            time_ns=flops * tokens * NS_PER_S // rate,
            memory_bytes=parameters * workload.recipe.state_bytes,
        )

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        """Return all non-dominated plans that tolerate `stages_after` pipeline stages behind the slice.

        Parameters
        ----------
        model_slice : ModelSlice
            What is to be run.
        island : Island
            Where.
        workload : Workload
            With which micro-batches.
        stages_after : int
            Pipeline stages that must be able to follow.

        Returns
        -------
        Answer
            Complete: the plans cover every larger number of stages after it too. A plan stays when no other one is
            at least as good in bottleneck, sum, stages, stages that may follow, synchronisation, and nodes at
            both ends.
        """
        figures = slice_figures(model_slice, workload.sequence_length)
        all_layouts = sorted(layouts(model_slice, island, workload), key=lambda layout: layout.pp)
        splits = balanced_splits(figures.work, max(layout.pp for layout in all_layouts))
        groups = [
            _Group.build(figures, island, workload, list(group), splits[pp - 1])
            for pp, group in groupby(all_layouts, key=lambda layout: layout.pp)
        ]
        candidates = [group.candidates(stages_after) for group in groups]
        owner = np.repeat(np.arange(len(groups)), [len(rows) for rows, _ in candidates])
        if not owner.size:
            return Answer((), complete=True, reason=_why_not(groups, island, workload, stages_after))
        indices = np.concatenate([rows for rows, _ in candidates])
        costs = np.concatenate([criteria for _, criteria in candidates])
        plans = tuple(groups[owner[i]].plan(indices[i]) for i in non_dominated(costs))
        return Answer(plans, complete=True)


@dataclass(frozen=True)
class _Group:
    """All variants of the layouts with one number of pipeline stages, as arrays (zero, recompute, offload, layout)."""

    layouts: list[Layout]
    boundary_nodes: IntArray
    sizes: tuple[int, ...]
    forward: IntArray
    backward: IntArray
    sync: IntArray
    transfers: IntArray
    memory: StageMemory
    depth: IntArray
    valid: BoolArray

    @classmethod
    def build(
        cls,
        figures: SliceFigures,
        island: Island,
        workload: Workload,
        group: list[Layout],
        sizes: tuple[int, ...],
    ) -> _Group:
        counts = figures.stage_counts(sizes)
        degrees = LayoutArrays.of(group, workload)
        parameters = stage_parameters(figures, counts, degrees.tp, degrees.ep)
        kept = kept_bytes(figures, counts, degrees.tokens, degrees.tp)
        memory = stage_memory(parameters, kept, degrees.dp, degrees.cp, degrees.ep, workload)
        passes = pass_times(figures, island, degrees)
        times = stage_times(passes, counts, parameters, kept, island, degrees, workload)
        boundary_bytes = workload.micro_batch * workload.sequence_length * int(figures.hidden_bytes.max())
        transfers = inner_transfers_ns(group, island, len(sizes), boundary_bytes)
        shape = memory.static.shape
        forward, backward, sync = (np.broadcast_to(t, shape) for t in (times.forward, times.backward, times.sync))
        # A link that does not exist makes a time infinite: that layout is no plan. (NaN is below nothing.)
        longest = LONGEST_ITERATION_NS / workload.micro_batches
        bearable = (forward + backward + sync < longest).all(axis=-1) & (transfers < longest).all(axis=-1)
        return cls(
            layouts=group,
            boundary_nodes=np.array([max(1, layout.width // island.gpus_per_node) for layout in group]),
            sizes=sizes,
            forward=_whole(forward),
            backward=_whole(backward),
            sync=_whole(sync),
            transfers=_whole(transfers),
            memory=memory,
            depth=max_stages_after(memory, island, workload),
            valid=bearable & _makes_a_difference(group),
        )

    def candidates(self, stages_after: int) -> tuple[IntArray, IntArray]:
        """Indices (zero, recompute, offload, layout) of the plans that fit, and their criteria row by row."""
        fits = self.valid & (self.depth >= stages_after)
        rows = np.argwhere(fits)
        time = (self.forward + self.backward)[fits]
        layout = rows[:, -1]
        criteria = np.stack(
            [
                time.max(axis=-1),
                time.sum(axis=-1) + 2 * self.transfers[layout].sum(axis=-1),
                np.full(len(rows), len(self.sizes)),
                -self.depth[fits],
                self.sync[fits].max(axis=-1),
                -self.boundary_nodes[layout],
            ],
            axis=1,
        )
        return rows, criteria

    def plan(self, index: IntArray) -> SlicePlan:
        """The plan at one index."""
        at = zero, recompute, offload, row = tuple(int(i) for i in index)
        layout = self.layouts[row]
        depth = int(self.depth[at])
        stages = tuple(
            Stage(
                atoms=size,
                forward_ns=int(self.forward[at][s]),
                backward_ns=int(self.backward[at][s]),
                static_bytes=int(self.memory.static[at][s]),
                in_flight_bytes=int(self.memory.in_flight[at][s]),
                sync_ns=int(self.sync[at][s]),
                gpus=layout.width,
            )
            for s, size in enumerate(self.sizes)
        )
        return SlicePlan(
            stages=stages,
            inner_transfers_ns=tuple(int(t) for t in self.transfers[row]),
            max_stages_after=None if depth == UNLIMITED else depth,
            boundary_nodes=int(self.boundary_nodes[row]),
            strategy={
                "tp": layout.tp,
                "cp": layout.cp,
                "dp": layout.dp,
                "ep": layout.ep,
                "zero": ZERO_STAGES[zero],
                "recompute": RECOMPUTE[recompute],
                "offload": OFFLOAD[offload],
            },
        )


def _makes_a_difference(group: list[Layout]) -> BoolArray:
    """Which variants are worth a look: ZeRO needs replicas."""
    zero = np.array(ZERO_STAGES)[:, None, None, None]
    replicas = np.array([layout.dp * layout.cp for layout in group])
    return np.asarray((zero == 0) | (replicas > 1))


def _why_not(groups: list[_Group], island: Island, workload: Workload, stages_after: int) -> str:
    """Name what the leanest plan lacks."""
    needs = [_least_need(group, workload.micro_batches, stages_after) for group in groups if group.valid.any()]
    if not needs:
        return f"speed: every layout on island {island.name} needs links without bandwidth, or takes years"
    limit = workload.recipe.usable_bytes(island.gpu)
    return (
        f"memory: the leanest plan needs {min(needs) / GIB:.1f} GiB on each {island.gpu.name} of {limit / GIB:.1f} GiB"
        f" with {stages_after} stages after it"
    )


def _least_need(group: _Group, micro_batches: int, stages_after: int) -> float:
    """Smallest peak memory per GPU over all variants that run, without offloading."""
    behind = np.arange(len(group.sizes) - 1, -1, -1) + stages_after
    in_flight = np.minimum(micro_batches, behind + 1)
    peak = (group.memory.static + in_flight * group.memory.in_flight.astype(np.float64)).max(axis=-1)
    return float(peak[:, :, 0][group.valid[:, :, 0]].min())


def _whole(times: FloatArray) -> IntArray:
    """Nanoseconds, rounded up; times beyond any plan become 0 and are invalid anyway."""
    return np.asarray(np.ceil(np.where(times < LONGEST_ITERATION_NS, times, 0.0)).astype(np.int64))
