"""The JSON object of a result, which is the same for all kinds of problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangram_opt.cli.output import as_document
from tangram_opt.result import Level, Result


def describe(kind: str, instance: str, result: Result[Any]) -> dict[str, Any]:
    """Make the JSON object of a result; times in it are nanoseconds, or seconds where the name ends in ``_s``."""
    return {
        "instance": instance,
        "kind": kind,
        "solver": result.solver,
        "solver_version": result.solver_version,
        "formulation": result.formulation,
        "outcome": result.outcome,
        "stop_reason": result.stop_reason,
        "objective": result.objective,
        "bound": result.bound,
        "gap": result.gap,
        "levels": describe_levels(result.levels),
        "wall_s": result.wall_s,
        "solution": None if result.solution is None else as_document(result.solution),
        "log": list(result.log),
    }


def describe_levels(levels: Sequence[Level]) -> list[dict[str, Any]]:
    """Make the JSON objects of the further objectives of a solution."""
    return [{"name": level.name, "value": level.value, "bound": level.bound} for level in levels]
