"""The picture of a plan: the timeline of its pipeline above the memory of its stages. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tangram_opt.data.plan import Plan
from tangram_opt.data.units import GIB
from tangram_opt.show.stages import held
from tangram_opt.show.timeline import LABELLED_STAGES, Timeline, draw_timelines, windows
from tangram_opt.show.units import duration

# Okabe and Ito's colours for all kinds of colour vision, in an order that keeps the closest ones apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#666666")
TINT = 0.6
"""How far the light shade of a colour is on the way to white."""

WIDTH_IN = 12.0

LEGEND_LETTERS, LEGEND_PATCH_LETTERS = 150, 8
"""What fits into a line of the legend, and what a patch of colour takes of it."""
STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "text.parse_math": False,  # a "$" in a name is a dollar sign
    "svg.fonttype": "none",  # labels stay text: small files that can be searched
    "svg.hashsalt": "tangram-opt",  # the same plan gives the same file
}


def save_figure(draw: Callable[[], Figure], path: Path) -> None:
    """Draw a figure and write it, in the format that the suffix of `path` names."""
    with matplotlib.rc_context(STYLE):
        figure = draw()
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, metadata=metadata)


def plan_figure(plan: Plan) -> Figure:
    """Draw a plan: the timeline of its pipeline above the memory of its stages.

    Parameters
    ----------
    plan : Plan
        What to draw.

    Returns
    -------
    Figure
        With one or two panels of the timeline on top, and one of memory below.
    """
    figure, below, colours = timeline_figure(
        plan, f"{plan.model} on {plan.cluster}: {duration(plan.simulated_ns)} per iteration"
    )
    _draw_memory(below, plan, colours)
    draw_legends(
        figure,
        below,
        colours,
        "light: forward, activations",
        "dark: backward, static memory",
        Line2D([], [], color="black", linewidth=1.5, label="memory limit"),
    )
    return figure


def timeline_figure(plan: Plan, title: str) -> tuple[Figure, Axes, Colours]:
    """Draw the timeline of a plan in one or two panels, and leave room for a panel with a bar per stage below.

    Parameters
    ----------
    plan : Plan
        What to draw.
    title : str
        Of the figure.

    Returns
    -------
    Figure, Axes, Colours
        The figure, its empty panel, and the colours of the stages.
    """
    stages = len(plan.stages)
    timeline_in, below_in = min(0.9 + 0.3 * min(stages, 16) + 0.15 * max(stages - 16, 0), 16.0), 2.7
    figure = Figure(figsize=(WIDTH_IN, timeline_in + below_in + 1.3), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=13, wrap=True)
    grid = figure.add_gridspec(2, 1, height_ratios=(timeline_in, below_in))

    colours = Colours.of(plan)
    timeline = Timeline.of(plan)
    shown = windows(timeline)
    lengths = [high - low for low, high in shown]  # one scale in all panels
    panels = grid[0, 0].subgridspec(1, len(shown), wspace=0.02, width_ratios=lengths)
    axes = [figure.add_subplot(panels[0, index]) for index in range(len(shown))]
    draw_timelines(axes, timeline, shown, [_row_label(plan, s) for s in range(stages)], colours.shades)
    return figure, figure.add_subplot(grid[1, 0]), colours


@dataclass(frozen=True)
class Colours:
    """The colour of each stage: that of its island, or of its GPU model where islands outnumber the colours.

    Attributes
    ----------
    by_name : dict of str to str
        Colour of each island or GPU model.
    shades : list of (str, str)
        Light and dark colour of each stage.
    """

    by_name: dict[str, str]
    shades: list[tuple[str, str]]

    @classmethod
    def of(cls, plan: Plan) -> Colours:
        """Give every stage its colour."""
        islands = [stage.island for stage in plan.stages]
        names = islands if len(set(islands)) <= len(PALETTE) else [stage.gpu for stage in plan.stages]
        by_name = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(dict.fromkeys(names))}
        return cls(by_name, [(_light(by_name[name]), by_name[name]) for name in names])


def _light(colour: str) -> str:
    red, green, blue = (round(255 * (part + (1 - part) * TINT)) for part in to_rgb(colour))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _row_label(plan: Plan, stage: int) -> str:
    """Name of a stage; with few stages also what it holds."""
    if len(plan.stages) > LABELLED_STAGES:
        return f"stage {stage}"
    return f"stage {stage}: {held([plan.stages[stage]])}"


def _draw_memory(axes: Axes, plan: Plan, colours: Colours) -> None:
    """Stack static memory and activations of each stage, under its limit."""
    stages = range(len(plan.stages))
    static = [stage.static_bytes / GIB for stage in plan.stages]
    activations = [stage.activation_bytes / GIB for stage in plan.stages]
    limits = [stage.memory_limit_bytes / GIB for stage in plan.stages]
    width = 0.7 if len(stages) > 4 else 0.4
    axes.bar(stages, static, width, color=[dark for _, dark in colours.shades])
    axes.bar(stages, activations, width, bottom=static, color=[light for light, _ in colours.shades])
    axes.hlines(limits, [s - 0.46 for s in stages], [s + 0.46 for s in stages], colors="black", linewidth=1.5)

    axes.set_ylim(0, 1.12 * max([*limits, *(a + b for a, b in zip(static, activations, strict=True))]))
    size, step = number_stages(axes, len(stages))
    for s in stages[::step]:
        # Low in the bar, on white: readable over either shade and away from the limit.
        axes.annotate(
            str(plan.stages[s].in_flight),
            (s, 0),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=size,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.set_xlabel("stage (number in the bar: micro-batches in flight)")
    axes.set_ylabel("memory of a GPU, GiB")


def number_stages(axes: Axes, stages: int) -> tuple[float, int]:
    """Number the bars of a panel with one per stage; return the size of the font, and every how many are numbered."""
    size, step = min(9.0, max(5.0, 360 / stages)), -(-stages // 96)
    axes.set_xlim(-0.6, stages - 0.4)
    axes.set_xticks(range(0, stages, step), [str(s) for s in range(0, stages, step)], fontsize=size)
    axes.spines[["top", "right"]].set_visible(False)
    return size, step


def draw_legends(figure: Figure, below: Axes, colours: Colours, light: str, dark: str, *more: Artist) -> None:
    """Explain the colours between the panels, and what is light, dark and else below them."""
    grey = "#555555"
    look: dict[str, Any] = {"frameon": False, "fontsize": 9}
    columns = LEGEND_LETTERS // (LEGEND_PATCH_LETTERS + max(len(name) for name in colours.by_name))
    islands = [Patch(color=colour, label=name) for name, colour in colours.by_name.items()]
    below.legend(handles=islands, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=max(columns, 1), **look)
    meanings = [
        Patch(color=_light(grey), label=light),
        Patch(color=grey, label=dark),
        Patch(facecolor="white", edgecolor="black", hatch="////", label="gradient sync and optimizer"),
        *more,
    ]
    figure.legend(handles=meanings, loc="outside lower center", ncols=len(meanings), **look)
