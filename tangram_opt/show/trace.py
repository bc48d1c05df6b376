"""The iteration of a plan as a trace: a file in Chrome's trace event format, which Perfetto opens as well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tangram_opt.data.plan import Plan
from tangram_opt.data.units import GIB
from tangram_opt.pipeline import Analysis, Pipeline, in_flight_over_time
from tangram_opt.show.stages import held

Event = dict[str, Any]

STAGES, LINKS, MEMORY = 0, 1, 2
"""The groups of rows ("processes")."""

NS_PER_US: Final = 1000


def write_trace(plan: Plan, analysis: Analysis, path: Path) -> None:
    """Write the iteration of a plan for the viewers of Perfetto and Chrome; see :func:`trace_events`."""
    trace = {"displayTimeUnit": "ms", "traceEvents": list(trace_events(plan, analysis))}
    path.write_text(json.dumps(trace, separators=(",", ":")))


def trace_events(plan: Plan, analysis: Analysis) -> Iterator[Event]:
    """List the events of an iteration: a row of passes for each stage, rows of transfers, curves of memory.

    Parameters
    ----------
    plan : Plan
        Names what the stages hold, and their memory.
    analysis : Analysis
        Its pipeline.

    Yields
    ------
    dict
        Complete events ("X") with times in microseconds, counters ("C"), and the names of the rows ("M"). Events of
        a row never overlap: where transfers of a link do, as no shared link makes them wait, they get several rows.
    """
    pipeline = analysis.pipeline
    for group, name in ((STAGES, "stages"), (LINKS, "links"), (MEMORY, "memory of a GPU, GiB")):
        yield {"ph": "M", "name": "process_name", "pid": group, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": group, "args": {"sort_index": group}}
    for s, stage in enumerate(plan.stages):
        yield from _row_name(STAGES, s, f"stage {s}: {held([stage])}")
        yield from _passes(analysis, s)
    rows = 0
    for name, transfers in _transfers(analysis).items():
        for lane in _lanes(transfers):
            yield from _row_name(LINKS, rows, name)
            yield from (_event(LINKS, rows, *transfer) for transfer in lane)
            rows += 1
    for s, (stage, (times, counts)) in enumerate(
        zip(plan.stages, in_flight_over_time(analysis.schedule, pipeline.backward_ns), strict=True)
    ):
        for time, count in zip((0, *times.tolist()), (0, *counts.tolist()), strict=True):
            size = stage.memory_with_bytes(count) / GIB
            yield {"ph": "C", "name": f"stage {s}", "pid": MEMORY, "ts": time / NS_PER_US, "args": {"GiB": size}}


Interval = tuple[str, str, int, int]
"""Category, name, start and duration in ns."""


def _passes(analysis: Analysis, stage: int) -> Iterator[Event]:
    pipeline, schedule = analysis.pipeline, analysis.schedule
    for kind, starts, duration in (
        ("forward", schedule.forward_start_ns[stage], pipeline.forward_ns[stage]),
        ("backward", schedule.backward_start_ns[stage], pipeline.backward_ns[stage]),
    ):
        for m, start in enumerate(starts.tolist()):
            yield _event(STAGES, stage, kind, f"{kind} {m}", start, duration)
    end = int(schedule.backward_start_ns[stage, -1]) + pipeline.backward_ns[stage]
    if pipeline.sync_ns[stage]:
        yield _event(STAGES, stage, "sync", "sync and optimizer", end, pipeline.sync_ns[stage])


def _transfers(analysis: Analysis) -> dict[str, list[Interval]]:
    """Gather the transfers that take time by the link that carries them, in the order of their starts."""
    pipeline, schedule = analysis.pipeline, analysis.schedule
    links: dict[str, list[Interval]] = {}
    for boundary, duration in enumerate(pipeline.transfer_ns):
        for kind, starts, way in (
            ("activation", schedule.activation_start_ns[boundary], (boundary, boundary + 1)),
            ("gradient", schedule.gradient_start_ns[boundary], (boundary + 1, boundary)),
        ):
            text = f"stage {way[0]} to {way[1]}"
            if duration:
                links.setdefault(_link_name(pipeline, kind, boundary) or text, []).extend(
                    (kind, f"{kind} {m}, {text}", start, duration) for m, start in enumerate(starts.tolist())
                )
    return {name: sorted(transfers, key=lambda transfer: transfer[2]) for name, transfers in links.items()}


def _link_name(pipeline: Pipeline, kind: str, boundary: int) -> str | None:
    for link in pipeline.links:
        if boundary in (link.activations if kind == "activation" else link.gradients):
            return link.name
    return None


def _lanes(transfers: Iterable[Interval]) -> list[list[Interval]]:
    """Spread intervals, sorted by their starts, over as few rows as possible so that none overlap."""
    lanes: list[list[Interval]] = []
    for transfer in transfers:
        free = next((lane for lane in lanes if lane[-1][2] + lane[-1][3] <= transfer[2]), None)
        if free is None:
            lanes.append([transfer])
        else:
            free.append(transfer)
    return lanes


def _event(group: int, row: int, category: str, name: str, start_ns: int, duration_ns: int) -> Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": group,
        "tid": row,
        "ts": start_ns / NS_PER_US,
        "dur": duration_ns / NS_PER_US,
    }


def _row_name(group: int, row: int, name: str) -> Iterator[Event]:
    yield {"ph": "M", "name": "thread_name", "pid": group, "tid": row, "args": {"name": name}}
    yield {"ph": "M", "name": "thread_sort_index", "pid": group, "tid": row, "args": {"sort_index": row}}
