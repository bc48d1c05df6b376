"""Progress on standard error: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tangram_opt.cli.output import stderr_console

SECONDS_BETWEEN_LINES = 5.0


class Report(Protocol):
    """Shows how far the work has come."""

    def __call__(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """Show `text`, and a bar when the total is known."""
        ...


@contextmanager
def reporting(label: str) -> Iterator[Report]:
    """Show progress while the block runs.

    Parameters
    ----------
    label : str
        What is being done.

    Yields
    ------
    Report
        To be called as often as there is something new.
    """
    console = stderr_console()
    if console.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as live:
            task = live.add_task(label, total=None)

            def update(text: str, done: int | None = None, total: int | None = None) -> None:
                live.update(task, description=_line(label, text, done, total), completed=done, total=total)

            yield update
    else:
        start = last = time.monotonic()

        def write(text: str, done: int | None = None, total: int | None = None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= SECONDS_BETWEEN_LINES:
                console.print(f"{_line(label, text, done, total)}, {now - start:.0f} s")
                last = now

        yield write


def _line(label: str, text: str, done: int | None, total: int | None) -> str:
    return f"{label}: {text}" if total is None else f"{label}: {done} of {total} {text}"
