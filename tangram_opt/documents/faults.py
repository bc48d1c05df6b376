"""One sentence for the first thing that is wrong with a document: where, the value, and what was expected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tangram_opt.documents.reading import join, shorten
from tangram_opt.spelling import did_you_mean

EXPECTED: Final[Mapping[str, str]] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping of fields to values",
    "model_attributes_type": "a mapping of fields to values",
    "dataclass_type": "a mapping of fields to values",
    "none_required": "null",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "string_too_short": "text of at least {min_length} character",
    "predicate_failed": "printable text",
    "literal_error": "{expected}",
}
"""What was expected, by pydantic's type of error."""

UNKNOWN_FIELD: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

Location = tuple[str | int, ...]


def describe(error: ValidationError, document: Any, schema: Mapping[str, Any]) -> str:
    """Say in one sentence what is wrong.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    document : mapping
        The document that it looked at.
    schema : mapping
        JSON Schema of the document; it holds the names that an unknown field may have meant.

    Returns
    -------
    str
        ``path: value, expected ...``.
    """
    details = _likeliest(error.errors(include_url=False), document)
    # A misspelt field is two errors, one missing and one unknown: the unknown one says more.
    fault = next((d for d in details if d["type"] in UNKNOWN_FIELD), details[0])
    loc, _ = _resolve(fault["loc"], document, fault["type"])
    path = reduce(join, loc, "")
    if fault["type"] in UNKNOWN_FIELD:
        beside = reduce(lambda value, key: value[key], loc[:-1], document)
        # Of several forms that a mapping may take, the one with the most of its fields is meant.
        known = max(_forms(schema, schema, loc[:-1]), key=lambda form: len(set(form) & set(beside)), default=[])
        return f"{path}: unknown field, expected one of {', '.join(known)}{did_you_mean(str(loc[-1]), known)}"
    if fault["type"] == "missing":
        return f"{path}: missing, expected a value"
    if fault["type"] == "value_error":
        message = str(fault["ctx"]["error"])
        return f"{path}: {message}" if path else message
    expected = EXPECTED.get(fault["type"])
    text = expected.format(**fault.get("ctx", {})) if expected else fault["msg"][0].lower() + fault["msg"][1:]
    return f"{path or 'the document'}: {shorten(fault['input'])}, expected {text}"


def _likeliest(details: Sequence[ErrorDetails], document: Any, level: int = 0) -> list[ErrorDetails]:
    """Keep, of the alternatives of a union, the one with the fewest errors; of equals, the one that got deepest."""
    plain: list[ErrorDetails] = []
    unions: dict[Location, dict[Location, list[ErrorDetails]]] = defaultdict(lambda: defaultdict(list))
    for detail in details:
        _, tags = _resolve(detail["loc"], document, detail["type"])
        if len(tags) <= level:
            plain.append(detail)
        else:
            unions[detail["loc"][: tags[level]]][detail["loc"][: tags[level] + 1]].append(detail)
    if plain:
        return plain
    branches = next(iter(unions.values()))
    best = min(branches.values(), key=lambda found: (len(found), -max(len(d["loc"]) for d in found)))
    return _likeliest(best, document, level + 1)


def _resolve(loc: Location, document: Any, kind: str) -> tuple[Location, list[int]]:
    """Path of an error in the document, and where its location names an alternative of a union instead of a field."""
    path: list[str | int] = []
    tags: list[int] = []
    value = document
    for position, key in enumerate(loc):
        inside_mapping = isinstance(value, dict) and key in value
        inside_list = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if inside_mapping or inside_list:
            value = value[key]
            path.append(key)
        elif kind == "missing" and position == len(loc) - 1:
            path.append(key)
        else:
            tags.append(position)
    return tuple(path), tags


def _forms(schema: Mapping[str, Any], root: Mapping[str, Any], loc: Location) -> list[list[str]]:
    """Names of the fields that the value at `loc` may have, for each form that it may take."""
    if "$ref" in schema:
        return _forms(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, loc)
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        return [form for branch in branches for form in _forms(branch, root, loc)]
    if not loc:
        return [list(schema["properties"])] if "properties" in schema else []
    inner = schema.get("items", {}) if isinstance(loc[0], int) else schema.get("properties", {}).get(loc[0], {})
    return _forms(inner, root, loc[1:])
