"""The 1F1B pipeline: its event graph, exact iteration time, period, bounds, and where its time goes."""

from tangram_opt.pipeline.analysis import Analysis, analyse
from tangram_opt.pipeline.bounds import lower_bound_ns, period_form_ns, upper_bound_ns
from tangram_opt.pipeline.bubble import Bubble, bubble_by_cause
from tangram_opt.pipeline.critical import Step, critical_path
from tangram_opt.pipeline.data import Cycle, Link, Pipeline, Schedule, depths_of, of_stages, standard_depths
from tangram_opt.pipeline.depths import bearable_depths, least_depths, least_period_ns
from tangram_opt.pipeline.memory import in_flight_over_time, peak_in_flight
from tangram_opt.pipeline.period import critical_cycle, period_ns
from tangram_opt.pipeline.simulation import makespans, run, simulate, simulate_stages

__all__ = [
    "Analysis",
    "Bubble",
    "Cycle",
    "Link",
    "Pipeline",
    "Schedule",
    "Step",
    "analyse",
    "bearable_depths",
    "bubble_by_cause",
    "critical_cycle",
    "critical_path",
    "depths_of",
    "in_flight_over_time",
    "least_depths",
    "least_period_ns",
    "lower_bound_ns",
    "makespans",
    "of_stages",
    "peak_in_flight",
    "period_form_ns",
    "period_ns",
    "run",
    "simulate",
    "simulate_stages",
    "standard_depths",
    "upper_bound_ns",
]
