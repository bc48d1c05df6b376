"""The package's arrays for one layout and one split, under every variant."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.data.island import Island
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.cost import LayoutArrays, PassTimes, StageTimes, pass_times, stage_times
from tangram_opt.parallelizers.figures import slice_figures
from tangram_opt.parallelizers.interface import ModelSlice
from tangram_opt.parallelizers.layout import Layout
from tangram_opt.parallelizers.memory import KeptBytes, StageMemory, kept_bytes, stage_memory, stage_parameters
from tangram_opt.parallelizers.split import balanced_splits


@dataclass(frozen=True)
class ArrayModel:
    sizes: tuple[int, ...]
    passes: PassTimes
    kept: KeptBytes
    times: StageTimes
    memory: StageMemory


def array_model(model_slice: ModelSlice, island: Island, workload: Workload, layout: Layout) -> ArrayModel:
    figures = slice_figures(model_slice, workload.sequence_length)
    sizes = balanced_splits(figures.work, layout.pp)[layout.pp - 1]
    counts = figures.stage_counts(sizes)
    degrees = LayoutArrays.of([layout], workload)
    parameters = stage_parameters(figures, counts, degrees.tp, degrees.ep)
    kept = kept_bytes(figures, counts, degrees.tokens, degrees.tp)
    passes = pass_times(figures, island, degrees)
    return ArrayModel(
        sizes=sizes,
        passes=passes,
        kept=kept,
        times=stage_times(passes, counts, parameters, kept, island, degrees, workload),
        memory=stage_memory(parameters, kept, degrees.dp, degrees.cp, degrees.ep, workload),
    )
