"""Why there is no plan, in one sentence in the user's terms."""

from __future__ import annotations

from collections.abc import Sequence

from tangram_opt.data.composition import Composition
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.data.units import GIB
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration import IMBALANCE, PairAnswer, PairReport
from tangram_opt.islands import IslandGroup
from tangram_opt.parallelizers.interface import ModelSlice, Parallelizer
from tangram_opt.result import Outcome, Result


def why_not(
    problem: PlanningProblem,
    parallelizer: Parallelizer,
    groups: Sequence[IslandGroup],
    reports: Sequence[PairReport],
    failed: Sequence[PairAnswer],
    results: Sequence[Result[Composition]],
) -> str:
    """Say which condition stands in the way.

    Parameters
    ----------
    problem : PlanningProblem
        What was asked.
    parallelizer : Parallelizer
        Who planned slices.
    groups : sequence of IslandGroup
        Island classes.
    reports : sequence of PairReport
        What was pruned, for each micro-batch size.
    failed : sequence of PairAnswer
        Those with a reason instead of a plan.
    results : sequence of Result
        Of the composition problems; none has a solution.

    Returns
    -------
    str
        One sentence. The size of the training state comes first, as no setting of the search can change it.
    """
    what = f"no plan for {problem.model.name} on {problem.cluster.name}: "
    state = _state_too_large(problem, parallelizer, groups)
    if state is not None:
        return what + state
    pruned = sum(report.removed[IMBALANCE] for report in reports)
    hint = f" (the imbalance window removed {pruned} pairs; a wider one may find a plan)" if pruned else ""
    for result in results:
        if result.outcome is Outcome.UNKNOWN:
            return (
                f"{what}{result.solver} found none and does not rule one out (it stopped: {result.stop_reason}){hint}"
            )
    smallest = min(failed, key=lambda answer: answer.query.pair.model_slice.length, default=None)
    said = next((line for result in results for line in result.log), None)
    if said is not None:
        return what + said + (f"; {_failure(smallest)}" if smallest else "") + hint
    if smallest is not None:
        return f"{what}no slice fits any island; {_failure(smallest)}{hint}"
    counts = ", ".join(f"{name} {sum(report.removed[name] for report in reports)}" for name in reports[0].removed)
    return f"{what}pruning left no slice/island pair to ask for (removed: {counts}){hint}"


def _state_too_large(problem: PlanningProblem, parallelizer: Parallelizer, groups: Sequence[IslandGroup]) -> str | None:
    """Say so where the training state of the model, or of one atom, does not fit whatever the plan."""
    recipe = problem.recipe
    workload = Workload(problem.global_batch, problem.sequence_length, problem.micro_batch or 1, recipe)
    room = {g.island: g.island.gpus * max(0, recipe.usable_bytes(g.island.gpu)) for g in groups}
    largest = max(room, key=lambda island: room[island])
    atoms = parallelizer.slice_model(problem.model)
    needs = [parallelizer.profile(atom, largest, workload).memory_bytes for atom in atoms]
    in_all = sum(room[group.island] * group.count for group in groups)
    less = f"less {recipe.reserved_bytes / GIB:.1f} GiB reserved on each"
    if sum(needs) > in_all:
        return (
            f"the training state of the model needs {sum(needs) / GIB:.1f} GiB, the GPUs of the cluster have "
            f"{in_all / GIB:.1f} GiB together ({less})"
        )
    most = max(range(len(needs)), key=needs.__getitem__)
    if needs[most] > room[largest]:
        return (
            f"the training state of {_contents(atoms[most])} alone needs {needs[most] / GIB:.1f} GiB, the GPUs of the "
            f"largest island, {largest.name}, have {room[largest] / GIB:.1f} GiB ({less})"
        )
    return None


def _failure(answer: PairAnswer) -> str:
    pair = answer.query.pair
    where = f"{_contents(pair.model_slice)} on {pair.island.name}"
    return f"the smallest slice without a plan, {where}, fails on {answer.reason}"


def _contents(piece: ModelSlice) -> str:
    return " + ".join(f"{run.count} x {run.signature}" if run.count > 1 else run.signature for run in piece.signature)
