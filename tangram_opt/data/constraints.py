"""Constrained types of the data classes, and the reading rules that all documents share."""

from __future__ import annotations

from typing import Annotated, Any, Final

from annotated_types import Ge, MinLen, Predicate

NonNegativeInt = Annotated[int, Ge(0)]
PositiveInt = Annotated[int, Ge(1)]
NonNegativeFloat = Annotated[float, Ge(0)]
NonEmptyStr = Annotated[str, MinLen(1), Predicate(str.isprintable)]
"""Text that reports print: a line break would tear a table apart, an escape sequence would command the terminal."""

STRICT: Final[Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""Unknown fields are refused and no value is converted to another type."""
