"""``tangram-opt show``: a saved plan in the terminal, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tangram_opt import documents
from tangram_opt.cli.output import check_writable, stdout_console
from tangram_opt.show import draw_plan, print_plan


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan.", show_default=False)],
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw timeline and memory by stage (.png or .svg)."),
    ] = None,
) -> None:
    """Print a plan, and draw it."""
    check_writable(picture, read=[file])
    plan = documents.load_plan(file)
    # Drawn first: what is printed may find no reader.
    if picture is not None:
        draw_plan(plan, picture)
    print_plan(plan, stdout_console())
