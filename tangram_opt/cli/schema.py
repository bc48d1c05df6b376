"""``tangram-opt schema``: the JSON Schema of a document."""

from __future__ import annotations

from typing import Annotated

import typer

from tangram_opt import documents
from tangram_opt.cli.output import print_json


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"One of {', '.join(documents.KINDS)}.", show_default=False)
    ],
) -> None:
    """Print the JSON Schema of a kind of document."""
    print_json(documents.schema(kind))
