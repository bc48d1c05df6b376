"""Backends with a mistake each; the mistakes are those that solver backends make."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import Any

from tangram_opt.backend import Problem, SolveOptions
from tangram_opt.composition import check, evaluate
from tangram_opt.composition.answer import answer, placed
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.islands import AgglomerativeBackend
from tangram_opt.result import Outcome, Result, StopReason

DP = DynamicProgram()


def _dp(problem: CompositionProblem, options: SolveOptions) -> Result[Any]:
    return DP.solve(problem, replace(options, formulation="auto"))


@dataclass(frozen=True)
class Planted:
    """A backend that solves another problem than the one that it was given."""

    name: str = "planted"
    summary = "a backend with a mistake"
    exact = True

    def version(self) -> str:
        return "1"

    def missing(self) -> str | None:
        return None

    def unsupported(self, problem: Problem) -> str | None:
        return DP.unsupported(problem)

    def formulations(self, problem: Problem) -> tuple[str, ...]:
        return ("mistaken",)

    def mistaken(self, problem: CompositionProblem) -> CompositionProblem:
        """The problem as the mistake has it."""
        return problem

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Any]:
        return _dp(self.mistaken(problem), options)


class DropsLimits(Planted):
    """Forgets the rows that limit how many stages come after an option."""

    def mistaken(self, problem):
        limitless = tuple(replace(island, memory_bytes=1 << 61) for island in problem.islands)
        options = tuple(replace(option, max_stages_after=None) for option in problem.options)
        return replace(problem, islands=limitless, options=options)


class MemoryTooStrict(Planted):
    """Counts a micro-batch in flight too many at every stage: its bound is wrong, its solutions are allowed."""

    def mistaken(self, problem):
        options = tuple(
            replace(
                option,
                stages=tuple(replace(s, static_bytes=s.static_bytes + s.in_flight_bytes) for s in option.stages),
            )
            for option in problem.options
        )
        return replace(problem, options=options)


class MemoryTooLax(Planted):
    """Counts a micro-batch in flight too few at every stage: some of its solutions run out of memory."""

    def mistaken(self, problem):
        options = tuple(
            replace(
                option,
                stages=tuple(
                    replace(s, static_bytes=max(0, s.static_bytes - s.in_flight_bytes)) for s in option.stages
                ),
            )
            for option in problem.options
        )
        return replace(problem, options=options)


class GapTakenForProof(Planted):
    """Calls a composition optimal that is worse than the best one by a ten-thousandth or less."""

    def solve(self, problem, options):
        best = _dp(problem, options)
        for pick in best.solution.picks if best.solution else ():
            # Without this option the next best composition comes out.
            other = _dp(self._without(problem, pick.option), options)
            if other.objective and best.objective < other.objective <= 1.0001 * best.objective:
                return other
        return best

    @staticmethod
    def _without(problem, index):
        """Make an option useless; the indices of the others stay."""
        option = problem.options[index]
        slow = replace(option, stages=(replace(option.stages[0], forward_ns=1 << 40), *option.stages[1:]))
        return replace(problem, options=(*problem.options[:index], slow, *problem.options[index + 1 :]))


class MisstatesObjective(Planted):
    """Leaves the last transfer out of the objective that it states."""

    def solve(self, problem, options):
        result = _dp(problem, options)
        if result.objective is None:
            return result
        return replace(result, objective=result.objective - 1, bound=result.objective - 1)


class NeverFinds(Planted):
    """Says that nothing is possible."""

    def solve(self, problem, options):
        return replace(_dp(problem, options), outcome=Outcome.INFEASIBLE, objective=None, bound=None, solution=None)


class Raises(Planted):
    """Raises on problems with more than two options."""

    def solve(self, problem, options):
        if len(problem.options) > 2:
            raise RuntimeError("three options are too many")
        return _dp(problem, options)


class Dies(Planted):
    """Takes its process down on problems with more than two options."""

    def solve(self, problem, options):
        if len(problem.options) > 2:
            os.abort()
        return _dp(problem, options)


class Hangs(Planted):
    """Ignores its time limit."""

    def solve(self, problem, options):
        time.sleep(3600)


class Prints(Planted):
    """Prints what nobody asked for, from Python and from below."""

    def solve(self, problem, options):
        print("a banner")  # noqa: T201
        os.write(1, b"another banner\n")
        return _dp(problem, options)


class TellsItsProcess(Planted):
    """Logs the process in which it runs."""

    def solve(self, problem, options):
        return replace(_dp(problem, options), log=(str(os.getpid()),))


class GivesUp(Planted):
    """Stops with a solution and no proof, as at a time limit."""

    def solve(self, problem, options):
        result = _dp(problem, options)
        if result.objective is None:
            return replace(result, outcome=Outcome.UNKNOWN, stop_reason=StopReason.TIME_LIMIT)
        return replace(result, outcome=Outcome.FEASIBLE, stop_reason=StopReason.TIME_LIMIT, bound=result.objective // 2)


class BruteForce(Planted):
    """Tries every sequence of options, judged by the solver-free code alone: no mistake here."""

    def solve(self, problem, options):
        best: Composition | None = None
        worth: int | None = None
        stack: list[tuple[int, ...]] = [()]
        while stack:
            picks = stack.pop()
            length = sum(problem.options[o].length for o in picks)
            if length < problem.length:
                used = [problem.options[o].island for o in picks]
                stack += [
                    (*picks, o)
                    for o, option in enumerate(problem.options)
                    if length + option.length <= problem.length
                    and used.count(option.island) < problem.islands[problem.class_index[option.island]].count
                ]
                continue
            composition = placed(problem, picks)
            if not check(problem, composition):
                objective = evaluate(problem, composition).objective_ns
                if worth is None or objective < worth:
                    best, worth = composition, objective
        return answer(
            problem,
            best,
            bound=worth,
            claimed=worth,
            stop_reason=StopReason.PROVED,
            wall_s=0.0,
            solver=self.name,
            solver_version="1",
            formulation="mistaken",
        )


class TooFewIslands(AgglomerativeBackend):
    """Puts the last node, whatever it is, into the first island."""

    def solve(self, problem, options):
        result = super().solve(problem, options)
        islands = result.solution.islands
        if len(islands) < 2:
            return result
        merged = ((*islands[0], *islands[-1]), *islands[1:-1])
        count = len(merged)
        return replace(
            result,
            solution=replace(result.solution, islands=merged),
            objective=count,
            bound=count,
            outcome=Outcome.OPTIMAL,
        )
