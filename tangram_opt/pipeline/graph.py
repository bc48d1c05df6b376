"""The event graph of a pipeline: what every pass and every transfer waits for, and when each of them can run.

Events are the passes of the stages and the transfers on shared links. Each waits for at most two others: the event
*before* it on its stage or link, and the event that *feeds* it, from which it may be a transfer time away. The times
of all events are longest paths. They are found level by level: events of a level wait for earlier levels only, so
that a level is one NumPy operation, for one pipeline or for many of the same shape at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.pipeline.data import Link, Times
from tangram_opt.pipeline.orders import Order, one_f_one_b

Index = NDArray[np.int64]

KEPT_PASSES: Final = 2**16
"""Graphs of up to so many forwards, a few megabytes each, are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class EventGraph:
    """Events in an order in which each comes after what it waits for.

    Durations are looked up in a table of ``3 p`` rows: forward of each of the p stages, backward of each stage,
    transfer over each of the p - 1 boundaries, and a row of zeros.

    Attributes
    ----------
    stages, micro_batches : int
        p and n.
    row : array of int, shape (events,)
        Row of each event's duration.
    lag_row : array of int, shape (events,)
        Row of the transfer time between each event and the one that feeds it.
    before, feed : array of int, shape (events,)
        The events that each waits for; ``len(row)`` where there is none.
    levels : tuple of int
        Where each level begins, and the end.
    number : array of int, shape (4, stages, micro_batches)
        The events by what they are: forwards and backwards of each stage, activations and gradients over the
        boundary behind each stage; -1 where there is no such boundary, or it shares no link.
    """

    stages: int
    micro_batches: int
    row: Index
    lag_row: Index
    before: Index
    feed: Index
    levels: tuple[int, ...]
    number: Index

    def ends(self, table_ns: Times) -> Times:
        """Run all events as early as they can.

        Parameters
        ----------
        table_ns : array of int64, shape (3 stages, ...)
            Durations; further axes are further pipelines.

        Returns
        -------
        array of int64, shape (events + 1, ...)
            When each event ends; the last row is 0.
        """
        end = np.zeros((len(self.row) + 1, *table_ns.shape[1:]), dtype=np.int64)
        duration, lag = table_ns[self.row], table_ns[self.lag_row]
        for low, high in pairwise(self.levels):
            arrived = end[self.feed[low:high]]
            arrived += lag[low:high]
            np.maximum(arrived, end[self.before[low:high]], out=arrived)
            np.add(arrived, duration[low:high], out=end[low:high])
        return end


def zero_row(stages: int) -> int:
    """Row of the table of durations that holds zeros."""
    return 3 * stages - 1


def one_f_one_b_graph(depths: tuple[int, ...], micro_batches: int, links: tuple[Link, ...] = ()) -> EventGraph:
    """Make the event graph of 1F1B; see :class:`.Pipeline` for its parameters. Small ones are kept for the next."""
    make = _one_f_one_b_graph if len(depths) * micro_batches <= KEPT_PASSES else _one_f_one_b_graph.__wrapped__
    return make(depths, micro_batches, links)


@lru_cache(maxsize=16)
def _one_f_one_b_graph(depths: tuple[int, ...], micro_batches: int, links: tuple[Link, ...]) -> EventGraph:
    return event_graph(one_f_one_b(depths, micro_batches), len(depths), micro_batches, links)


