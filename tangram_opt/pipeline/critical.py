"""The critical path of an iteration: the chain of passes and transfers that makes it as long as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tangram_opt.pipeline.data import Pipeline
from tangram_opt.pipeline.graph import EventGraph, one_f_one_b_graph, zero_row
from tangram_opt.pipeline.simulation import duration_table

Kind = Literal["forward", "backward", "activation", "gradient", "sync"]

KINDS: Final[tuple[Kind, ...]] = ("forward", "backward", "activation", "gradient")


@dataclass(frozen=True, slots=True)
class Step:
    """A pass, transfer or synchronisation on the critical path.

    Attributes
    ----------
    kind : {"forward", "backward", "activation", "gradient", "sync"}
        What it is.
    place : int
        Its stage; of a transfer the stage in front of its boundary.
    micro_batch : int
        From 0; the last one for a synchronisation.
    start_ns, end_ns : int
        When it runs.
    """

    kind: Kind
    place: int
    micro_batch: int
    start_ns: int
    end_ns: int


def critical_path(pipeline: Pipeline) -> tuple[Step, ...]:
    """Follow the iteration back from its end: each step starts when the one before it ends.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths and links.

    Returns
    -------
    tuple of Step
        From time 0 to the makespan without a gap; what takes no time is left out. Where several paths are critical
        it is the one that leaves a stage or link as late as possible, of the front-most stage that ends last.
    """
    graph = one_f_one_b_graph(pipeline.depths, pipeline.micro_batches, pipeline.links)
    table = duration_table(pipeline)
    end = graph.ends(table)
    last = graph.number[1, :, -1]
    stage = int(np.argmax(end[last] + np.array(pipeline.sync_ns)))
    event, time = int(last[stage]), int(end[last[stage]])
    steps = [Step("sync", stage, pipeline.micro_batches - 1, time, time + pipeline.sync_ns[stage])]
    names = _names(graph)
    nobody = len(graph.row)
    while event != nobody:
        kind, place, micro_batch = names[event]
        start = time - int(table[graph.row[event]])
        steps.append(Step(KINDS[kind], place, micro_batch, start, time))
        before, feed, lag_row = int(graph.before[event]), int(graph.feed[event]), int(graph.lag_row[event])
        event, time = before, int(end[before])
        # The input came later than the pass or transfer before it had ended.
        if time < start:
            event, time = feed, int(end[feed])
            if lag_row != zero_row(pipeline.stages):
                way: Kind = "activation" if kind == KINDS.index("forward") else "gradient"
                steps.append(Step(way, lag_row % pipeline.stages, micro_batch, time, start))
    return tuple(step for step in reversed(steps) if step.start_ns < step.end_ns)


def _names(graph: EventGraph) -> list[tuple[int, int, int]]:
    """Kind, place and micro-batch of every event."""
    found = np.nonzero(graph.number >= 0)
    names = np.empty((len(graph.row), 3), dtype=np.int64)
    names[graph.number[found]] = np.column_stack(found)
    return [(kind, place, micro_batch) for kind, place, micro_batch in names.tolist()]
