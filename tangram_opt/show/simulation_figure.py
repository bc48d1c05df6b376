"""The picture of an iteration: the timeline of its pipeline above what each stage does with the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tangram_opt.data.plan import Plan
from tangram_opt.pipeline import Analysis
from tangram_opt.show.figure import draw_legends, number_stages, timeline_figure
from tangram_opt.show.units import duration, percent

IDLE: Final = (("imbalance", "xxx"), ("fill and drain", ""), ("transfers", "..."))
"""Causes of idle time, with the hatch of their part of a bar; that of synchronisation is the timeline's."""
SYNC_HATCH: Final = "////"

OUTLINE: Final[dict[str, Any]] = {"facecolor": "white", "edgecolor": "black", "linewidth": 0.5}


def simulation_figure(plan: Plan, analysis: Analysis) -> Figure:
    """Draw an iteration.

    Parameters
    ----------
    plan : Plan
        What to draw.
    analysis : Analysis
        Its pipeline.

    Returns
    -------
    Figure
        With one or two panels of the timeline on top, and below a bar for each stage: its passes, and its idle time
        by cause.
    """
    pipeline, bubble, makespan = analysis.pipeline, analysis.bubble, analysis.schedule.makespan_ns
    idle = sum(bubble.idle_ns) / (len(bubble.idle_ns) * makespan)
    figure, below, colours = timeline_figure(
        plan,
        f"{plan.model} on {plan.cluster}: {duration(makespan)} per iteration, stages idle {percent(idle)} of it",
    )
    n, stages = pipeline.micro_batches, pipeline.stages
    width = 0.7 if stages > 4 else 0.4
    bottom = [0.0] * stages

    def stack(times_ns: Sequence[int], **look: Any) -> None:
        heights = [100 * time / makespan for time in times_ns]
        below.bar(range(stages), heights, width, bottom=bottom, **look)
        bottom[:] = [low + height for low, height in zip(bottom, heights, strict=True)]

    stack([n * time for time in pipeline.forward_ns], color=[light for light, _ in colours.shades])
    stack([n * time for time in pipeline.backward_ns], color=[dark for _, dark in colours.shades])
    idle_ns = (bubble.imbalance_ns, [bubble.fill_and_drain_ns] * stages, [bubble.transfers_ns] * stages)
    for (_, hatch), times_ns in zip(IDLE, idle_ns, strict=True):
        stack(times_ns, hatch=hatch, **OUTLINE)
    stack([bubble.sync_ns] * stages, hatch=SYNC_HATCH, **OUTLINE)
    number_stages(below, stages)
    below.set_ylim(0, 100)
    below.set_xlabel("stage")
    below.set_ylabel("share of the iteration, %")
    causes = [Patch(hatch=hatch, label=f"idle: {cause}", **OUTLINE) for cause, hatch in IDLE]
    draw_legends(figure, below, colours, "light: forward", "dark: backward", *causes)
    return figure
