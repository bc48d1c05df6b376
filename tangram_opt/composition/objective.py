"""What a composition is worth: the one place that says what an iteration takes.

*Closed form* (paper section 5.2): (n-1) max t + sum t + 2 sum c + max sync. It takes transfers for hidden in the steady
state. *Period form*: the slowest stage is replaced by the period P of the steady state, the longest round trip per
micro-batch over all stretches of neighbouring stages (:func:`tangram_opt.pipeline.period_ns`), in whole nanoseconds.
Where transfers take no time the two are equal; the period form is never below the closed one. Where depths are chosen,
P is the least period of any depths that memory allows (:mod:`tangram_opt.pipeline.depths`).

*Simulated*: the makespan of standard 1F1B by the exact recurrence of :func:`tangram_opt.pipeline.run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final, Literal

from tangram_opt.composition.placement import depth_caps
from tangram_opt.data.composition import CompositionProblem, Objective, Option, Stage
from tangram_opt.data.plan import Plan
from tangram_opt.errors import InputError
from tangram_opt.pipeline import Pipeline, bearable_depths, least_period_ns, period_ns, run

Caps = Sequence[int | None]

Form = Literal["closed", "period"]

FORMS: Final[tuple[Form, ...]] = ("closed", "period")

OBJECTIVES: Final[tuple[Objective, ...]] = (*FORMS, "simulated")

MOST_PASSES: Final = 2**21
"""Forward passes of a pipeline that is run: so many take about a gigabyte and some seconds."""


def iteration_ns(
    form: Form,
    micro_batches: int,
    times_ns: Sequence[int],
    transfers_ns: Sequence[int],
    syncs_ns: Sequence[int],
    most_in_flight: Caps | None = None,
) -> int:
    """Iteration time of a pipeline by a form.

    Parameters
    ----------
    form : {"closed", "period"}
        Which one.
    micro_batches : int
        Micro-batches per iteration, n.
    times_ns, syncs_ns : sequence of int
        Forward and backward time of one micro-batch, and gradient synchronisation, of each of the S stages.
    transfers_ns : sequence of int
        One-way transfer time over each of the S-1 boundaries between neighbouring stages.
    most_in_flight : sequence of int or None
        Where depths are chosen, the most micro-batches that each stage may keep in flight, None for any number.

    Returns
    -------
    int
        Nanoseconds. The last term bounds the end of the iteration from above: no stage synchronises later than
        the last backward pass ends; with it 0 the closed form is that of the paper's section 5.2.
    """
    slowest_ns = slowest_part_ns(form, times_ns, transfers_ns, most_in_flight)
    return iteration_of_parts_ns(micro_batches, slowest_ns, sum(times_ns) + 2 * sum(transfers_ns), max(syncs_ns))


def slowest_part_ns(
    objective: Objective, times_ns: Sequence[int], transfers_ns: Sequence[int], most_in_flight: Caps | None = None
) -> int:
    """What an iteration takes for every micro-batch but the first: the slowest stage, or the period."""
    return whole_period_ns(times_ns, transfers_ns, most_in_flight) if objective == "period" else max(times_ns)


def makespan_ns(name: str, micro_batches: int, stages: Sequence[Stage], transfers_ns: Sequence[int]) -> int:
    """Iteration time of the stages of a composition by the recurrence.

    Parameters
    ----------
    name : str
        Of the problem, for messages.
    micro_batches : int
        n.
    stages : sequence of Stage
        Front to back.
    transfers_ns : sequence of int
        One-way transfer times between neighbouring stages.

    Returns
    -------
    int
        Nanoseconds.

    Raises
    ------
    InputError
        There is too much to run, or the times do not fit 64-bit integers.
    """
    check_passes(name, micro_batches, len(stages))
    try:
        pipeline = Pipeline(
            tuple(stage.forward_ns for stage in stages),
            tuple(stage.backward_ns for stage in stages),
            tuple(transfers_ns),
            tuple(stage.sync_ns for stage in stages),
            micro_batches,
        )
    except ValueError as error:
        raise InputError(f"problem {name!r}: {error}") from error
    return run(pipeline).makespan_ns


def can_be_run(micro_batches: int, stages: int) -> bool:
    """Tell whether a pipeline is small enough to be run pass by pass."""
    return micro_batches * stages <= MOST_PASSES


def check_passes(name: str, micro_batches: int, stages: int) -> None:
    """Refuse to run what would take all memory."""
    if not can_be_run(micro_batches, stages):
        raise InputError(
            f"problem {name!r}: {micro_batches} micro-batches on {stages} stages, the objective 'simulated' expects "
            f"at most {MOST_PASSES} forward passes"
        )


def closed_form_ns(
    micro_batches: int, times_ns: Sequence[int], transfers_ns: Sequence[int], syncs_ns: Sequence[int]
) -> int:
    """Iteration time by the closed form, see :func:`iteration_ns`."""
    return iteration_ns("closed", micro_batches, times_ns, transfers_ns, syncs_ns)


def iteration_of_plan_ns(plan: Plan, objective: Objective) -> int:
    """Iteration time of the stages of a plan by any objective; the simulated one as the plan states it.

    Where depths are chosen no stage keeps more micro-batches in flight than the plan says.
    """
    if objective == "simulated":
        return plan.simulated_ns
    most = bearable_depths([stage.in_flight for stage in plan.stages], plan.micro_batches)
    return iteration_ns(
        objective,
        plan.micro_batches,
        [stage.time_ns for stage in plan.stages],
        [stage.transfer_ns for stage in plan.stages[:-1]],
        [stage.sync_ns for stage in plan.stages],
        most if plan.depths == "chosen" else None,
    )


def closed_form_of_ns(pipeline: Pipeline) -> int:
    """Iteration time of a pipeline by the closed form."""
    return closed_form_ns(pipeline.micro_batches, pipeline.times_ns, pipeline.transfer_ns, pipeline.sync_ns)


def whole_period_ns(times_ns: Sequence[int], transfers_ns: Sequence[int], most_in_flight: Caps | None = None) -> int:
    """Period of the steady state, rounded up to whole nanoseconds: of 1F1B, or of the best depths; see above."""
    if most_in_flight is None:
        return ceil(period_ns(times_ns, transfers_ns))
    return least_period_ns(times_ns, transfers_ns, most_in_flight)


def iteration_of_parts_ns(micro_batches: int, slowest_ns: int, sum_ns: int, sync_ns: int) -> int:
    """Iteration time by its three parts: slowest stage or period, sum of times and transfers, longest sync.

    It increases in every part, so lower bounds of the parts give a lower bound of the iteration time.
    """
    return (micro_batches - 1) * slowest_ns + sum_ns + sync_ns


def is_by_period(problem: CompositionProblem) -> bool:
    """Tell whether the period counts: where no transfer takes time, it is the time of the slowest stage."""
    if problem.objective != "period":
        return False
    inner = any(time for option in problem.options for time in option.inner_transfers_ns)
    return inner or any(time for row in problem.transfer_ns for time in row)


def own_slowest_ns(problem: CompositionProblem, option: Option) -> int:
    """Period of an option alone, rounded up; that of a pipeline it is part of is not below it."""
    caps = option_caps(problem, option) if problem.depths == "chosen" else None
    return whole_period_ns([stage.time_ns for stage in option.stages], option.inner_transfers_ns, caps)


def largest_slowest_ns(options: Iterable[Option]) -> int:
    """Longest period of any option alone, with the depths of 1F1B."""
    alone = (whole_period_ns([stage.time_ns for stage in o.stages], o.inner_transfers_ns) for o in options)
    return max(alone, default=0)


def option_caps(problem: CompositionProblem, option: Option) -> tuple[int | None, ...]:
    """Most micro-batches that the stages of an option may keep in flight, see :func:`.placement.depth_caps`."""
    return depth_caps(option, problem.islands[problem.class_index[option.island]], problem.micro_batches)
