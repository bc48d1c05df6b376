"""Ports of a composition problem that no composition can tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.composition import CompositionProblem

Ints = NDArray[np.int64]


def merge_ports(
    problem: CompositionProblem, island: Ints, entry: Ints, exit_: Ints, count: Ints
) -> tuple[Ints, Ints, Ints]:
    """Make one port of those that no composition can tell apart.

    Parameters
    ----------
    problem : CompositionProblem
        It has the transfer times.
    island, entry, exit_ : array of int, shape (options,)
        Island class and ports of the options that count.
    count : array of int, shape (classes,)
        Islands of each class.

    Returns
    -------
    entry, exit_ : array of int, shape (options,)
        Merged ports.
    one_way_ns : array of int, shape (exit ports, entry ports)
        Transfer times between them; -1 where two ports cannot meet.
    """
    ports, classes = len(problem.ports), len(count)
    leaves = np.zeros((ports, classes), dtype=np.int64)
    arrives = np.zeros((classes, ports), dtype=np.int64)
    leaves[exit_, island] = 1
    arrives[island, entry] = 1
    # An option of a class with a single island never meets another one of that class.
    meet = leaves @ (1 - np.diag((count == 1).astype(np.int64))) @ arrives > 0
    one_way = np.array(problem.transfer_ns, dtype=np.int64).reshape(ports, ports)
    one_way, exits = _merge_rows(np.where(meet, one_way, -1))
    one_way, entries = _merge_rows(one_way.T)
    return entries[entry], exits[exit_], one_way.T


def _merge_rows(matrix: Ints) -> tuple[Ints, Ints]:
    """Merge rows that agree wherever both have an entry (not -1); return the merged rows and the row of each."""
    merged: list[Ints] = []
    place = np.zeros(len(matrix), dtype=np.int64)
    for i, row in enumerate(matrix):
        for j, other in enumerate(merged):
            if ((row == other) | (row < 0) | (other < 0)).all():
                merged[j] = np.maximum(row, other)
                place[i] = j
                break
        else:
            place[i] = len(merged)
            merged.append(row)
    return np.array(merged, dtype=np.int64).reshape(len(merged), matrix.shape[1]), place
