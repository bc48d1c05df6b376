"""The steady state of a pipeline whose links are shared: the slowest cycle of its event graph, by search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram_opt.pipeline.data import Cycle, Pipeline
from tangram_opt.pipeline.graph import EventGraph, one_f_one_b_graph, zero_row
from tangram_opt.pipeline.simulation import duration_table


class _Arc(NamedTuple):
    """Event `target` of a micro-batch starts `weight_ns` after `source` has started, `shift` micro-batches earlier."""

    source: int
    target: int
    weight_ns: int
    shift: int
    lag_row: int


def slowest_cycle(pipeline: Pipeline) -> Cycle:
    """Find a cycle of the event graph that takes longest per micro-batch.

    Starts with the slowest stage by itself and looks for a cycle that takes longer per micro-batch (a positive cycle
    by Bellman and Ford's algorithm, once every micro-batch is charged what the last one found takes) until there is
    none (Lawler 1976; Dinkelbach 1967). All in integers.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths and links.

    Returns
    -------
    Cycle
        One of those that take longest per micro-batch.
    """
    p = pipeline.stages
    arcs = _steady_arcs(pipeline)
    slowest = max(range(p), key=pipeline.times_ns.__getitem__)
    duration, micro_batches, rows = pipeline.times_ns[slowest], 1, {slowest}
    while (cycle := _positive_cycle(arcs, duration, micro_batches)) is not None:
        duration, micro_batches = sum(arc.weight_ns for arc in cycle), sum(arc.shift for arc in cycle)
        rows = {row for arc in cycle for row in (arc.source, arc.lag_row)}
    passed = {row % p for row in rows if row < 2 * p}
    crossed = {row % p for row in rows if row >= 2 * p and row != zero_row(p)}
    return Cycle(duration, micro_batches, tuple(sorted(passed)), tuple(sorted(crossed)))


def _steady_arcs(pipeline: Pipeline) -> list[_Arc]:
    """List what the events of a micro-batch wait for in the steady state, where every micro-batch waits alike."""
    # Stage orders repeat once the pipeline is filled. So do the orders of links, some micro-batches later: in units of
    # passes a slowest cycle is that of the longest run of equally deep stages, which spans one micro-batch.
    filled = pipeline.depths[0] + pipeline.stages
    n = 4 * filled
    while True:
        graph = one_f_one_b_graph(pipeline.depths, n, pipeline.links)
        sources, shifts = _waits(graph)
        window = slice(n // 2 - filled, n // 2)
        if all((part[..., window] == part[..., n // 2, np.newaxis]).all() for part in (sources, shifts)):
            break
        n *= 2
    table = duration_table(pipeline).tolist()
    events = graph.number.reshape(4 * pipeline.stages, n)[:, n // 2]
    arcs = []
    for target, event in enumerate(events.tolist()):
        for kind, lag_row in ((0, zero_row(pipeline.stages)), (1, int(graph.lag_row[event]))):
            source = int(sources[kind, target, n // 2])
            if source >= 0:
                weight = table[int(graph.row[events[source]])] + table[lag_row]
                arcs.append(_Arc(source, target, weight, int(shifts[kind, target, n // 2]), lag_row))
    return arcs


def _waits(graph: EventGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Say which kind and place every event waits for (before, feed; -1 for none), and how many micro-batches earlier.

    Kinds and places are counted as :attr:`.EventGraph.number` lists them, its first two axes as one.
    """
    p, n = graph.stages, graph.micro_batches
    number = graph.number.reshape(4 * p, n)
    node, micro_batch = np.full(len(graph.row) + 1, -1), np.zeros(len(graph.row) + 1, dtype=np.int64)
    nodes, micro_batches = np.nonzero(number >= 0)
    node[number[nodes, micro_batches]], micro_batch[number[nodes, micro_batches]] = nodes, micro_batches
    waited = np.where(number >= 0, np.stack((graph.before, graph.feed))[:, number], len(graph.row))
    sources = node[waited]
    return sources, np.where(sources >= 0, np.arange(n) - micro_batch[waited], 0)


def _positive_cycle(arcs: list[_Arc], duration_ns: int, micro_batches: int) -> list[_Arc] | None:
    """Find a cycle that takes longer than `duration_ns` per `micro_batches`; None where there is none."""
    nodes = {arc.target for arc in arcs}
    length = dict.fromkeys(nodes, 0)
    into: dict[int, _Arc] = {}
    moved = -1
    for _ in range(len(nodes) + 1):
        moved = -1
        for arc in arcs:
            reached = length[arc.source] + arc.weight_ns * micro_batches - arc.shift * duration_ns
            if reached > length[arc.target]:
                length[arc.target], into[arc.target], moved = reached, arc, arc.target
        if moved < 0:
            return None
    # After so many rounds whatever still grows hangs on a cycle: step back into it, then go around it once.
    for _ in nodes:
        moved = into[moved].source
    cycle = [into[moved]]
    while cycle[-1].source != moved:
        cycle.append(into[cycle[-1].source])
    return cycle[::-1]
