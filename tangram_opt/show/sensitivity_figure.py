"""The picture of a sensitivity: islands, compute lost and iteration time over the tolerance. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.plan import Plan
from tangram_opt.data.units import NS_PER_S
from tangram_opt.islands.sensitivity import Interval
from tangram_opt.show.figure import PALETTE
from tangram_opt.show.sensitivity import compute_lost_share

WIDTH_IN, PANEL_IN = 9.0, 2.2
MOST_MARKS = 40
"""Up to so many intervals their starts are marked."""


def sensitivity_figure(
    cluster: Cluster, moved: Sequence[str], intervals: Sequence[Interval], plans: Sequence[Plan | None] | None
) -> Figure:
    """Draw one panel for each figure, as steps.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    moved : sequence of str
        The tolerances that were moved.
    intervals : sequence of Interval
        Ascending.
    plans : sequence of Plan or None
        The plan of each interval, if any; None instead of a sequence when nothing was planned.

    Returns
    -------
    Figure
        With two or three panels.
    """
    panels: list[tuple[str, list[float]]] = [
        ("islands", [float(interval.value.islands) for interval in intervals]),
        ("compute lost, %", [100 * compute_lost_share(cluster, interval) for interval in intervals]),
    ]
    if plans is not None:
        panels.append(("iteration, s", [nan if plan is None else plan.iteration_ns / NS_PER_S for plan in plans]))
    figure = Figure(figsize=(WIDTH_IN, PANEL_IN * len(panels) + 0.8), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{cluster.name}: islands by tolerance", fontsize=13, wrap=True)
    edges = [float(interval.start) for interval in intervals] + [float(intervals[-1].end)]
    axes = figure.subplots(len(panels), 1, sharex=True)
    for panel, (label, values), colour in zip(axes, panels, PALETTE, strict=False):
        panel.step(edges, [*values, values[-1]], where="post", color=colour, linewidth=1.8)
        if len(intervals) <= MOST_MARKS:
            panel.plot(edges[:-1], values, "o", color=colour, markersize=4)
        panel.set_ylabel(label)
        most = max((value for value in values if not isnan(value)), default=0)
        panel.set_ylim(0, 1.1 * most or 1)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[-1].set_xlabel(f"tolerance of {', '.join(name.replace('_', '-') for name in moved)}")
    return figure
