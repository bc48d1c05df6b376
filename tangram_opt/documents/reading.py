"""From the bytes of a file to plain values (mappings, lists, text, numbers), with nothing guessed on the way."""

from __future__ import annotations

import json
import math
import re
from functools import reduce
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml

from tangram_opt.errors import InputError

MAX_INTEGER: Final = 2**63 - 1
"""Solvers and arrays hold 64-bit integers."""

YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a file that holds one mapping: YAML by its suffix, JSON otherwise.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict
        Plain values; every key is text and every number is finite and below 2^63.

    Raises
    ------
    InputError
        When the file cannot be read or parsed, or holds anything else.
    """
    text = _read_text(path)
    try:
        value = _parse_yaml(text) if path.suffix.lower() in YAML_SUFFIXES else _parse_json(text)
        _check_value(value)
    except _BadValueError as error:
        raise InputError(f"{path}: {reduce(join, reversed(error.keys), '')}: {error.message}") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply, expected a document of a few levels") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: {shorten(value)}, expected a mapping of fields to values")
    return value


def shorten(value: object, width: int = 60) -> str:
    """Write a value as it stands in JSON, cut to `width` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()
    except RecursionError:
        text = type(value).__name__
    return text if len(text) <= width else text[: width - 3] + "..."


def join(parent: str, key: str | int) -> str:
    """Path of a field or an entry inside the value at `parent`, as in ``nodes[2].gpu``."""
    if isinstance(key, int):
        return f"{parent}[{key}]"
    name = key if key.isprintable() else json.dumps(key)
    return f"{parent}.{name}" if parent else name


def is_file(path: Path) -> bool:
    """Whether there is a regular file at `path`, which may be no possible path at all."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _read_text(path: Path) -> str:
    try:
        if not path.exists():
            raise InputError(f"{path}: no such file, expected a document")
        if not is_file(path):
            raise InputError(f"{path}: not a regular file, expected a document")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8, expected a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not text.strip():
        raise InputError(f"{path}: the file is empty, expected a document")
    return text


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}, expected JSON") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the field {shorten(twice)} appears twice in one object, expected it once")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"the value {text}, expected finite numbers")


def _parse_int(text: str) -> int:
    # Python refuses to convert thousands of digits, with a message about its own settings.
    if len(text) > 1000:
        raise ValueError(f"the number {text[:20]}..., expected integers below 2^63")
    return int(text)


class _Loader(yaml.SafeLoader):
    """YAML as a notation for JSON values: no aliases, no dates, no repeated keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "an alias (*)", self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {shorten(key)} is not text (quote it)", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the field {shorten(key)} appears twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


# YAML 1.1 also reads 010 as eight, 1:30 as ninety and no as false, and 1e9 as text: here numbers and truth values are
# those that JSON and YAML 1.2 agree on, and everything else, dates too, stays text.
_OURS: Final = {
    "tag:yaml.org,2002:bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "tag:yaml.org,2002:int": (r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    "tag:yaml.org,2002:float": (
        r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in {*_OURS, "tag:yaml.org,2002:timestamp"}]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, (_pattern, _first) in _OURS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^({_pattern})$"), list(_first))


def _parse_yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{error.problem or error.context}, expected plain YAML") from None
    except yaml.reader.ReaderError as error:
        raise ValueError(f"character {error.position} is not printable, expected plain YAML") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{error}, expected plain YAML") from None


class _BadValueError(Exception):
    """A value that no document may hold; the path to it is gathered on the way out, as it is rarely needed."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.keys: list[str | int] = []


def _check_value(value: Any) -> None:
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_value(key)
            try:
                _check_value(item)
            except _BadValueError as error:
                error.keys.append(key)
                raise
    elif isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise _BadValueError("half of a surrogate pair, expected Unicode text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise _BadValueError(f"{value}, expected a finite number")
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise _BadValueError(f"an integer of {value.bit_length()} bits, expected one below 2^63")
    elif value is not None and not isinstance(value, (int, float)):
        raise _BadValueError(f"a value of type {type(value).__name__}, expected text, numbers, lists and mappings")
