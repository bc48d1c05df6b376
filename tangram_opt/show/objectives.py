"""What an iteration takes by which objective."""

from __future__ import annotations

from tangram_opt.composition.objective import FORMS, iteration_ns
from tangram_opt.data.composition import Objective
from tangram_opt.data.plan import Plan


def by_objective(objective: Objective) -> str:
    """Say by which objective an iteration takes a time."""
    return "by simulated 1F1B" if objective == "simulated" else f"by the {objective} form"


def times_ns(plan: Plan) -> dict[Objective, int]:
    """Iteration time of the pipeline of a plan by every objective, in nanoseconds."""
    times, syncs = [stage.time_ns for stage in plan.stages], [stage.sync_ns for stage in plan.stages]
    transfers = [stage.transfer_ns for stage in plan.stages[:-1]]
    by: dict[Objective, int] = {form: iteration_ns(form, plan.micro_batches, times, transfers, syncs) for form in FORMS}
    return by | {"simulated": plan.simulated_ns}
