"""The rows that keep a model of islands to the levels of the objective that are already settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from formulations.islands_levels import Target
from formulations.linear import LinearModel


def limit_islands(model: LinearModel, target: Target, chosen: Iterable[int]) -> None:
    """Add (islands): so many of these variables may be 1."""
    if target.most_islands is not None:
        model.add_row("islands", dict.fromkeys(chosen, 1), upper=target.most_islands)


def limit_lost(model: LinearModel, target: Target, lost_flops_per_s: Mapping[int, int]) -> None:
    """Add (lost): what the variables lose may come to so much; in units of what all of it has in common."""
    if target.most_lost_flops_per_s is not None:
        unit = gcd(*lost_flops_per_s.values()) or 1
        terms = {index: lost // unit for index, lost in lost_flops_per_s.items()}
        model.add_row("lost", terms, upper=target.most_lost_flops_per_s // unit)
