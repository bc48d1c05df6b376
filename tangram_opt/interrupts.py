"""Keeping Ctrl-C from processes that are being started."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back.

    It reaches the whole process group, and what becomes of the others is this process's to decide. Processes that
    start in here inherit the mask and never see it, not even while they start; this one sees it at the end.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
