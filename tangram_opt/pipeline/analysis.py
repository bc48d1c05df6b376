"""Everything there is to say about one iteration of a pipeline, at once."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.pipeline.bounds import lower_bound_ns, period_form_ns, upper_bound_ns
from tangram_opt.pipeline.bubble import Bubble, bubble_by_cause
from tangram_opt.pipeline.critical import Step, critical_path
from tangram_opt.pipeline.data import Cycle, Pipeline, Schedule
from tangram_opt.pipeline.memory import peak_in_flight
from tangram_opt.pipeline.period import critical_cycle
from tangram_opt.pipeline.simulation import run


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One iteration of a pipeline.

    Attributes
    ----------
    pipeline : Pipeline
        What ran.
    schedule : Schedule
        When.
    lower_ns, upper_ns : int or None
        Bounds of the iteration time that need no simulation; None where there is none.
    period_form_ns : int
        The period form of the iteration time, rounded up.
    cycle : Cycle
        What sets the steady state.
    path : tuple of Step
        The critical path.
    bubble : Bubble
        Where the time goes in which stages do not compute.
    in_flight : tuple of int
        The most micro-batches in flight of each stage.
    """

    pipeline: Pipeline
    schedule: Schedule
    lower_ns: int
    upper_ns: int | None
    period_form_ns: int
    cycle: Cycle
    path: tuple[Step, ...]
    bubble: Bubble
    in_flight: tuple[int, ...]

    def on_path_ns(self) -> tuple[list[int], list[int]]:
        """Sum up the critical path: the time on each stage (with its synchronisation), and on each boundary."""
        stages, boundaries = [0] * self.pipeline.stages, [0] * (self.pipeline.stages - 1)
        for step in self.path:
            where = boundaries if step.kind in ("activation", "gradient") else stages
            where[step.place] += step.end_ns - step.start_ns
        return stages, boundaries


def analyse(pipeline: Pipeline) -> Analysis:
    """Run a pipeline, and find out what its iteration time comes from."""
    schedule = run(pipeline)
    return Analysis(
        pipeline=pipeline,
        schedule=schedule,
        lower_ns=lower_bound_ns(pipeline),
        upper_ns=upper_bound_ns(pipeline),
        period_form_ns=period_form_ns(pipeline),
        cycle=critical_cycle(pipeline),
        path=critical_path(pipeline),
        bubble=bubble_by_cause(pipeline),
        in_flight=peak_in_flight(schedule, pipeline.backward_ns),
    )
