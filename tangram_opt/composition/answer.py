"""From what a solver claims to a result that has been re-evaluated."""

from __future__ import annotations

from collections.abc import Iterable

from tangram_opt.composition.evaluation import check, evaluate
from tangram_opt.data.composition import Composition, CompositionProblem, Pick
from tangram_opt.result import Outcome, Result, StopReason


def placed(problem: CompositionProblem, options: Iterable[int]) -> Composition:
    """Put options one behind the other, from the first atom on.

    Parameters
    ----------
    problem : CompositionProblem
        It has the options.
    options : iterable of int
        Their indices, front to back.

    Returns
    -------
    Composition
        The options in their places, allowed or not.
    """
    picks, first = [], 0
    for index in options:
        picks.append(Pick(index, first))
        first += problem.options[index].length
    return Composition(problem.name, tuple(picks))


def answer(
    problem: CompositionProblem,
    composition: Composition | None,
    *,
    bound: int | None,
    claimed: int | None,
    stop_reason: StopReason,
    wall_s: float,
    solver: str,
    solver_version: str,
    formulation: str,
    log: tuple[str, ...] = (),
) -> Result[Composition]:
    """Re-evaluate a composition and state what is known of it.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    composition : Composition or None
        The best one found.
    bound, claimed : int or None
        Proven lower bound, and the objective according to the solver, in nanoseconds; None where it has none.
    stop_reason : StopReason
        Why the solver stopped; without a composition, `PROVED` means that there is none.
    wall_s : float
        Elapsed time.
    solver, solver_version, formulation : str
        Who found it.
    log : tuple of str
        What the solver has to say.

    Returns
    -------
    Result
        Optimal only where bound and re-evaluated objective are equal.

    Raises
    ------
    RuntimeError
        The solver's composition is not allowed, or is not worth what the solver says: a defect of the solver.
    """
    objective = None
    if composition is None:
        outcome = Outcome.INFEASIBLE if stop_reason is StopReason.PROVED else Outcome.UNKNOWN
    else:
        violations = check(problem, composition)
        if violations:
            raise RuntimeError(f"{solver} on {problem.name!r}: not allowed: {violations[0]}")
        objective = evaluate(problem, composition).objective_ns
        if claimed != objective or (bound is not None and bound > objective):
            raise RuntimeError(
                f"{solver} on {problem.name!r}: claims {claimed} ns and a bound of {bound} ns, "
                f"re-evaluation gives {objective} ns"
            )
        outcome = Outcome.OPTIMAL if bound == objective else Outcome.FEASIBLE
    return Result(
        outcome=outcome,
        stop_reason=StopReason.PROVED if outcome is Outcome.OPTIMAL else stop_reason,
        objective=objective,
        bound=bound,
        wall_s=wall_s,
        solution=composition,
        solver=solver,
        solver_version=solver_version,
        formulation=formulation,
        log=log,
    )
