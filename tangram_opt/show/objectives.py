"""What an iteration takes by which objective."""

from __future__ import annotations

from tangram_opt.composition.objective import OBJECTIVES, iteration_of_plan_ns
from tangram_opt.data.composition import Objective
from tangram_opt.data.plan import Plan


def by_objective(objective: Objective) -> str:
    """Say by which objective an iteration takes a time."""
    return "by simulated 1F1B" if objective == "simulated" else f"by the {objective} form"


def times_ns(plan: Plan) -> dict[Objective, int]:
    """Iteration time of the pipeline of a plan by every objective, in nanoseconds."""
    return {objective: iteration_of_plan_ns(plan, objective) for objective in OBJECTIVES}
