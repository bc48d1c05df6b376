"""Whether a pipeline keeps a given period, decided option by option.

Every stretch of k neighbouring stages must take at most k P, transfers between them both ways included. Read from the
back, all that a suffix of the pipeline needs to be known by is its *head*: the largest excess, over k P, of the
stretches that start at its first stage. An option in front of it has a head of its own, a largest excess of the
stretches that end at its last stage (its *tail*), and an excess as a whole (*through*). Stretches inside the option are
judged beforehand, by its own period.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from tangram_opt.composition.table import Ints, OptionTable
from tangram_opt.data.composition import Option


@dataclass(frozen=True)
class Potentials:
    """Excesses of the options of a table over a period.

    Attributes
    ----------
    head, tail, through : array of int, shape (options,)
        In nanoseconds; see the module.
    """

    head: Ints
    tail: Ints
    through: Ints


def potentials(table: OptionTable, period_ns: int) -> Potentials:
    """Compute the excesses of options over a period.

    Parameters
    ----------
    table : OptionTable
        Options of a problem whose objective is the period form.
    period_ns : int
        The period.

    Returns
    -------
    Potentials
        One row per option.
    """
    due = period_ns * np.arange(1, table.front_ns.shape[1] + 1)
    return Potentials(
        head=(table.front_ns - due).max(axis=1),
        tail=(table.back_ns - due).max(axis=1),
        through=table.sum_ns - period_ns * table.stages,
    )


def potential(option: Option, period_ns: int) -> tuple[int, int, int]:
    """Head, tail and through of one option; see :func:`potentials`."""
    excess = [stage.time_ns - period_ns for stage in option.stages]
    both_ways = [2 * time for time in option.inner_transfers_ns]
    head = max(accumulate(map(sum, zip(excess, [0, *both_ways], strict=True))))
    tail = max(accumulate(map(sum, zip(excess[::-1], [0, *both_ways[::-1]], strict=True))))
    return head, tail, sum(excess) + sum(both_ways)
