"""A sound plan passes; every planted mistake is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import FAST, SLOW, cluster, node, planning_problem, small_model, twin_islands

from tangram_opt.composition.objective import iteration_ns
from tangram_opt.data.plan import GpuRange, Plan, UnusedIsland
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.pipeline import simulate
from tangram_opt.planner import check, plan_problem

# Both islands are worth using: the pipeline is long and fed by many micro-batches.
PROBLEM = planning_problem(model=small_model(6), global_batch=32, micro_batch=2, objective="period")


@cache
def plan_of(problem: PlanningProblem = PROBLEM) -> Plan:
    return plan_problem(problem)


def with_stage(number: int, **changes: object) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        stages = list(plan.stages)
        stages[number] = replace(stages[number], **changes)  # type: ignore[arg-type]
        return replace(plan, stages=tuple(stages))

    return change


def with_plan(**changes: object) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, **changes)  # type: ignore[arg-type]


def more(number: int, field: str, by: int) -> Callable[[Plan], Plan]:
    """Add to a field of a stage."""
    return lambda plan: with_stage(number, **{field: getattr(plan.stages[number], field) + by})(plan)


def moved(plan: Plan) -> Plan:
    """Put an atom of the last stage into the stage before it without telling anything else."""
    return more(-2, "atoms", 1)(plan)


def without_last_stage(plan: Plan) -> Plan:
    return replace(plan, stages=plan.stages[:-1])


def test_the_plan_to_spoil_has_two_islands_and_leaves_nothing_out() -> None:
    plan = plan_of()
    assert {stage.gpu for stage in plan.stages} == {"Fast", "Slow"}
    assert (plan.unused, plan.idle_gpus, plan.outcome) == ((), 0, "optimal")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"cluster": twin_islands(), "global_batch": 8},
        {"cluster": cluster(node("only", FAST, 4)), "model": small_model(1)},
        # Two GPU models that are alike within the tolerances make one island.
        {"cluster": cluster(node("a", FAST), node("b", replace(FAST, name="Faster", peak_flops_per_s=33 * 10**12)))},
    ],
    ids=["two islands", "twins", "one island", "mixed island"],
)
def test_a_sound_plan_has_no_violation(changes: dict[str, object]) -> None:
    problem = replace(PROBLEM, **changes)  # type: ignore[arg-type]
    assert check(problem, plan_of(problem)) == ()


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (with_plan(name="other"), "name: 'other', expected 'small'"),
        (with_plan(cluster="other"), "cluster: 'other', expected 'box'"),
        (with_plan(model="other"), "model: 'other', expected 'small'"),
        (with_plan(layers=7), "layers: 7, expected 6"),
        (with_plan(parameters=1), "parameters: 1, expected"),
        (with_plan(active_parameters=1), "active_parameters: 1, expected"),
        (with_plan(flops_per_token=1), "flops_per_token: 1, expected"),
        (with_plan(cluster_gpus=5), "cluster_gpus: 5, expected 4"),
        (with_plan(global_batch=64), "global_batch: 64, expected 32"),
        (with_plan(sequence_length=1), "sequence_length: 1, expected 128"),
        (with_plan(recipe="other"), "recipe: 'other', expected 'mixed-adam'"),
        (with_plan(micro_batch=3), "micro_batch: 3, expected a divisor of the global batch 32"),
        (with_plan(micro_batch=4), "micro_batch: 4, expected 2"),
        (more(1, "first_atom", 1), "stages[1].first_atom"),
        (moved, "where the stage before it ends"),
        (with_stage(-1, atoms=99), "the model has 8"),
        (with_stage(0, embedding=False), "stages[0]: embedding False"),
        (with_stage(0, head=True), "head True, its atoms say otherwise"),
        (more(0, "layers", 1), "stages[0].layers"),
        (with_stage(0, first_layer=1), "stages[0].first_layer: 1, expected 0"),
        (with_stage(0, first_layer=None), "stages[0].first_layer: None, expected 0"),
        (without_last_stage, "expected the 8 atoms of the model"),
        (more(0, "layers", -1), "they hold 5 layers, expected the 6 layers of the model"),
        (with_stage(0, gpus=()), "stages[0].gpus: none"),
        (with_stage(0, gpus=(GpuRange("nowhere", 0, 2),)), "node 'nowhere' is not in the cluster"),
        (with_stage(0, gpu="Slower"), "stages[0].gpu: 'Slower', but"),
        (with_stage(0, gpu="Fas"), "stages[0].gpu: 'Fas', but"),
        (with_stage(0, gpus=(GpuRange("fast", 1, 2),)), "GPU 2 of 'fast', which has 2 GPUs"),
        (with_stage(-1, gpus=(GpuRange("fast", 0, 2), GpuRange("slow", 0, 2))), "already"),
        (with_stage(0, gpus=(GpuRange("fast", 0, 1), GpuRange("fast", 0, 1))), "runs stage 0 already"),
        (with_plan(peak_flops_per_s=10**15), "peak_flops_per_s: 1000000000000000, the GPUs"),
        (with_plan(peak_flops_per_s=1), "peak_flops_per_s: 1, the GPUs"),
        (with_plan(idle_gpus=1), "idle_gpus: 1, with 4 GPUs on stages and 0 in unused islands"),
        (with_plan(unused=(UnusedIsland("Slow x2", 1, 2, None, ""),)), "and 2 in unused islands"),
        (more(0, "in_flight", 1), "stages[0].in_flight"),
        (with_stage(0, memory_limit_bytes=10**9), "stages[0].memory_limit_bytes: 1000000000, its GPUs have"),
        (with_stage(0, static_bytes=10**9), "stages[0]: it needs"),
        (with_stage(0, in_flight_bytes=10**9), "stages[0]: it needs"),
        (with_stage(0, memory_limit_bytes=1), "the limit is 1"),
        (with_stage(0, static_bytes=0), "stages[0].static_bytes: 0 on each of "),
        (with_plan(iteration_ns=1), "iteration_ns: 1, expected"),
        (more(-1, "transfer_ns", 1), "expected 0 behind the last stage"),
        (with_plan(simulated_ns=1), "simulated_ns: 1, expected"),
        (with_stage(0, forward_ns=2**63), "no such pipeline can run"),
        (with_plan(micro_batch=64), "no such pipeline can run"),
        (lambda plan: replace(plan, bound_ns=plan.iteration_ns + 1), "expected at most the iteration time"),
        (lambda plan: replace(plan, bound_ns=plan.iteration_ns - 1), "outcome: optimal with bound"),
        (with_plan(bound_ns=None), "outcome: optimal with bound None"),
        (with_plan(outcome="feasible"), "outcome: feasible with bound"),
    ],
)
def test_a_planted_mistake_is_named(mistake: Callable[[Plan], Plan], sentence: str) -> None:
    violations = check(PROBLEM, mistake(plan_of()))
    assert any(sentence in violation for violation in violations), violations


def test_a_plan_that_is_faster_than_its_gpus_is_named_even_if_its_times_add_up() -> None:
    plan = plan_of()
    # A share of the peak is lost to memory and communication, so a little faster is still possible; ten times is not.
    stages = tuple(replace(s, forward_ns=s.forward_ns // 10, backward_ns=s.backward_ns // 10) for s in plan.stages)
    transfers, syncs = [s.transfer_ns for s in stages[:-1]], [s.sync_ns for s in stages]
    iteration = iteration_ns("period", plan.micro_batches, [s.time_ns for s in stages], transfers, syncs)
    passes = [s.forward_ns for s in stages], [s.backward_ns for s in stages]
    simulated = simulate(*passes, transfers, syncs, plan.micro_batches).makespan_ns
    fast = replace(plan, stages=stages, iteration_ns=iteration, bound_ns=iteration, simulated_ns=simulated)
    violations = check(PROBLEM, fast)
    assert violations
    assert all("at their peak" in violation for violation in violations), violations


def test_the_time_of_a_plan_by_the_simulated_objective_is_its_simulated_time() -> None:
    problem = replace(PROBLEM, objective="simulated")
    plan = plan_of(problem)
    assert (plan.objective, plan.iteration_ns) == ("simulated", plan.simulated_ns)
    assert check(problem, plan) == ()
    longer = replace(plan, iteration_ns=plan.iteration_ns + 1)
    assert any("iteration_ns" in violation for violation in check(problem, longer))


def test_a_range_of_absurdly_many_gpus_is_refused_at_once() -> None:
    violations = check(PROBLEM, with_stage(0, gpus=(GpuRange("fast", 0, 10**15),))(plan_of()))
    assert any("which has 2 GPUs" in violation for violation in violations)


def whole_numbers(thing: object) -> list[str]:
    return [field.name for field in fields(thing) if type(getattr(thing, field.name)) is int]  # type: ignore[arg-type]


@settings(max_examples=200)
@given(data=st.data())
def test_a_changed_number_is_named_unless_the_plan_stays_true(data: st.DataObject) -> None:
    plan = plan_of()
    number = data.draw(st.integers(0, len(plan.stages) - 1), "stage")
    stage = plan.stages[number]
    part = stage.gpus[0]
    target = data.draw(st.sampled_from([plan, stage, part]), "what")
    field = data.draw(st.sampled_from(whole_numbers(target)), "field")
    old = getattr(target, field)
    least = 1 if field in ("count", "atoms", "micro_batch", "in_flight") else 0
    near, far = st.integers(max(least, old - 3), old + 3), st.integers(least, 2 * old + 10)
    new = data.draw((near | far).filter(lambda value: value != old), "new")
    if target is plan:
        spoiled = replace(plan, **{field: new})
    elif target is stage:
        spoiled = with_stage(number, **{field: new})(plan)
    else:
        spoiled = with_stage(number, gpus=(replace(part, **{field: new}), *stage.gpus[1:]))(plan)
    assert bool(check(PROBLEM, spoiled)) != (field in CLAIMS and stays_true(spoiled))


CLAIMS = ("sync_ns", "static_bytes", "in_flight_bytes", "memory_limit_bytes")
"""Figures of the parallelizer that follow from nothing else in the plan."""


def stays_true(plan: Plan) -> bool:
    """Whether the times of a plan still follow from its stages, and its memory still fits its GPUs."""
    n, stages = plan.micro_batches, plan.stages
    transfers, syncs = [stage.transfer_ns for stage in stages[:-1]], [stage.sync_ns for stage in stages]
    forward, backward = [stage.forward_ns for stage in stages], [stage.backward_ns for stage in stages]
    limits = {"Fast": 9 * 10**8, "Slow": 5 * 10**8}
    atoms, ends = list(PROBLEM.model.atoms()), [stage.first_atom + stage.atoms for stage in stages]
    parameters = [sum(a.parameters for a in atoms[s.first_atom : e]) for s, e in zip(stages, ends, strict=True)]
    return (
        plan.iteration_ns == iteration_ns("period", n, [stage.time_ns for stage in stages], transfers, syncs)
        and plan.simulated_ns == simulate(forward, backward, transfers, syncs, n).makespan_ns
        and all(stage.memory_bytes <= stage.memory_limit_bytes <= limits[stage.gpu] for stage in stages)
        and all(16 * p <= s.static_bytes * s.gpu_count for s, p in zip(stages, parameters, strict=True))
    )


def test_gpus_of_an_island_of_two_models_are_known_by_both_names() -> None:
    mixed = replace(PROBLEM, cluster=cluster(node("a", FAST), node("b", replace(FAST, name="Fast-2"))))
    plan = plan_of(mixed)
    assert plan.stages[0].gpu == "Fast/Fast-2"
    assert check(mixed, plan) == ()
    foreign = replace(mixed, cluster=cluster(node("a", FAST), node("b", replace(SLOW, name="ast"))))
    assert any("but 'b' has 'ast'" in violation for violation in check(foreign, plan))
