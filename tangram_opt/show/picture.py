"""A training plan as a picture file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tangram_opt.data.plan import Plan
from tangram_opt.errors import InputError

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
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: suffix {path.suffix!r}, expected {' or '.join(SUFFIXES)} for a picture")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib, which is not installed: pip install 'tangram-opt[plot]'")
    from tangram_opt.show.figure import save_figure

    try:
        save_figure(plan, path)
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be written ({error.strerror or error})") from error
