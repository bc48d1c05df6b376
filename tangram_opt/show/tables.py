"""Tables that wrap words but never cut a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2
"""Blanks between two columns."""

LONGEST_WORD = 24
"""Words up to this length stay whole in a narrow table; longer ones may be folded."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
        Its head.
    number : bool
        Whether it holds numbers: aligned to the right and kept whole. Words wrap.
    """

    title: str
    number: bool = False


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of plain text; where numbers and words alone are wider than the console, so is the table."""
    cells = [[column.title, *(row[index] for row in rows)] for index, column in enumerate(columns)]
    natural = [_widest(line for text in texts for line in text.split("\n")) for texts in cells]
    least = [
        width if column.number else min(_widest(word for text in texts for word in text.split()), LONGEST_WORD)
        for column, texts, width in zip(columns, cells, natural, strict=True)
    ]
    gaps = GAP * (len(columns) - 1)
    # Rich would cut columns to make a table fit, so it is told every width.
    widths = _fit(natural, least, console.width - gaps)
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        width=sum(widths) + gaps,
    )
    for column, width in zip(columns, widths, strict=True):
        title = Text(column.title)
        table.add_column(title, justify="right" if column.number else "left", width=width, overflow="fold")
    for row in rows:
        # Text, not str: a name such as "[red]" is a name, not markup.
        table.add_row(*(Text(cell) for cell in row))
    console.print(table, crop=False)


def print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print names and what is to be said of them, one under the other."""
    table = Table.grid(padding=(0, GAP))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(name), Text(text))
    console.print(table)


def print_line(console: Console, text: str = "", style: str = "") -> None:
    """Print a line of plain text, wrapped at words."""
    console.print(Text(text, style=style))


def _fit(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Take from the widest columns until all fit, and from none more than it can give."""
    widths = list(natural)
    while sum(widths) > available:
        shrinkable = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not shrinkable:
            break
        widths[max(shrinkable, key=widths.__getitem__)] -= 1
    return widths


def _widest(texts: Iterable[str]) -> int:
    return max((cell_len(text) for text in texts), default=0)
