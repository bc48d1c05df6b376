"""What a plan says of its stages, of what it leaves out, and of how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module

import pytest
from small_problems import FAST, SLOW, cluster, node, planning_problem, small_model, twin_islands

from tangram_opt.composition import check, evaluate
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.data.island import Island
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers import Answer, ModelSlice, UniformParallelizer
from tangram_opt.planner import Search, plan_problem, search
from tangram_opt.planner.report import plan_report
from tangram_opt.planner.unused import cost_of_using
from tangram_opt.result import Outcome, Result, StopReason

# One micro-batch and slow links: a single fast island is best.
ONE_SUFFICES = planning_problem(cluster=twin_islands(), model=small_model(1), global_batch=1)
PIPELINE = planning_problem(model=small_model(6), global_batch=32)


@cache
def search_of(problem: PlanningProblem) -> Search:
    return search(problem, UniformParallelizer())


@cache
def plan_of(problem: PlanningProblem) -> Plan:
    return plan_problem(problem)


def compositions(problem: CompositionProblem) -> Iterator[Composition]:
    """Every sequence of options that tiles the model."""

    def extend(chosen: tuple[int, ...], end: int) -> Iterator[tuple[int, ...]]:
        if end == problem.length:
            yield chosen
        for index, option in enumerate(problem.options):
            held = tuple(run.signature for run in option.atoms for _ in range(run.count))
            if problem.signatures[end : end + option.length] == held:
                yield from extend((*chosen, index), end + option.length)

    return (placed(problem, chosen) for chosen in extend((), 0))


def best_with(problem: CompositionProblem, island: str, least: int) -> int:
    """Shortest iteration that uses at least so many islands of a class, by trying every composition."""
    return min(
        evaluate(problem, composition).objective_ns
        for composition in compositions(problem)
        if not check(problem, composition)
        and sum(problem.options[pick.option].island == island for pick in composition.picks) >= least
    )


def test_layers_add_up_and_no_more_micro_batches_are_in_flight_than_stages_follow() -> None:
    plan = plan_of(PIPELINE)
    assert len(plan.stages) > 1
    assert sum(stage.layers for stage in plan.stages) == plan.layers == 6
    assert [stage.first_atom for stage in plan.stages] == [
        sum(before.atoms for before in plan.stages[:number]) for number in range(len(plan.stages))
    ]
    assert [stage.in_flight for stage in plan.stages] == list(range(len(plan.stages), 0, -1))
    assert [stage.embedding for stage in plan.stages] == [True] + [False] * (len(plan.stages) - 1)
    assert [stage.head for stage in plan.stages] == [False] * (len(plan.stages) - 1) + [True]


def test_few_micro_batches_limit_those_in_flight() -> None:
    plan = plan_of(planning_problem(cluster=twin_islands(), global_batch=4, micro_batch=2))
    assert [stage.in_flight for stage in plan.stages] == [
        min(2, len(plan.stages) - number) for number in range(len(plan.stages))
    ]


def test_a_stage_without_layers_has_no_first_layer() -> None:
    found = search_of(ONE_SUFFICES)
    problem = found.composition_problem
    alone = next(
        composition
        for composition in compositions(problem)
        if not check(problem, composition) and problem.options[composition.picks[0].option].length == 1
    )
    evaluation = evaluate(problem, alone)
    best = replace(
        found.best,
        result=replace(
            found.best.result, solution=alone, objective=evaluation.objective_ns, bound=evaluation.objective_ns
        ),
    )
    plan = plan_report(replace(found, best=best, trials=(best,)), lambda island: nothing(Outcome.UNKNOWN))
    assert (plan.stages[0].embedding, plan.stages[0].layers, plan.stages[0].first_layer) == (True, 0, None)


def test_every_class_with_islands_left_out_is_listed_with_what_one_more_would_cost() -> None:
    plan, problem = plan_of(ONE_SUFFICES), search_of(ONE_SUFFICES).composition_problem
    assert {stage.island for stage in plan.stages} == {"Fast x2 #1"}
    partly, wholly = plan.unused
    assert (partly.island, partly.count, partly.gpus) == ("Fast x2", 1, 2)
    assert (wholly.island, wholly.count, wholly.gpus) == ("Slow x2", 1, 2)
    assert partly.extra_ns == best_with(problem, "Fast x2", 2) - plan.iteration_ns > 0
    assert wholly.extra_ns == best_with(problem, "Slow x2", 1) - plan.iteration_ns > 0
    assert plan.iteration_ns == best_with(problem, "Fast x2", 0)
    for island in plan.unused:
        share = (island.extra_ns or 0) / plan.iteration_ns
        assert island.reason.startswith("using it makes the iteration")
        assert f"({share:.1%})" in island.reason


def test_an_island_that_no_plan_can_use_says_so() -> None:
    # The model has a single atom: one island runs it, fast or slow, and nothing is left for a second one.
    model = small_model(1)
    partly, wholly = plan_of(replace(ONE_SUFFICES, model=replace(model, runs=model.runs[1:2]))).unused
    assert (partly.island, partly.extra_ns) == ("Fast x2", None)
    assert partly.reason.startswith("no plan with this micro-batch can use it: ")
    assert (wholly.island, bool(wholly.extra_ns)) == ("Slow x2", True)


def test_islands_in_use_are_told_apart_only_while_they_are_few() -> None:
    found = search_of(ONE_SUFFICES)
    (partly, _) = plan_report(found, lambda name: None).unused
    assert (partly.extra_ns, partly.reason) == (None, "not worked out for one more of a class of which 1 are in use")


def test_one_more_than_two_islands_in_use_is_three() -> None:
    # Three equal islands, of which a composition uses two: the cost of the third, by trying everything.
    near, far = 2 * 10**9, 10**9
    trio = cluster(
        *(node(f"fast-{i}", FAST) for i in range(3)),
        node("slow", SLOW),
        link=near,
        links={(a, b): far for a in range(3) for b in range(3)},
    )
    asked = replace(ONE_SUFFICES, cluster=trio)
    found = search_of(asked)
    problem = found.composition_problem
    two = min(
        (
            c
            for c in compositions(problem)
            if not check(problem, c)
            and len(c.picks) == 2
            and all(problem.options[pick.option].island == "Fast x2" for pick in c.picks)
        ),
        key=lambda c: evaluate(problem, c).objective_ns,
    )
    using_two = replace(found, best=replace(found.best, result=replace(found.best.result, solution=two)))
    result = cost_of_using(using_two, "Fast x2", solver="auto", time_limit_s=None)
    assert result is not None
    assert result.objective == best_with(problem, "Fast x2", 3)


def test_telling_islands_apart_makes_no_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = search_of(ONE_SUFFICES)
    solved: list[CompositionProblem] = []
    monkeypatch.setattr(
        import_module("tangram_opt.planner.unused"), "solve", lambda forced, *_, **__: solved.append(forced)
    )
    cost_of_using(found, "Fast x2", solver="auto", time_limit_s=None)
    (forced,) = solved
    assert sum(each.count for each in forced.islands) == sum(each.count for each in found.composition_problem.islands)
    assert set(forced.required) == {each.name for each in forced.islands if each.name.startswith("Fast")}


def nothing(outcome: Outcome, *log: str) -> Result[Composition]:
    return Result(outcome, StopReason.TIME_LIMIT, None, None, 0.0, None, "x", "1", "y", log)


def found_with(problem: CompositionProblem, objective: int, bound: int) -> Result[Composition]:
    outcome = Outcome.OPTIMAL if objective == bound else Outcome.FEASIBLE
    return Result(outcome, StopReason.TIME_LIMIT, objective, bound, 0.0, Composition(problem.name, ()), "x", "1", "y")


@pytest.mark.parametrize(
    ("extra_ns", "gap_ns", "reason"),
    [
        (1_500_000, 0, "using it makes the iteration 1.5 ms longer"),
        (1_500_000, 1, "using it makes the iteration at most 1.5 ms longer"),
        (0, 0, "using it makes no difference"),
    ],
)
def test_the_cost_of_using_an_island_is_put_in_words(extra_ns: int, gap_ns: int, reason: str) -> None:
    found = search_of(ONE_SUFFICES)
    objective = (found.best.result.objective or 0) + extra_ns
    result = found_with(found.composition_problem, objective, objective - gap_ns)
    for island in plan_report(found, lambda name: result).unused:
        assert island.extra_ns == extra_ns
        assert island.reason.startswith(reason)


def test_an_island_for_which_time_ran_out_is_not_called_useless() -> None:
    found = search_of(ONE_SUFFICES)
    for island in plan_report(found, lambda name: nothing(Outcome.UNKNOWN)).unused:
        assert (island.extra_ns, island.reason) == (None, "no plan that uses it was found in time")
    for island in plan_report(found, lambda name: nothing(Outcome.INFEASIBLE, "because")).unused:
        assert (island.extra_ns, island.reason) == (None, "no plan with this micro-batch can use it: because")


class OneGpu(UniformParallelizer):
    """Uses the first GPU of an island and leaves the others idle."""

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        lone = replace(island, nodes=1, gpus_per_node=1, link_bytes_per_s=((0,),), network_bytes_per_s=0)
        return super().parallelize(model_slice, lone, workload, stages_after)


def test_gpus_of_used_islands_that_run_no_stage_are_idle() -> None:
    plan = plan_problem(ONE_SUFFICES, parallelizer=OneGpu())
    on_stages = sum(stage.gpu_count for stage in plan.stages)
    assert on_stages == len(plan.stages) == plan.idle_gpus
    assert on_stages + plan.idle_gpus + sum(island.gpus for island in plan.unused) == plan.cluster_gpus == 6
    assert plan.peak_flops_per_s == on_stages * FAST.peak_flops_per_s


def test_the_peak_is_that_of_the_gpus_and_not_of_the_weakest_in_their_island() -> None:
    faster = replace(FAST, name="Faster", peak_flops_per_s=FAST.peak_flops_per_s + 10**12)
    plan = plan_of(replace(PIPELINE, cluster=cluster(node("a", FAST), node("b", faster))))
    assert {stage.gpu for stage in plan.stages} == {"Fast/Faster"}
    assert plan.peak_flops_per_s == 4 * FAST.peak_flops_per_s + 2 * 10**12


Weaken = Callable[[Result[Composition]], Result[Composition]]


def stopped_early(result: Result[Composition]) -> Result[Composition]:
    """The result of a solver that ran out of time one nanosecond short of its proof."""
    if result.objective is None:
        return result
    return replace(result, outcome=Outcome.FEASIBLE, stop_reason=StopReason.TIME_LIMIT, bound=result.objective - 1)


def heuristic(result: Result[Composition]) -> Result[Composition]:
    """The result of a solver that proves nothing."""
    if result.objective is None:
        return result
    return replace(result, outcome=Outcome.FEASIBLE, stop_reason=StopReason.HEURISTIC, bound=None)


def weakened(found: Search, weaken: Weaken, *, only_the_best: bool) -> Search:
    trials = tuple(
        replace(trial, result=weaken(trial.result)) if trial is found.best or not only_the_best else trial
        for trial in found.trials
    )
    return replace(found, trials=trials, best=trials[found.trials.index(found.best)])


def plan_with(weaken: Weaken, *, only_the_best: bool) -> Plan:
    found = weakened(search_of(PIPELINE), weaken, only_the_best=only_the_best)
    return plan_report(found, lambda island: nothing(Outcome.UNKNOWN))


def test_a_plan_is_proven_where_bound_and_iteration_time_are_equal() -> None:
    plan = plan_of(PIPELINE)
    assert (plan.outcome, plan.bound_ns) == ("optimal", plan.iteration_ns)


def test_a_time_limit_gives_a_feasible_plan_with_a_bound() -> None:
    for only_the_best in (True, False):
        plan = plan_with(stopped_early, only_the_best=only_the_best)
        assert (plan.outcome, plan.bound_ns) == ("feasible", plan.iteration_ns - 1)


def test_a_bound_that_no_micro_batch_size_can_undercut_needs_all_of_them() -> None:
    # Not the best size is open but another one: its bound may be below the best plan.
    found = search_of(PIPELINE)
    other = next(trial for trial in found.trials if trial is not found.best and trial.result.objective is not None)
    for bound in (1, None):
        result = replace(other.result, outcome=Outcome.FEASIBLE, stop_reason=StopReason.TIME_LIMIT, bound=bound)
        trials = tuple(replace(trial, result=result) if trial is other else trial for trial in found.trials)
        plan = plan_report(replace(found, trials=trials), lambda island: nothing(Outcome.UNKNOWN))
        assert (plan.outcome, plan.bound_ns) == ("feasible", bound)


def test_a_heuristic_gives_a_feasible_plan_without_a_bound() -> None:
    plan = plan_with(heuristic, only_the_best=True)
    assert (plan.outcome, plan.bound_ns) == ("feasible", None)


def test_an_interrupted_search_proves_nothing() -> None:
    plan = plan_report(replace(search_of(PIPELINE), complete=False), lambda island: nothing(Outcome.UNKNOWN))
    assert (plan.outcome, plan.bound_ns) == ("feasible", None)


def test_the_report_says_how_the_plan_was_found() -> None:
    plan, found = plan_of(PIPELINE), search_of(PIPELINE)
    assert (plan.search.parallelizer, plan.search.solver) == ("uniform", "dp")
    assert plan.search.micro_batches_tried == tuple(trial.workload.micro_batch for trial in found.trials)
    assert plan.search.options == sum(trial.options for trial in found.trials)
    assert plan.search.pairs == sum(plan.search.pruned.values()) + found.queries
    assert plan.micro_batch == found.best.workload.micro_batch
    assert plan.iteration_ns == min(t.result.objective for t in found.trials if t.result.objective is not None)
