"""The picture of a cluster: its islands, their nodes, and the links between them. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import Partition
from tangram_opt.data.units import GIGA
from tangram_opt.show.cluster_graph import ClusterGraph, Disc, Dot, cluster_graph
from tangram_opt.show.figure import PALETTE
from tangram_opt.show.units import count, decimals

WIDTH_IN = 9.0
LEGEND_IN = 1.6
"""Title and legend, beside the graph itself."""
MOST_LABELS = 14
"""Islands that are labelled in the picture; of more only the number of nodes is written."""
MOST_LINK_LABELS = 10
LINK_COLOURS = ("#c9c9c9", "#9fb4c7", "#6a93b8", "#35689d", "#0b3c6f")
"""From the slowest links to the fastest."""
Places = NDArray[np.float64]
GOLDEN_ANGLE = pi * (3 - sqrt(5))


def cluster_figure(cluster: Cluster, partition: Partition) -> Figure:
    """Draw a partitioned cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    partition : Partition
        Its islands.

    Returns
    -------
    Figure
        A disc for each island with a dot for each node, or where there are many a disc for each neighbourhood with a
        dot for each class of islands; lines are the slowest links between islands.
    """
    graph = cluster_graph(cluster, partition)
    low, high = _frame(graph)
    width, height = high - low
    figure = Figure(figsize=(WIDTH_IN, WIDTH_IN * height / width + LEGEND_IN), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    islands = len(partition.islands)
    figure.suptitle(
        f"{cluster.name}: {count(len(cluster.nodes))} nodes, {count(cluster.gpus)} GPUs in {count(islands)} "
        f"island{'' if islands == 1 else 's'}",
        fontsize=13,
        wrap=True,
    )
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    key = _key([dot for disc in graph.discs for dot in disc.dots])
    keys = dict.fromkeys(key(dot) for disc in graph.discs for dot in disc.dots)
    colours = {each: PALETTE[number % len(PALETTE)] for number, each in enumerate(keys)}
    classes = _link_classes(list(graph.edges.values()))
    _draw_links(axes, graph, classes)
    for disc, place in zip(graph.discs, graph.places, strict=True):
        shades = [colours[key(dot)] for dot in disc.dots]
        _draw_disc(axes, disc, place, shades, labelled=len(graph.discs) <= MOST_LABELS)
    _draw_legends(figure, graph, colours, classes)
    return figure


def _key(dots: list[Dot]) -> Callable[[Dot], str]:
    """What a colour stands for: a class of islands, or a GPU model where classes outnumber the colours."""
    if len({dot.island for dot in dots}) <= len(PALETTE):
        return lambda dot: dot.island
    return lambda dot: dot.gpu


def _link_classes(speeds: list[int]) -> dict[int, int]:
    """Class of each speed, 0 for the slowest: one for each speed, or of equal width on a logarithmic scale."""
    distinct = sorted(set(speeds))
    most = len(LINK_COLOURS)
    if len(distinct) <= most:
        return {speed: most - len(distinct) + number for number, speed in enumerate(distinct)}
    low, high = np.log(distinct[0]), np.log(distinct[-1])
    return {speed: min(int(most * (np.log(speed) - low) / (high - low)), most - 1) for speed in distinct}


def _width(link_class: int) -> float:
    return 0.9 + 0.8 * link_class


def _draw_links(axes: Axes, graph: ClusterGraph, classes: dict[int, int]) -> None:
    pairs = sorted(graph.edges, key=lambda pair: graph.edges[pair])  # the fastest on top
    axes.add_collection(
        LineCollection(
            [(graph.places[i], graph.places[j]) for i, j in pairs],
            colors=[LINK_COLOURS[classes[graph.edges[pair]]] for pair in pairs],
            linewidths=[_width(classes[graph.edges[pair]]) for pair in pairs],
            zorder=1,
        )
    )
    if len(pairs) > MOST_LINK_LABELS or len(classes) == len(set(classes.values())):
        return  # The legend has them all.
    for i, j in pairs:
        first, second = graph.discs[i], graph.discs[j]
        step = graph.places[j] - graph.places[i]
        length = float(np.hypot(*step))
        # In the middle of the visible part, between the two discs.
        middle = graph.places[i] + step / length * (first.radius + length - second.radius) / 2
        axes.text(
            middle[0],
            middle[1],
            decimals(graph.edges[i, j] / GIGA, 3),
            ha="center",
            va="center",
            fontsize=8,
            zorder=4,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"},
        )


def _draw_disc(axes: Axes, disc: Disc, place: Places, shades: list[str], *, labelled: bool) -> None:
    edge = shades[0] if len(set(shades)) == 1 else "#888888"
    light = [part + (1 - part) * 0.8 for part in to_rgb(edge)]
    _circles(axes, place[None, :], disc.radius, facecolors=[light], edgecolors=[edge], linewidths=1.2, zorder=2)
    if disc.dotted:
        # A sunflower: dots at equal density in a disc, however many there are.
        number = len(shades)
        around = GOLDEN_ANGLE * np.arange(number)
        from_middle = np.zeros(1) if number == 1 else 0.55 * np.sqrt(np.arange(number) + 0.5)
        offsets = place + np.column_stack([from_middle * np.cos(around), from_middle * np.sin(around)])
        _circles(axes, offsets, 0.31, facecolors=shades, zorder=3)
    elif not labelled:
        axes.text(place[0], place[1], disc.short, ha="center", va="center", fontsize=8, zorder=4)
    if labelled:
        axes.text(
            place[0],
            place[1] - (disc.radius + 0.15 if disc.dotted else 0),
            disc.label,
            ha="center",
            va="top" if disc.dotted else "center",
            fontsize=8,
            zorder=5,
            bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )


def _circles(axes: Axes, offsets: Places, radius: float, **look: Any) -> None:
    sizes = np.full(len(offsets), 2 * radius)
    axes.add_collection(
        EllipseCollection(
            sizes,
            sizes,
            np.zeros(len(offsets)),
            units="xy",
            offsets=offsets,
            offset_transform=axes.transData,
            **look,
        )
    )


def _frame(graph: ClusterGraph) -> tuple[Places, Places]:
    """Corners of what is shown: all islands, with room for the labels below; a few islands stay small."""
    radii = np.array([disc.radius for disc in graph.discs])[:, None]
    low, high = (graph.places - radii).min(axis=0), (graph.places + radii).max(axis=0)
    low[1] -= 1.5
    middle, half = (low + high) / 2, np.maximum((high - low) / 2 + 0.5, (8.0, 3.0))
    return middle - half, middle + half


def _draw_legends(figure: Figure, graph: ClusterGraph, colours: dict[str, str], classes: dict[int, int]) -> None:
    handles: list[Patch | Line2D] = [Patch(color=colour, label=key) for key, colour in colours.items()]
    for link_class in sorted(set(classes.values()), reverse=True):
        speeds = [speed for speed in classes if classes[speed] == link_class]
        ends = [decimals(speed / GIGA, 3) for speed in (min(speeds), max(speeds))]
        text = " to ".join(dict.fromkeys(ends))
        colour, width = LINK_COLOURS[link_class], _width(link_class)
        handles.append(Line2D([], [], color=colour, linewidth=width, label=f"{text} GB/s between islands"))
    if graph.left_out:
        ends = [decimals(speed / GIGA, 3) for speed in (graph.left_out[0], graph.left_out[-1])]
        speeds_left = " to ".join(dict.fromkeys(ends))
        text = f"not drawn: {count(len(graph.left_out))} links of {speeds_left} GB/s"
        handles.append(Patch(color="none", label=text))
    if graph.meaning:
        figure.text(0.5, 0.955, graph.meaning, ha="center", va="top", fontsize=9)
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 3), frameon=False, fontsize=9)
