"""What a search knows so far, and running a solver so that time limits, Ctrl-C and faulty listeners are survived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final, Generic, TypeVar

from tangram_opt.backend import Problem, Progress, SolveOptions
from tangram_opt.result import StopReason

ProblemT = TypeVar("ProblemT", bound=Problem)
SolutionT = TypeVar("SolutionT")

NEARLY_OVER: Final = 0.1
"""Share of a time limit that may be left where it is what ended a search."""

GRACE_S: Final = 2.0
"""How long a solver may take to stop by itself after its time is up or it was told to."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a solver found out about a linear model.

    Attributes
    ----------
    values : sequence of int or None
        The best solution.
    bound : int or None
        Proven lower bound of the objective.
    infeasible : bool
        Whether there is proven to be no solution.
    """

    values: Sequence[int] | None
    bound: int | None
    infeasible: bool = False


class OutOfTimeError(Exception):
    """The time of a search is up before a model of it is written."""


class Search(Generic[ProblemT, SolutionT]):
    """The search for the best solution of a problem.

    Parameters
    ----------
    problem : IslandsProblem or CompositionProblem
        The problem.
    options : SolveOptions
        Limits, and who listens.
    judge : callable
        Evaluates a solution without a solver: its objective, and further ones in order of importance, of which less
        is better. Raises RuntimeError where the solution is not allowed.
    """

    def __init__(self, problem: ProblemT, options: SolveOptions, judge: Callable[[SolutionT], tuple[int, ...]]) -> None:
        self.problem = problem
        self.options = options
        self.judge = judge
        self.start = monotonic()
        self.interrupted = False
        self.best: SolutionT | None = None
        self.costs: tuple[int, ...] | None = None
        self.bound: int | None = None
        self._fault: BaseException | None = None
        self._lock = Lock()

    @property
    def objective(self) -> int | None:
        """Objective of the best solution."""
        return None if self.costs is None else self.costs[0]

    @property
    def elapsed_s(self) -> float:
        """Time since the start."""
        return monotonic() - self.start

    @property
    def left_s(self) -> float | None:
        """Time that is left, None where there is no limit."""
        limit = self.options.time_limit_s
        return None if limit is None else max(limit - self.elapsed_s, 0.0)

    def stopped(self) -> bool:
        """Whether the search should end."""
        return self.interrupted or self.left_s == 0

    def tick(self) -> None:
        """Raise an `OutOfTimeError` where the search should end: for work that takes long before a solver starts."""
        if self.stopped():
            raise OutOfTimeError

    @property
    def why_unproved(self) -> StopReason:
        """Why it stopped, where nothing is proven."""
        if self.interrupted:
            return StopReason.INTERRUPTED
        # A library may give up a little before the time that it was given is over.
        limit_s, left_s = self.options.time_limit_s, self.left_s
        if limit_s is not None and left_s is not None and left_s <= NEARLY_OVER * limit_s:
            return StopReason.TIME_LIMIT
        return StopReason.PRECISION

    def offer(self, solution: SolutionT) -> int:
        """Take note of a solution; return its objective by solver-free evaluation."""
        costs = self.judge(solution)
        with self._lock:
            if self.costs is not None and costs >= self.costs:
                return costs[0]
            self.best, self.costs = solution, costs
        self._report()
        return costs[0]

    def prove(self, bound: int | None) -> None:
        """Take note of a lower bound; None proves nothing."""
        with self._lock:
            if bound is None or (self.bound is not None and bound <= self.bound):
                return
            self.bound = bound
        self._report()

    def hear(self, bound: int) -> None:
        """Report a bound that a solver claims while it runs; only what it returns counts as proven."""
        if self.options.on_progress is not None:
            proven = [bound] if self.bound is None else [bound, self.bound]
            self.options.on_progress(Progress(self.objective, max(proven), self.elapsed_s))

    def listen(self, tell: Callable[[], object], stop: Callable[[], object]) -> None:
        """Call something from inside a solver: what it raises is kept until the solver has stopped."""
        try:
            tell()
        except BaseException as fault:
            self._fault = self._fault or fault
            stop()

    def run(self, solve: Callable[[], object], stop: Callable[[], object]) -> bool:
        """Run a solver in a thread of its own.

        Parameters
        ----------
        solve : callable
            Runs the solver.
        stop : callable
            Asks it to stop; called when time is up and it has not stopped by itself, and on Ctrl-C.

        Returns
        -------
        bool
            Whether it has come to its end. If not, it was left behind.
        """
        # An event, as a join that is interrupted takes the thread for one that has ended (CPython 3.11).
        ended = Event()

        def work() -> None:
            try:
                self.listen(solve, stop)
            finally:
                ended.set()

        Thread(target=work, daemon=True).start()
        try:
            ended.wait(None if self.left_s is None else self.left_s + GRACE_S / 2)
        except KeyboardInterrupt:
            self.interrupted = True
        if not ended.is_set():
            stop()
            ended.wait(GRACE_S)
        if isinstance(self._fault, KeyboardInterrupt):
            self.interrupted = True
        elif self._fault is not None:
            raise self._fault
        return ended.is_set()

    def _report(self) -> None:
        if self.options.on_progress is not None:
            self.options.on_progress(Progress(self.objective, self.bound, self.elapsed_s))
