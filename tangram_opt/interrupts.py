"""What becomes of a process and of those that it started when somebody wants it to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PARENT_LOOKED_FOR_S: Final = 1.0
"""How often a worker looks whether its parent is still there."""


def end_with(parent: int) -> None:
    """End this process soon after its parent: it may be killed without a chance to say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_LOOKED_FOR_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def terminate_like_interrupt() -> None:
    """Let a request to terminate be answered as Ctrl-C is: with what is known by then."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


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
