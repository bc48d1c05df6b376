"""The rows that keep a model of islands to the levels of the objective that are already settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from formulations.islands_levels import Target
from formulations.linear import LinearModel
from tangram_opt.islands.parts import Part


def limit_islands(model: LinearModel, target: Target, chosen: Iterable[int]) -> None:
    """Add (islands): so many of these variables may be 1."""
    if target.most_islands is not None:
        model.add_row("islands", dict.fromkeys(chosen, 1), upper=target.most_islands)


def limit_lost(model: LinearModel, target: Target, lost_flops_per_s: Mapping[int, int]) -> None:
    """Add (lost): what the variables lose may come to so much; in units of what all of it has in common."""
    if target.most_lost_flops_per_s is not None:
        _limit(model, lost_flops_per_s, target.most_lost_flops_per_s)


def limit_steps(model: LinearModel, target: Target, part: Part, lost_flops_per_s: Mapping[int, int]) -> None:
    """Add (lost), or the constant of the objective, where variables say what blocks lose beyond their own nodes."""
    if target.most_lost_flops_per_s is not None:
        _limit(model, lost_flops_per_s, target.most_lost_flops_per_s - part.lost_alone)
    elif target.most_islands is not None:
        model.constant = part.lost_alone


def _limit(model: LinearModel, lost_flops_per_s: Mapping[int, int], most: int) -> None:
    unit = gcd(*lost_flops_per_s.values()) or 1
    model.add_row("lost", {index: lost // unit for index, lost in lost_flops_per_s.items()}, upper=most // unit)
