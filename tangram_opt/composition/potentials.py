"""Whether a pipeline keeps a given period, decided option by option.

Every stretch of k neighbouring stages must take at most k P, transfers between them both ways included. Read from the
back, all that a suffix of the pipeline needs to be known by is its *head*: the largest excess, over k P, of the
stretches that start at its first stage. An option in front of it has a head of its own, a largest excess of the
stretches that end at its last stage (its *tail*), and an excess as a whole (*through*). Stretches inside the option are
judged beforehand, by its own period.

Where depths are chosen, a stretch may take a P more for every micro-batch that its first stage keeps in flight beyond
1F1B and its last stage does not. The head is then that of the least extra depths, and an option is passed stage by
stage: each takes as many extra micro-batches as bring what is behind it within the period, if it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable
from tangram_opt.data.composition import Option

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class StandardPotentials:
    """Excesses of the options of a table over a period, with the depths of 1F1B.

    Attributes
    ----------
    head, tail, through : array of int, shape (options,)
        In nanoseconds; see the module.
    """

    head: Ints
    tail: Ints
    through: Ints

    def prepend(self, row: Ints, over: Ints, behind: Ints) -> tuple[Bools, Ints]:  # noqa: ARG002 (same for all depths)
        """Put options in front of suffixes.

        Parameters
        ----------
        row : array of int, shape (pairs,)
            The options.
        over : array of int, shape (pairs,)
            Head of the suffix and the boundary in front of it, both ways.
        behind : array of int, shape (pairs,)
            Stages of the suffix.

        Returns
        -------
        array of bool, array of int
            Whether the period is kept, and the head of the longer suffix.
        """
        return self.tail[row] + over <= 0, np.maximum(self.head[row], self.through[row] + over)

    @property
    def costs(self) -> tuple[Ints, ...]:
        """What makes an option no worse than another one where all of it is no larger."""
        return self.head, self.tail, self.through


@dataclass(frozen=True)
class DepthPotentials:
    """Stages of the options of a table and a period, where depths are chosen.

    Attributes
    ----------
    table : OptionTable
        It has the stages.
    period_ns : int
        The period.
    """

    table: OptionTable
    period_ns: int

    def prepend(self, row: Ints, over: Ints, behind: Ints) -> tuple[Bools, Ints]:
        """Put options in front of suffixes, see :meth:`StandardPotentials.prepend`."""
        table, period = self.table, self.period_ns
        fits, head = np.ones(len(row), dtype=bool), over
        for j in range(int(table.stages[row].max(initial=0))):
            time = table.time_ns[row, j]
            excess = time - period + head + table.hop_ns[row, j]
            extra = np.maximum(-(-excess // period), 0)
            exists = j < table.stages[row]
            fits &= ~exists | (extra == 0) | (behind + j + 1 + extra <= table.cap[row, j])
            head = np.where(exists, np.maximum(time - period + extra * period, excess), head)
        return fits, head

    @property
    def costs(self) -> tuple[Ints, ...]:
        """What makes an option no worse than another one where all of it is no larger.

        Stage by stage, so only options of equally many stages are compared. Caps beyond what could ever help are alike.
        """
        table = self.table
        links = table.round_trip_ns[table.round_trip_ns < IMPOSSIBLE]
        longest = max(int(links.max(initial=0)), int(table.hop_ns.max(initial=0)))
        # A boundary takes no more extra micro-batches than both ways over it fill periods, rounded up.
        enough = table.depth * (1 + -(-longest // self.period_ns))
        return (-table.stages, *table.time_ns.T, *table.hop_ns.T, *-np.minimum(table.cap, enough).T)


Potentials = StandardPotentials | DepthPotentials


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
    if table.chooses_depths:
        return DepthPotentials(table, period_ns)
    due = period_ns * np.arange(1, table.front_ns.shape[1] + 1)
    return StandardPotentials(
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
