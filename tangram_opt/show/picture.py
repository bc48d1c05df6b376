"""Plans and their iterations, clusters and sensitivities as picture files."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import Partition
from tangram_opt.data.plan import Plan
from tangram_opt.errors import InputError
from tangram_opt.islands.sensitivity import Interval
from tangram_opt.pipeline import Analysis

SUFFIXES = (".png", ".svg")


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw the timeline of the pipeline and the memory of its stages.

    Parameters
    ----------
    plan : Plan
        What to draw.
    path : Path
        The file to write; its suffix says PNG or SVG.

    Raises
    ------
    InputError
        If the suffix is another one, the file cannot be written, or matplotlib is not installed.
    """
    check_picture(path)
    from tangram_opt.show.figure import plan_figure

    _save(lambda: plan_figure(plan), path)


def draw_simulation(plan: Plan, analysis: Analysis, path: Path) -> None:
    """Draw the timeline of the pipeline and what its stages do with the time; see :func:`draw_plan`."""
    check_picture(path)
    from tangram_opt.show.simulation_figure import simulation_figure

    _save(lambda: simulation_figure(plan, analysis), path)


def draw_cluster(cluster: Cluster, partition: Partition, path: Path) -> None:
    """Draw the islands of a cluster, their nodes and the links between them.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    partition : Partition
        Its islands.
    path : Path
        The file to write; its suffix says PNG or SVG.

    Raises
    ------
    InputError
        If the suffix is another one, the file cannot be written, or matplotlib is not installed.
    """
    check_picture(path)
    from tangram_opt.show.cluster_figure import cluster_figure

    _save(lambda: cluster_figure(cluster, partition), path)


def draw_sensitivity(
    cluster: Cluster,
    moved: Sequence[str],
    intervals: Sequence[Interval],
    plans: Sequence[Plan | None] | None,
    path: Path,
) -> None:
    """Draw islands, compute lost and, if there are plans, iteration time over the tolerance.

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
    path : Path
        The file to write; its suffix says PNG or SVG.

    Raises
    ------
    InputError
        If the suffix is another one, the file cannot be written, or matplotlib is not installed.
    """
    check_picture(path)
    from tangram_opt.show.sensitivity_figure import sensitivity_figure

    _save(lambda: sensitivity_figure(cluster, moved, intervals, plans), path)


def check_picture(path: Path) -> None:
    """Raise InputError unless a picture can be drawn and its suffix is one of a picture."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: suffix {path.suffix!r}, expected {' or '.join(SUFFIXES)} for a picture")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib, which is not installed: pip install 'tangram-opt[plot]'")


def _save(draw: Callable[[], Any], path: Path) -> None:
    from tangram_opt.show.figure import save_figure

    try:
        save_figure(draw, path)
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be written ({error.strerror or error})") from error
