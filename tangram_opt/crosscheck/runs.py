"""Solver runs in processes of their own, with a wall limit that no solver can overrun.

A solver that hangs is killed, one that takes its process down harms no other run, and what a solver prints goes
nowhere. Processes are spawned, not forked: some solver libraries do not survive a fork.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from tangram_opt import solvers
from tangram_opt.backend import Backend, Problem, SolveOptions
from tangram_opt.crosscheck.smallest import smallest_like
from tangram_opt.interrupts import interrupts_blocked
from tangram_opt.result import Result

GRACE_S: Final = 10.0
"""How long a solver may go on after its time limit, the start of its process included, before it is killed."""
LEAVE_S: Final = 0.5
"""How long a process that is no longer needed may take to end by itself."""

_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Run:
    """One solver on one problem.

    Attributes
    ----------
    problem : IslandsProblem or CompositionProblem
        What to solve.
    backend : str or Backend
        Name in the registry, or a backend that can be pickled.
    formulation : str
        One of those of the backend, or ``auto``.
    time_limit_s : float
        What the solver is told.
    threads, seed : int
        What the solver is told.
    """

    problem: Problem
    backend: str | Backend
    formulation: str
    time_limit_s: float
    threads: int = 1
    seed: int = 0

    @property
    def solver(self) -> str:
        """Name of the backend."""
        return self.backend if isinstance(self.backend, str) else self.backend.name


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a run.

    Attributes
    ----------
    result : Result or None
        What the solver says; None where it failed or was killed.
    failure : str or None
        How it failed: an exception, or the end of its process.
    wall_s : float
        Time of the solve: building the model is in it, starting the process and loading libraries are not. Where the
        process was lost, from its start to its end.
    peak_memory_bytes : int or None
        Of its process so far; None where that was lost.
    """

    result: Result[Any] | None
    failure: str | None
    wall_s: float
    peak_memory_bytes: int | None

    @property
    def killed(self) -> bool:
        """Whether it was killed for not stopping in time."""
        return self.result is None and self.failure is None


def make(run: Run) -> Answer:
    """Make a run in this process, where nothing can stop it.

    Parameters
    ----------
    run : Run
        What to run.

    Returns
    -------
    Answer
        What the solver says, or the exception that it raised.
    """
    started = time.monotonic()
    result, failure = None, None
    try:
        backend = solvers.get(run.backend) if isinstance(run.backend, str) else run.backend
        options = SolveOptions(run.time_limit_s, run.threads, run.seed, formulation=run.formulation)
        started = time.monotonic()
        result = backend.solve(run.problem, options)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    wall_s = time.monotonic() - started
    return Answer(result, failure, wall_s, _peak_memory_bytes())


class Worker:
    """A process that makes one run after the other, and is replaced when it is lost."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def answer(self, run: Run) -> Answer:
        """Make a run.

        Parameters
        ----------
        run : Run
            What to run.

        Returns
        -------
        Answer
            At the latest `GRACE_S` after the run's own time limit.
        """
        started = time.monotonic()
        if self._process is None or self._connection is None:
            self._start()
        process, connection = self._process, self._connection
        assert process is not None
        assert connection is not None
        try:
            connection.send(run)
            if connection.poll(run.time_limit_s + GRACE_S):
                answer: Answer = connection.recv()
                return answer
            failure = None
        except (EOFError, OSError):
            process.join()
            failure = f"its process ended: {_describe_end(process.exitcode)}"
        self.stop()
        return Answer(None, failure, time.monotonic() - started, None)

    def stop(self) -> None:
        """End the process."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        if process is not None:
            # One that waits for the next run ends by itself, and gives back what its libraries hold.
            process.join(LEAVE_S)
            process.kill()
            process.join()

    def _start(self) -> None:
        ours, theirs = _CONTEXT.Pipe()
        self._connection = ours
        self._process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
        # The tracker must run before: starting it unblocks the signal.
        resource_tracker.ensure_running()
        with interrupts_blocked():
            self._process.start()
        # The end of the process shows as the end of the pipe only if nobody else holds the other side.
        theirs.close()


def answers(
    runs: Iterable[Run], *, workers: int = 1, fresh: bool = True, on_answer: Callable[[int], None] | None = None
) -> list[Answer]:
    """Make runs side by side.

    Parameters
    ----------
    runs : iterable of Run
        What to run.
    workers : int
        Runs at a time.
    fresh : bool
        Whether every run has a process of its own; otherwise a process makes many runs, and is replaced when one
        of them fails.
    on_answer : callable or None
        Called with the number of answers so far, from several threads.

    Returns
    -------
    list of Answer
        One per run, in their order.
    """
    waiting = enumerate(runs)
    found: dict[int, Answer] = {}
    lock = threading.Lock()
    over = threading.Event()

    def work(worker: Worker) -> None:
        while not over.is_set():
            with lock:
                item = next(waiting, None)
            if item is None:
                return
            answer = worker.answer(item[1])
            if fresh:
                worker.stop()
            with lock:
                found[item[0]] = answer
                if on_answer is not None:
                    on_answer(len(found))

    pool = [Worker() for _ in range(workers)]
    with ThreadPoolExecutor(workers) as threads:
        try:
            for each in [threads.submit(work, worker) for worker in pool]:
                each.result()
        finally:
            over.set()
            for worker in pool:
                worker.stop()
    return [found[index] for index in range(len(found))]


def _serve(connection: Connection) -> None:
    """Answer runs until nobody asks any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warm: set[tuple[str, str]] = set()
    while True:
        try:
            run: Run = connection.recv()
        except EOFError:
            return
        if (run.solver, run.formulation) not in warm:
            # Backends load their libraries when they first solve: that is not the time of this problem.
            make(replace(run, problem=smallest_like(run.problem)))
            warm.add((run.solver, run.formulation))
        connection.send(make(run))


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _describe_end(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"
