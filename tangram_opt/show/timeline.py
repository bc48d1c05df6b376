"""The timeline of a pipeline: one row per stage, all of it or its beginning and end. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from tangram_opt.data.plan import Plan
from tangram_opt.pipeline import Schedule, simulate_stages

Window = tuple[int, int]

WHOLE_MICRO_BATCHES = 8
"""A shallow pipeline shows at least this many micro-batches on each side of a break."""

BAR = 0.8
"""Height of a block, where rows are 1 apart."""

LABELLED_STAGES = 16
"""Rows of more stages are too low for words."""

BORDERED_SHARE = 0.003
"""Blocks of a smaller share of their panel's width have no border."""

MARGIN_SHARE, DIGIT_SHARE = 0.0055, 0.0045
"""Share of the picture's width that the number of a micro-batch takes inside a block: around it, and per digit."""


@dataclass(frozen=True)
class Timeline:
    """The passes of one iteration of a plan."""

    plan: Plan
    schedule: Schedule

    @classmethod
    def of(cls, plan: Plan) -> Timeline:
        """Simulate a plan."""
        return cls(plan, simulate_stages(plan.stages, plan.micro_batches))


def windows(timeline: Timeline) -> list[Window]:
    """What of the iteration to draw: all of it, or the warm-up and an end as long where the middle repeats itself."""
    schedule, plan = timeline.schedule, timeline.plan
    # Until the first stage is past the first backward passes, the pipeline is filled and swings in.
    last = min(plan.micro_batches, max(2, WHOLE_MICRO_BATCHES - len(plan.stages))) - 1
    filled = int(schedule.backward_start_ns[0, last]) + plan.stages[0].backward_ns
    # The first stage runs the last backward of all; what comes after it is synchronisation.
    passed = int(schedule.backward_start_ns[0, -1]) + plan.stages[0].backward_ns
    if passed <= 2.5 * filled:
        return [(0, schedule.makespan_ns)]
    return [(0, filled), (passed - filled, schedule.makespan_ns)]


def draw_timelines(
    axes: Sequence[Axes],
    timeline: Timeline,
    shown: Sequence[Window],
    labels: Sequence[str],
    shades: Sequence[tuple[str, str]],
) -> None:
    """Draw one panel per window, with rows labelled on the left.

    Parameters
    ----------
    axes : sequence of Axes
        The panels, left to right, as wide as their windows are long.
    timeline : Timeline
        What to draw.
    shown : sequence of (int, int)
        The time that each panel shows, in ns.
    labels : sequence of str
        One per stage.
    shades : sequence of (str, str)
        Light and dark colour of each stage, for its forward and its backward passes.
    """
    unit, size = _unit(timeline.schedule.makespan_ns)
    stages, skip = len(labels), -(-len(labels) // 100)
    shown_ns = sum(high - low for low, high in shown)
    for panel, window in zip(axes, shown, strict=True):
        for stage, (light, dark) in enumerate(shades):
            _draw_row(panel, timeline, stage, (light, dark), window, size)
            if stages <= LABELLED_STAGES:
                _number_blocks(panel, timeline, stage, (light, dark), window, size, shown_ns)
        # A little room behind the end, so that the border of the last block is seen.
        room = 0.005 * (window[1] - window[0]) if window[1] == timeline.schedule.makespan_ns else 0
        panel.set_xlim(window[0] / size, (window[1] + room) / size)
        panel.set_ylim(stages - 0.4, -0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_yticks([])
        panel.set_xlabel(f"time, {unit}")
    fontsize = 9 if stages <= LABELLED_STAGES else 7
    axes[0].set_yticks(range(0, stages, skip), labels[::skip], fontsize=fontsize)
    axes[0].tick_params(axis="y", length=0)
    if len(axes) > 1:
        _mark_break(axes[0], axes[1])


def _draw_row(axes: Axes, timeline: Timeline, stage: int, shades: tuple[str, str], window: Window, size: float) -> None:
    """Draw the passes of a stage that fall into a window, and its synchronisation."""
    planned, schedule = timeline.plan.stages[stage], timeline.schedule
    low, high = window
    row = (stage - BAR / 2, BAR)
    for start, length, colour in (
        (schedule.forward_start_ns[stage], planned.forward_ns, shades[0]),
        (schedule.backward_start_ns[stage], planned.backward_ns, shades[1]),
    ):
        inside = np.flatnonzero((start < high) & (start + length > low))
        blocks = [(start[m] / size, length / size) for m in inside]
        # A white border parts neighbours, but would be all there is of a thin block.
        border = "white" if length > BORDERED_SHARE * (high - low) else colour
        axes.broken_barh(blocks, row, facecolors=colour, edgecolors=border, linewidth=0.3)
    end = int(schedule.backward_start_ns[stage, -1]) + planned.backward_ns
    if planned.sync_ns and end < high:
        axes.broken_barh(
            [(end / size, planned.sync_ns / size)],
            row,
            facecolors="white",
            edgecolors="black",
            hatch="////",
            linewidth=0.5,
        )


def _number_blocks(
    axes: Axes, timeline: Timeline, stage: int, shades: tuple[str, str], window: Window, size: float, shown_ns: int
) -> None:
    """Write the numbers of micro-batches into the blocks that are wide enough in a picture of `shown_ns`."""
    planned, schedule = timeline.plan.stages[stage], timeline.schedule
    low, high = window
    for starts, length, colour in (
        (schedule.forward_start_ns[stage], planned.forward_ns, shades[0]),
        (schedule.backward_start_ns[stage], planned.backward_ns, shades[1]),
    ):
        inside = np.flatnonzero((starts >= low) & (starts + length <= high))
        digits = len(str(max(inside, default=0)))
        if length < (MARGIN_SHARE + DIGIT_SHARE * digits) * shown_ns:
            continue
        red, green, blue = to_rgb(colour)
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"  # luma, ITU-R BT.601
        for m in inside:
            centre = (starts[m] + length / 2) / size
            axes.text(centre, stage, str(m), ha="center", va="center", fontsize=7, color=ink)


def _unit(makespan_ns: int) -> tuple[str, float]:
    """Unit of the time axis, and its length in ns."""
    units = (("s", 1e9), ("ms", 1e6), ("us", 1e3))
    return next(((unit, size) for unit, size in units if makespan_ns >= size), ("ns", 1.0))


def _mark_break(left: Axes, right: Axes) -> None:
    """Show that time is left out between two panels."""
    right.spines["left"].set_visible(False)
    slash: dict[str, Any] = {
        "marker": [(-0.4, -1), (0.4, 1)],
        "markersize": 9,
        "linestyle": "none",
        "color": "black",
        "clip_on": False,
    }
    left.plot([1], [0], transform=left.transAxes, **slash)
    right.plot([0], [0], transform=right.transAxes, **slash)
    left.set_title("warm-up", fontsize=9)
    right.set_title("the end of the iteration; the steady state in between is left out", fontsize=9)
