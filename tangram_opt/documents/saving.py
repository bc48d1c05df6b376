"""Documents to files: stable, readable, and whole or not at all."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Final

from tangram_opt.documents.kinds import CLASSES, FORMAT_PREFIX, VERSION, class_adapter
from tangram_opt.errors import InputError

LINE_WIDTH: Final = 110
ONE_LINE_ITEMS: Final = frozenset({"options"})
"""Lists whose entries stay on one line each: a composition problem has thousands of options."""
LEFT_OUT: Final = {"composition-problem": {"objective": "closed", "depths": "standard"}}
"""Fields that came later, by kind, and the default with which they are left out: files of before stay as they are."""


def dumps(value: Any) -> str:
    """Write a problem, a solution, a cluster, a model or a plan as a JSON document.

    Parameters
    ----------
    value : object
        An instance of a class that has a kind of document.

    Returns
    -------
    str
        The document: fields in the order of the class, short values on one line.

    Raises
    ------
    TypeError
        When `value` is none of these.
    """
    for kind, cls in CLASSES.items():
        if type(value) is cls:
            body = class_adapter(kind).dump_python(value, mode="json")
            default = LEFT_OUT.get(kind, {})
            body = {key: item for key, item in body.items() if key not in default or item != default[key]}
            return pretty({"format": FORMAT_PREFIX + kind, "version": VERSION} | body) + "\n"
    raise TypeError(f"{type(value).__name__} has no kind of document")


def save(value: Any, path: str | PathLike[str]) -> None:
    """Save a document: the file holds all of it, or what it held before.

    Parameters
    ----------
    value : object
        What to save, see :func:`dumps`.
    path : str or path
        The file; its directory must exist.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    text = dumps(value)
    file = Path(path)
    temporary = file.parent / f".{file.name}.{os.getpid()}.tmp"
    try:
        if not file.parent.is_dir():
            raise InputError(f"{file}: {file.parent} is no directory, expected the directory of the file to exist")
        if file.exists() and not file.is_file():
            raise InputError(f"{file}: not a regular file, expected the name of a file")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
        raise InputError(f"{file}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def pretty(value: Any, indent: int = 0, *, flat_items: bool = False) -> str:
    """Write a JSON value over several lines, with what is short on one."""
    flat = json.dumps(value, ensure_ascii=False)
    pad, end = " " * (indent + 2), " " * indent
    if isinstance(value, list) and flat_items:
        items = [json.dumps(item, ensure_ascii=False) for item in value]
    elif not _holds_containers(value) or (indent and indent + len(flat) <= LINE_WIDTH):
        return flat
    elif isinstance(value, dict):
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {pretty(item, indent + 2, flat_items=key in ONE_LINE_ITEMS)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(pad + item for item in items) + "\n" + end + "}"
    else:
        items = [pretty(item, indent + 2) for item in value]
    return "[\n" + ",\n".join(pad + item for item in items) + "\n" + end + "]" if items else "[]"


def _holds_containers(value: Any) -> bool:
    """Whether a value is worth more than one line: a mapping, or a list of lists or mappings."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(i, (dict, list)) for i in value))
