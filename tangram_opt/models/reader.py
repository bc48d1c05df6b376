"""From a parsed ``config.json`` to a model, and from what is wrong with one to a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from tangram_opt.data.model import Model
from tangram_opt.errors import InputError
from tangram_opt.models.families import FAMILIES

LONGEST_SHOWN_VALUE: Final = 60


def families() -> tuple[str, ...]:
    """List the values of ``model_type`` that can be read.

    Returns
    -------
    tuple of str
        In alphabetical order.
    """
    return tuple(sorted(FAMILIES))


def model_from_config(config: Mapping[str, Any], name: str) -> Model:
    """Read a model from its Hugging Face configuration.

    Parameters
    ----------
    config : mapping
        The parsed ``config.json``. Keys that have no effect on costs are ignored.
    name : str
        What the model is called in reports.

    Returns
    -------
    Model
        Embedding, layers and head, with equal neighbours merged.

    Raises
    ------
    InputError
        The text starts with the path inside the configuration, then the value and what was expected.
    """
    if not isinstance(config, Mapping):
        raise InputError(f"model configuration: {_shown(config)}, expected an object")
    family = config.get("model_type")
    if family is None:
        raise InputError(f"model_type: missing, expected one of {', '.join(families())}")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"model_type: {_shown(family)} is not supported, expected {_nearest(family)}")
    config_class = FAMILIES[family]
    try:
        parsed = config_class.model_validate(dict(config))
    except ValidationError as error:
        raise InputError(_sentence(error, config_class)) from None
    return parsed.architecture().model(name, family)


def _nearest(family: object) -> str:
    near = get_close_matches(str(family).lower(), families())
    return f"one of {', '.join(families())}" if not near else f"for example {' or '.join(near)}"


def _sentence(error: ValidationError, config_class: type[BaseModel]) -> str:
    """Say the first thing that is wrong: path, value, expectation."""
    first = error.errors(include_url=False)[0]
    path, expected = _locate(first["loc"], config_class)
    if first["type"] == "value_error":
        # A cross-check of the config class: it has named the key already, inside the object at `path`.
        message = str(first["ctx"]["error"])
        return f"{path}.{message}" if path else message
    if first["type"] == "missing":
        return f"{path}: missing, expected {expected}"
    if first["type"] == "less_than_equal":
        return f"{path}: {_shown(first['input'])}, expected at most {first['ctx']['le']}"
    return f"{path}: {_shown(first['input'])}, expected {expected}"


def _locate(location: Sequence[int | str], config_class: type[BaseModel]) -> tuple[str, str]:
    """Spell the path of a value, and find what its key expects."""
    path, expected = "", ""
    inside: type[BaseModel] | None = config_class
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif inside is not None and part in inside.model_fields:
            field = inside.model_fields[part]
            path += f".{part}" if path else part
            expected = field.description or ""
            annotation = field.annotation
            inside = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
        # Whatever remains names a branch of a union, not a key.
    return path, expected


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= LONGEST_SHOWN_VALUE else f"{text[:LONGEST_SHOWN_VALUE]}..."
