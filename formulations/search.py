"""What a search knows so far, and running a solver so that time limits, Ctrl-C and faulty listeners are survived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final

from tangram_opt.backend import Progress, SolveOptions
from tangram_opt.composition.evaluation import check, evaluate
from tangram_opt.data.composition import Composition, CompositionProblem

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


class BaseSearch:
    """A search of whatever kind: how long it may take, who listens, and the best values so far.

    Parameters
    ----------
    name : str
        Name of the problem.
    options : SolveOptions
        Limits, and who listens.
    """

    def __init__(self, name: str, options: SolveOptions) -> None:
        self.name = name
        self.options = options
        self.start = monotonic()
        self.interrupted = False
        self.best: Any = None
        self.objective_ns: int | None = None
        self.bound_ns: int | None = None
        self._fault: BaseException | None = None
        self._lock = Lock()

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

    def take(self, solution: Any, objective_ns: int) -> None:
        """Take note of a checked solution and its value."""
        with self._lock:
            if self.objective_ns is not None and objective_ns >= self.objective_ns:
                return
            self.best, self.objective_ns = solution, objective_ns
        self._report()

    def prove(self, bound_ns: int | None) -> None:
        """Take note of a lower bound; None proves nothing."""
        with self._lock:
            if bound_ns is None or (self.bound_ns is not None and bound_ns <= self.bound_ns):
                return
            self.bound_ns = bound_ns
        self._report()

    def hear(self, bound_ns: int) -> None:
        """Report a bound that a solver claims while it runs; only what it returns counts as proven."""
        if self.options.on_progress is not None:
            proven = [bound_ns] if self.bound_ns is None else [bound_ns, self.bound_ns]
            self.options.on_progress(Progress(self.objective_ns, max(proven), self.elapsed_s))

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
        thread = Thread(target=lambda: self.listen(solve, stop), daemon=True)
        thread.start()
        deadline = None if self.left_s is None else monotonic() + self.left_s + GRACE_S / 2
        try:
            thread.join(None if deadline is None else max(deadline - monotonic(), 0))
        except KeyboardInterrupt:
            self.interrupted = True
        if thread.is_alive():
            stop()
            thread.join(GRACE_S)
        if isinstance(self._fault, KeyboardInterrupt):
            self.interrupted = True
        elif self._fault is not None:
            raise self._fault
        return not thread.is_alive()

    def _report(self) -> None:
        if self.options.on_progress is not None:
            self.options.on_progress(Progress(self.objective_ns, self.bound_ns, self.elapsed_s))


class Search(BaseSearch):
    """The search for the best composition of a problem.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    options : SolveOptions
        Limits, and who listens.
    """

    best: Composition | None

    def __init__(self, problem: CompositionProblem, options: SolveOptions) -> None:
        super().__init__(problem.name, options)
        self.problem = problem

    def offer(self, composition: Composition) -> int:
        """Take note of a composition; return its iteration time by solver-free evaluation."""
        violations = check(self.problem, composition)
        if violations:
            raise RuntimeError(f"a solution of {self.problem.name!r} is not allowed: {violations[0]}")
        objective_ns = evaluate(self.problem, composition).objective_ns
        self.take(composition, objective_ns)
        return objective_ns
