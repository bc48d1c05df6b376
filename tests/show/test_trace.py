"""The trace: rows whose events do not overlap, with all of the iteration in them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tangram_opt.data.plan import Plan, PlannedStage
from tangram_opt.pipeline import Link, analyse, of_stages
from tangram_opt.show import write_trace
from tangram_opt.show.trace import LINKS, MEMORY, STAGES

GIB = 2**30
MS = 10**6

Maker = Callable[..., Plan]
Row = tuple[int, int]


def written(plan: Plan, path: Path, links: tuple[Link, ...] = ()) -> list[dict[str, Any]]:
    write_trace(plan, analyse(replace(of_stages(plan.stages, plan.micro_batches), links=links)), path)
    trace = json.loads(path.read_text())
    events: list[dict[str, Any]] = trace["traceEvents"]
    return events


def rows(events: list[dict[str, Any]]) -> dict[Row, list[dict[str, Any]]]:
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return found


def names(events: list[dict[str, Any]]) -> dict[Row, str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}


@pytest.mark.parametrize("micro_batches", [1, 4, 32])
def test_every_row_has_a_name_and_no_events_that_overlap(mixed_plan: Maker, tmp_path: Path, micro_batches: int) -> None:
    events = written(mixed_plan(micro_batches), tmp_path / "trace.json")
    assert set(rows(events)) == set(names(events))
    for row in rows(events).values():
        ordered = sorted(row, key=lambda event: event["ts"])
        for one, other in pairwise(ordered):
            assert one["ts"] + one["dur"] <= other["ts"] + 1e-6


def test_durations_of_every_row_add_up_to_what_the_plan_says(mixed_plan: Maker, tmp_path: Path) -> None:
    plan = mixed_plan(8)
    found = rows(written(plan, tmp_path / "trace.json"))
    for s, stage in enumerate(plan.stages):
        total = sum(event["dur"] for event in found[STAGES, s])
        assert total == pytest.approx((8 * stage.time_ns + stage.sync_ns) / 1000)
    sent = sum(event["dur"] for (group, _), row in found.items() if group == LINKS for event in row)
    assert sent == pytest.approx(2 * 8 * sum(stage.transfer_ns for stage in plan.stages) / 1000)
    end = max(event["ts"] + event["dur"] for row in found.values() for event in row)
    assert end == pytest.approx(plan.simulated_ns / 1000)


def test_transfers_that_overlap_get_rows_of_their_own(
    plan: Maker, stage: Callable[..., PlannedStage], tmp_path: Path
) -> None:
    # Three warm-up forwards of 1 ms each and transfers of 2.5 ms: three of them are under way at once.
    fast = stage(forward_ns=MS, backward_ns=MS, transfer_ns=0)
    events = written(plan([replace(fast, transfer_ns=5 * MS // 2), fast, fast], 8), tmp_path / "trace.json")
    assert list(names(events).values()).count("stage 0 to 1") == 3


def test_a_shared_link_is_one_row(uniform_plan: Maker, tmp_path: Path) -> None:
    events = written(uniform_plan(3, 4), tmp_path / "trace.json", (Link("nic", (0, 1), (0,)),))
    links = {name for (group, _), name in names(events).items() if group == LINKS}
    assert links == {"nic", "stage 2 to 1"}
    assert len(rows(events)[LINKS, 0]) == 3 * 4


def test_memory_rises_to_the_peak_of_the_plan_and_falls_back(mixed_plan: Maker, tmp_path: Path) -> None:
    plan = mixed_plan(32)
    curves = defaultdict(list)
    for event in written(plan, tmp_path / "trace.json"):
        if event["ph"] == "C":
            assert event["pid"] == MEMORY
            curves[event["name"]].append(event["args"]["GiB"])
    for s, stage in enumerate(plan.stages):
        curve = curves[f"stage {s}"]
        assert max(curve) == pytest.approx(stage.memory_bytes / GIB)
        assert curve[0] == curve[-1] == pytest.approx(stage.static_bytes / GIB)
