"""What a composition is worth: the one place that says what an iteration takes.

*Closed form* (paper section 5.2): (n-1) max t + sum t + 2 sum c + max sync. It takes transfers for hidden in the steady
state. *Period form*: the slowest stage is replaced by the period P of the steady state, the longest round trip per
micro-batch over all stretches of neighbouring stages (:func:`tangram_opt.pipeline.period_ns`), in whole nanoseconds.
Where transfers take no time the two are equal; the period form is never below the closed one.

*Simulated*: the makespan of standard 1F1B by the exact recurrence of :func:`tangram_opt.pipeline.run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final, Literal

from tangram_opt.data.composition import CompositionProblem, Objective, Option, Stage
from tangram_opt.errors import InputError
from tangram_opt.pipeline import Pipeline, period_ns, run

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

    Returns
    -------
    int
        Nanoseconds. The last term bounds the end of the iteration from above: no stage synchronises later than
        the last backward pass ends; with it 0 the closed form is that of the paper's section 5.2.
    """
    slowest_ns = whole_period_ns(times_ns, transfers_ns) if form == "period" else max(times_ns)
    return iteration_of_parts_ns(micro_batches, slowest_ns, sum(times_ns) + 2 * sum(transfers_ns), max(syncs_ns))


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


def closed_form_of_ns(pipeline: Pipeline) -> int:
    """Iteration time of a pipeline by the closed form."""
    return closed_form_ns(pipeline.micro_batches, pipeline.times_ns, pipeline.transfer_ns, pipeline.sync_ns)


def whole_period_ns(times_ns: Sequence[int], transfers_ns: Sequence[int]) -> int:
    """Period of the steady state of 1F1B, rounded up to whole nanoseconds."""
    return ceil(period_ns(times_ns, transfers_ns))


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


def own_slowest_ns(option: Option) -> int:
    """Period of an option alone, rounded up; that of a pipeline it is part of is not below it."""
    return whole_period_ns([stage.time_ns for stage in option.stages], option.inner_transfers_ns)
