"""The stages of the options of a table, as columns: bounds and exact times of many suffixes or pipelines at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tangram_opt.composition.table import Ints, OptionTable
from tangram_opt.pipeline import makespans


@dataclass(frozen=True)
class StageColumns:
    """Stages, option by option and front to back.

    Attributes
    ----------
    start : array of int, shape (options + 1,)
        Where the stages of each option begin.
    forward_ns, backward_ns, sync_ns : array of int, shape (stages,)
        Their times; all columns below have the same shape.
    hop_ns : array of int
        One-way transfer to the next stage of the option; 0 behind its last one.
    before_ns, behind_ns : array of int
        What a micro-batch takes, both ways, between the front of the option and the stage, and between the stage and
        the back of the option.
    tail_ns : array of int
        What its gradient takes from the stage to the front of the option.
    after : array of int
        Stages of the option behind it.
    """

    start: Ints
    forward_ns: Ints
    backward_ns: Ints
    sync_ns: Ints
    hop_ns: Ints
    before_ns: Ints
    behind_ns: Ints
    tail_ns: Ints
    after: Ints

    @property
    def time_ns(self) -> Ints:
        """Forward and backward time of one micro-batch, by stage."""
        return self.forward_ns + self.backward_ns

    def longest_of_stages(self, values: Ints) -> Ints:
        """Take, for each option, the largest value of its stages; values are columns of stages."""
        longest: Ints = np.maximum.reduceat(values, self.start[:-1], axis=0)
        return longest

    def late_sync_ns(self) -> Ints:
        """Bound, for each option, how long its stages synchronise after its last gradient has left its front."""
        return self.longest_of_stages(np.maximum(self.sync_ns - self.tail_ns, 0))

    def own_ns(self, micro_batches: int) -> Ints:
        """Bound, for each option, the iteration time of every pipeline that it is part of: what each stage runs."""
        return self.longest_of_stages(self.before_ns + micro_batches * self.time_ns)

    def least_ns(self, rows: Ints, stages: Ints, behind_ns: Ints, micro_batches: int) -> Ints:
        """Bound, for each option, the time from its first forward to its last backward.

        It is what :func:`tangram_opt.pipeline.lower_bound_ns` says of its stages: each runs all its passes, and
        idles while the first gradient is away, and again at the end.

        Parameters
        ----------
        rows : array of int
            Options.
        stages, behind_ns : array of int, same shape
            How many stages come after each, and what a micro-batch takes through them and back, with the boundary.
        micro_batches : int
            n.

        Returns
        -------
        array of int, same shape
            Nanoseconds.
        """
        stage, first = self._stages_of(rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(first, append=len(stage)))
        forward, backward = self.forward_ns[stage], self.backward_ns[stage]
        depth = self.after[stage] + stages[owner] + 1
        away = self.behind_ns[stage] + behind_ns[owner]
        hidden = np.minimum(depth, micro_batches) - 1
        idle = np.maximum(away - hidden * forward, 0)
        idle += np.where(micro_batches > depth, np.maximum(away - hidden * backward, 0), 0)
        round_trips = ((micro_batches - 1) // depth + 1) * (forward + backward + away)
        busy = np.maximum(micro_batches * (forward + backward) + idle, round_trips)
        longest: Ints = np.maximum.reduceat(self.before_ns[stage] + busy, first)
        return longest

    def makespans(self, paths: Ints, links_ns: Ints, micro_batches: int) -> Ints:
        """Run pipelines event by event.

        Parameters
        ----------
        paths : array of int, shape (pipelines, options)
            Their options, front to back.
        links_ns : array of int, shape (pipelines, options - 1)
            One-way transfers over the boundaries between them.
        micro_batches : int
            n.

        Returns
        -------
        array of int, shape (pipelines,)
            Iteration times.
        """
        stage, first = self._stages_of(paths.ravel())
        ends = np.append(first[1:], len(stage)).reshape(paths.shape)
        hop = self.hop_ns[stage]
        hop[ends[:, :-1] - 1] = links_ns
        begins = first.reshape(paths.shape)[:, 0]
        lengths = ends[:, -1] - begins
        times = np.empty(len(paths), dtype=np.int64)
        for length in np.unique(lengths):
            those = np.flatnonzero(lengths == length)
            at = begins[those][:, None] + np.arange(length)
            which = stage[at]
            columns = (self.forward_ns[which], self.backward_ns[which], hop[at[:, :-1]], self.sync_ns[which])
            times[those] = makespans(*columns, micro_batches)
        return times

    def respects(self) -> tuple[Ints, ...]:
        """List, as costs, all that the recurrence sees of options; only those of equally many stages are compared."""
        counts = np.diff(self.start)
        option = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(option)) - self.start[option]
        costs = [-counts]
        for column in (self.forward_ns, self.backward_ns, self.hop_ns, self.sync_ns):
            by_stage = np.zeros((int(counts.max(initial=0)), len(counts)), dtype=np.int64)
            by_stage[number, option] = column
            costs += list(by_stage)
        return tuple(costs)

    def _stages_of(self, rows: Ints) -> tuple[Ints, Ints]:
        """List the stages of some options one after the other, and where those of each begin."""
        counts = self.start[rows + 1] - self.start[rows]
        first = np.cumsum(counts) - counts
        return np.repeat(self.start[rows] - first, counts) + np.arange(int(counts.sum())), first


def stage_columns(table: OptionTable) -> StageColumns:
    """List the stages of the options of a table."""
    rows, start = [], [0]
    for index in table.option.tolist():
        option = table.problem.options[index]
        before, tail, after = 0, 0, len(option.stages)
        for stage, hop in zip(option.stages, (*option.inner_transfers_ns, 0), strict=True):
            after -= 1
            behind = option.sum_ns - before - stage.time_ns
            rows.append((stage.forward_ns, stage.backward_ns, stage.sync_ns, hop, before, behind, tail, after))
            before += stage.time_ns + 2 * hop
            tail += stage.backward_ns + hop
        start.append(len(rows))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 8).T
    return StageColumns(np.array(start), *(np.ascontiguousarray(column) for column in columns))
