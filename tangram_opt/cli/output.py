"""Where every command prints and saves: consoles for people, one JSON object for programs, documents for files."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from tangram_opt import documents
from tangram_opt.errors import InputError

PIPED_WIDTH = 120

_NUMBERS = re.compile(r"\[\s+-?[\d.e+-]+(?:,\s+-?[\d.e+-]+)*\s+\]")
_answer_stream: TextIO | None = None


def answer_to(stream: TextIO) -> None:
    """Write answers to a stream from now on, whatever takes the place of ``sys.stdout``: Pyomo does while it solves."""
    global _answer_stream
    _answer_stream = stream


def answer_stream() -> TextIO:
    """Where answers go."""
    return _answer_stream or sys.stdout


def stdout_console() -> Console:
    """Make the console for answers; a pipe or a file gets wide lines, as nothing there needs to fit a window."""
    return _console(answer_stream())


def stderr_console() -> Console:
    """Make the console for progress."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    # Names come from the user's files: brackets and colons in them are not markup.
    return _Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a reader that went away to the command line, which has an exit code for it."""
        raise


def print_json(answer: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    text = json.dumps(answer, indent=2, allow_nan=False)
    # Lists of numbers on one line: a matrix is read by its rows, and is a fraction as long.
    answer_stream().write(_NUMBERS.sub(lambda found: f"[{' '.join(found.group()[1:-1].split())}]", text) + "\n")


def as_document(value: Any) -> Any:
    """Turn a document into what `json` prints."""
    return json.loads(documents.dumps(value))


def check_writable(*paths: Path | None, read: Sequence[Path] = ()) -> None:
    """Refuse output files that cannot be written, before any work is done for them.

    Parameters
    ----------
    *paths : Path or None
        Where outputs go; None where one is not wanted.
    read : sequence of Path
        The input files, which stay as they are.

    Raises
    ------
    InputError
        When a folder is missing, a file cannot be written, is an input, or is given for two outputs.
    """
    taken = {path.resolve(): "is read" for path in read}
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise InputError(f"{path}: is a folder, expected a file to write")
        if not path.parent.is_dir():
            raise InputError(f"{path}: the folder {path.parent} does not exist, expected one to write the file in")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise InputError(f"{path}: no permission to write the file")
        # A device takes any number of outputs.
        if path.resolve() in taken and (path.is_file() or not path.exists()):
            raise InputError(f"{path}: {taken[path.resolve()]}, expected another file to write")
        taken[path.resolve()] = "is written already"


def save(value: Any, path: Path) -> None:
    """Save a document and say where."""
    documents.save(value, path)
    say_written(path)


def say_notes(notes: Sequence[str]) -> None:
    """Say what a reader of the answer must know, each note on one line of standard error."""
    for note in notes:
        stderr_console().print(f"note: {note}", soft_wrap=True)


def say_written(path: Path) -> None:
    """Say where a file was written, on one line however long the path is."""
    stderr_console().print(f"written: {path}", soft_wrap=True)
