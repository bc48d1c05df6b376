"""The order in which each device runs its passes: 1F1B of any depths, GPipe, interleaved 1F1B.

A pass is a number: forward m of stage s is ``s * n + m``, backward m of stage s is ``(p + s) * n + m``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]


def one_f_one_b(depths: Sequence[int], micro_batches: int) -> list[Order]:
    """Order the passes by 1F1B (PipeDream-flush, Narayanan et al. 2021), with any in-flight depths.

    Parameters
    ----------
    depths : sequence of int
        The most micro-batches in flight of each stage.
    micro_batches : int
        n.

    Returns
    -------
    list of array
        The passes of each stage.
    """
    n = micro_batches
    forward, backward = _passes(len(depths), n)
    return [_alternate(forward[s], backward[s], min(depth, n) - 1) for s, depth in enumerate(depths)]


def gpipe(stages: int, micro_batches: int) -> list[Order]:
    """Order the passes by GPipe (Huang et al. 2019): all forwards, then all backwards."""
    forward, backward = _passes(stages, micro_batches)
    return [np.concatenate((forward[s], backward[s])) for s in range(stages)]


def interleaved(devices: int, chunks: int, micro_batches: int) -> list[Order]:
    """Order the passes by interleaved 1F1B (Narayanan et al. 2021, section 2.2).

    Parameters
    ----------
    devices, chunks : int
        Device d holds the stages d, d + devices, ...: `chunks` of them.
    micro_batches : int
        A multiple of `devices`.

    Returns
    -------
    list of array
        The passes of each device.

    Raises
    ------
    ValueError
        If `micro_batches` is no multiple of `devices`.
    """
    n = micro_batches
    if n % devices:
        raise ValueError(f"micro_batches: {n}, expected a multiple of the {devices} devices")
    forward, backward = _passes(devices * chunks, n)
    # Groups of as many micro-batches as there are devices go through one chunk after the other.
    turn = np.arange(n * chunks)
    group, within = np.divmod(turn, devices * chunks)
    chunk, offset = np.divmod(within, devices)
    micro_batch = group * devices + offset
    orders = []
    for device in range(devices):
        warm_up = min((devices - device - 1) * 2 + (chunks - 1) * devices, n * chunks)
        forwards = forward[chunk * devices + device, micro_batch]
        backwards = backward[(chunks - 1 - chunk) * devices + device, micro_batch]
        orders.append(_alternate(forwards, backwards, min(warm_up, n * chunks - 1)))
    return orders


def _passes(stages: int, micro_batches: int) -> tuple[Order, Order]:
    numbers = np.arange(2 * stages * micro_batches).reshape(2, stages, micro_batches)
    return numbers[0], numbers[1]


def _alternate(forwards: Order, backwards: Order, warm_up: int) -> Order:
    """Run `warm_up` forwards, then forwards and backwards in turn, then the backwards that are left."""
    steady = np.column_stack((forwards[warm_up:], backwards[: len(forwards) - warm_up])).ravel()
    return np.concatenate((forwards[:warm_up], steady, backwards[len(forwards) - warm_up :]))
