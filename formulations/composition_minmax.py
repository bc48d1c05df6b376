"""The slowest stage and the longest synchronisation, which deadline and circuit formulation price in the same way.

Sets and data
    p            what can be used, with its value b_p: its slowest stage, or its longest sync
    g            groups of uses, an island or the islands of a class; u_g: how many of a group can be used together

Variables
    x_p in {0..u_p}  how often p is used (of the formulation)
    y_p in {0,1}     whether p is used; x_p itself where u_p = 1
    M                the maximum

Objective
    the maximum has weight n - 1 as slowest stage and weight 1 as longest sync

Constraints
    (<name>_g)       sum of b_p x_p over p of group g  <=  u_g M
    (used_p)         x_p <= u_p y_p, where u_g > 1
    (<name>_p)       b_p y_p <= M, where u_g > 1

Where one of a group is used at most, the first row says it all, and far tighter than a row for each p would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from formulations.linear import LinearModel


@dataclass(frozen=True, slots=True)
class Use:
    """Something that can be used.

    Attributes
    ----------
    name : str
        For names of variables and rows.
    variable : int
        Index of x_p.
    most : int
        u_p.
    group : int
        Its group g.
    value_ns : int
        b_p.
    """

    name: str
    variable: int
    most: int
    group: int
    value_ns: int


@dataclass(frozen=True, slots=True)
class Maximum:
    """The variables of one maximum.

    Attributes
    ----------
    maximum : int
        Index of M.
    used : mapping of int to int
        Index of y_p by index of x_p, where it has a variable of its own.
    """

    maximum: int
    used: dict[int, int]

    def encode(self, values: list[int], maximum_ns: int) -> None:
        """Complete a solution by its maximum."""
        values[self.maximum] = maximum_ns
        for x, y in self.used.items():
            values[y] = int(values[x] > 0)


def add_maximum(model: LinearModel, name: str, weight: int, uses: Sequence[Use], limits: Sequence[int]) -> Maximum:
    """Add the maximum over what is used to the objective.

    Parameters
    ----------
    model : LinearModel
        It has the variables x.
    name : str
        First part of the names of variables and rows.
    weight : int
        Weight in the objective.
    uses : sequence of Use
        What can be used.
    limits : sequence of int
        u_g of each group.

    Returns
    -------
    Maximum
        Its variables.
    """
    values = [use.value_ns for use in uses]
    maximum = model.add_maximum(name, min(values, default=0), max(values, default=0), weight)
    used = {}
    groups: defaultdict[int, list[Use]] = defaultdict(list)
    for use in uses:
        groups[use.group].append(use)
    for group, members in groups.items():
        terms = {use.variable: use.value_ns for use in members}
        model.add_row(f"{name}_{group}", {**terms, maximum: -limits[group]}, upper=0)
        for use in members if limits[group] > 1 else ():
            y = use.variable
            if use.most > 1:
                y = used[use.variable] = model.add_binary(f"{name}_used_{use.name}")
                model.add_row(f"{name}_used_{use.name}", {use.variable: 1, y: -use.most}, upper=0)
            model.add_row(f"{name}_{use.name}", {y: use.value_ns, maximum: -1}, upper=0)
    return Maximum(maximum, used)