def event_graph(orders: Sequence[Order], stages: int, micro_batches: int, links: Sequence[Link] = ()) -> EventGraph:
    """Make the event graph of a schedule.

    A shared link serves its transfers in a fixed order: that in which they would be ready if every pass took the same
    time and no transfer any; at a tie activations come before gradients, and front boundaries before back ones. It
    is the order of communication that is enqueued ahead of time; no transfer overtakes another one, also where that
    would help.

    Parameters
    ----------
    orders : sequence of array
        The passes of each device in their order, as :mod:`.orders` numbers them.
    stages, micro_batches : int
        p and n.
    links : sequence of Link
        The shared links.

    Returns
    -------
    EventGraph
        Of one iteration.

    Raises
    ------
    ValueError
        If passes wait for one another in a circle.
    """
    size = 2 * stages * micro_batches
    forward, backward = np.arange(size).reshape(2, stages, micro_batches)
    row, feed = np.repeat(np.arange(2 * stages), micro_batches), np.full(size, -1)
    lag_row, before = np.full(size, zero_row(stages)), np.full(size, -1)
    feed[forward[1:]], feed[backward[:-1]], feed[backward[-1]] = forward[:-1], backward[1:], forward[-1]
    boundaries = np.arange(2 * stages, 3 * stages - 1)[:, np.newaxis]
    lag_row[forward[1:]] = lag_row[backward[:-1]] = boundaries
    for order in orders:
        before[order[1:]] = order[:-1]
    events = _Events(row, lag_row, before, feed)
    number = np.full((4, stages, micro_batches), -1)
    number[:2] = forward, backward
    if links:
        events = _with_links(events, links, number)
    return _in_levels(events, number)


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """Events in any order; -1 where there is nothing to wait for."""

    row: Index
    lag_row: Index
    before: Index
    feed: Index


def _with_links(events: _Events, links: Sequence[Link], number: Index) -> _Events:
    """Add the transfers on shared links as events; write their numbers into `number`."""
    forward, backward = number[:2]
    stages, n = forward.shape
    ready = np.empty(len(events.row), dtype=np.int64)
    for level, members in enumerate(_levels(events)):
        ready[members] = level
    feed, lag_row = events.feed.copy(), events.lag_row.copy()
    parts, size = [_Events(events.row, lag_row, events.before, feed)], len(events.row)
    for link in links:
        channels = [(2, s, forward[s], forward[s + 1]) for s in link.activations]
        channels += [(3, s, backward[s + 1], backward[s]) for s in link.gradients]
        for way, s, _, _ in channels:
            number[way, s] = np.arange(size, size + n)
            size += n
        ways, places = (np.repeat([channel[part] for channel in channels], n) for part in (0, 1))
        own = np.concatenate([number[way, s] for way, s, _, _ in channels])
        senders, receivers = (np.concatenate([channel[part] for channel in channels]) for part in (2, 3))
        served = np.lexsort((places, ways, ready[senders]))
        queue = np.full(len(own), -1)
        queue[served[1:]] = own[served[:-1]]
        no_lag = np.full(len(own), zero_row(stages))
        parts.append(_Events(2 * stages + places, no_lag, queue, senders))
        feed[receivers], lag_row[receivers] = own, no_lag
    return _Events(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "lag_row", "before", "feed"))
    )


def _levels(waiting: _Events) -> list[Index]:
    """Group events by the longest chain of events in front of them: their start if each took one unit of time."""
    size = len(waiting.row)
    waits = (waiting.before >= 0).astype(np.int64) + (waiting.feed >= 0)
    # An event comes before one other on its device and feeds one other, so that successors are unique, too.
    after, fed = np.full(size, -1), np.full(size, -1)
    for successor, predecessor in ((after, waiting.before), (fed, waiting.feed)):
        successors = np.flatnonzero(predecessor >= 0)
        successor[predecessor[successors]] = successors
    levels, front, found = [], np.flatnonzero(waits == 0), 0
    while front.size:
        levels.append(front)
        found += front.size
        nexts = [successor[front] for successor in (after, fed)]
        nexts = [events[events >= 0] for events in nexts]
        for events in nexts:
            waits[events] -= 1
        ready = []
        for events in nexts:
            ready.append(events[waits[events] == 0])
            waits[ready[-1]] = -1  # an event with both predecessors in this level is ready once
        front = np.concatenate(ready)
    if found < size:
        raise ValueError(f"orders: {size - found} events wait for one another in a circle")
    return levels


def _in_levels(events: _Events, number: Index) -> EventGraph:
    """Number events level by level."""
    levels = _levels(events)
    size = len(events.row)
    old = np.concatenate(levels)
    new = np.full(size + 1, size)  # -1 finds the last entry: nobody
    new[old] = np.arange(size)
    _, stages, micro_batches = number.shape
    return EventGraph(
        stages=stages,
        micro_batches=micro_batches,
        row=events.row[old],
        lag_row=events.lag_row[old],
        before=new[events.before[old]],
        feed=new[events.feed[old]],
        levels=(0, *np.cumsum([len(level) for level in levels]).tolist()),
        number=np.where(number >= 0, new[number], -1),
    )
