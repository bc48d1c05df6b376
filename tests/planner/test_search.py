"""The search: what it tries, what it says when there is nothing, and what an interruption leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import pytest
from small_problems import (
    FAST,
    LAYER,
    RECIPE,
    SLOW,
    cluster,
    groups_of,
    node,
    planning_problem,
    small_model,
    twin_islands,
)

from tangram_opt.backend import Progress
from tangram_opt.data.cluster import Cluster
from tangram_opt.data.composition import Composition
from tangram_opt.data.island import Island
from tangram_opt.data.model import AtomRun, Model
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration import QueryProgress
from tangram_opt.errors import InputError, NoPlanError, UndecidedError
from tangram_opt.parallelizers import Answer, ModelSlice, SlicePlan, UniformParallelizer
from tangram_opt.planner import check, plan_problem, search
from tangram_opt.planner.search import best_affordable
from tangram_opt.result import Outcome, Result, StopReason


def heavy_model(parameters: int, layers: int = 4) -> Model:
    """Layers with so many parameters, 16 bytes of training state each."""
    model = small_model()
    heavy = AtomRun(replace(LAYER, parameters=parameters), layers)
    return replace(model, runs=(model.runs[0], heavy, model.runs[2]))


def of_three_gb(*names: str) -> Cluster:
    """Islands of two GPUs with 3 GB each, one fast and one slow."""
    gpus = (replace(FAST, memory_bytes=3 * 10**9), replace(SLOW, memory_bytes=3 * 10**9))
    return cluster(*(node(name, gpu) for name, gpu in zip(names, gpus, strict=False)))


def fast_and_slow(links: dict[tuple[int, int], int]) -> Cluster:
    return cluster(node("a", FAST), node("b", SLOW), links=links)


def without_times(plan: Plan) -> Plan:
    return replace(plan, search=replace(plan.search, enumeration_s=0.0, composition_s=0.0))


def test_every_divisor_of_the_batch_is_tried() -> None:
    found = search(planning_problem(global_batch=6), UniformParallelizer())
    assert [trial.workload.micro_batch for trial in found.trials] == [1, 2, 3, 6]
    assert all(trial.workload.global_batch == 6 for trial in found.trials)
    assert found.best.result.objective == min(trial.result.objective or 0 for trial in found.trials)


def test_sizes_for_which_no_slice_has_a_plan_are_no_trials() -> None:
    # A lone island runs the whole model, and its memory holds so many long sequences at a time.
    asked = planning_problem(cluster=cluster(node("only", FAST)), sequence_length=2048, global_batch=32)
    sizes = [trial.workload.micro_batch for trial in search(asked, UniformParallelizer()).trials]
    assert sizes == [1, 2, 4, 8, 16, 32][: len(sizes)]
    assert 0 < len(sizes) < 6


def test_a_given_micro_batch_is_the_only_one_tried() -> None:
    asked = planning_problem(global_batch=6)
    found = search(replace(asked, micro_batch=3), UniformParallelizer())
    (trial,) = found.trials
    assert trial.workload.micro_batch == 3
    among_all = search(asked, UniformParallelizer()).trials
    assert trial.result.objective == next(t.result.objective for t in among_all if t.workload.micro_batch == 3)


def test_the_best_of_all_sizes_is_the_best_of_each_alone() -> None:
    asked = planning_problem(global_batch=4)
    alone = [plan_problem(replace(asked, micro_batch=size)).iteration_ns for size in (1, 2, 4)]
    assert plan_problem(asked).iteration_ns == min(alone)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            planning_problem(cluster=of_three_gb("a", "b"), model=heavy_model(10**9)),
            "the training state of the model needs 59.7 GiB, the GPUs of the cluster have 10.8 GiB together "
            "(less 0.1 GiB reserved on each)",
        ),
        (
            planning_problem(cluster=of_three_gb("a"), model=heavy_model(250 * 10**6)),
            "the training state of the model needs 15.0 GiB, the GPUs of the cluster have 5.4 GiB together "
            "(less 0.1 GiB reserved on each)",
        ),
        (
            planning_problem(cluster=of_three_gb("a", "b"), model=heavy_model(500 * 10**6, layers=1)),
            "the training state of layer alone needs 7.5 GiB, the GPUs of the largest island, Fast x2, have 5.4 GiB "
            "(less 0.1 GiB reserved on each)",
        ),
        (
            planning_problem(recipe=replace(RECIPE, reserved_bytes=2 * 10**9)),
            "the training state of the model needs 0.3 GiB, the GPUs of the cluster have 0.0 GiB together "
            "(less 1.9 GiB reserved on each)",
        ),
        (
            planning_problem(sequence_length=2**20),
            "no option covers atom 1 ('layer'); the smallest slice without a plan, layer on Fast x2, fails on memory: "
            "the leanest plan needs 20488.5 GiB on each Fast of 0.8 GiB with 0 stages after it",
        ),
        (
            planning_problem(
                cluster=fast_and_slow({}), model=heavy_model(3 * 10**6), sequence_length=2**20, pruning=Pruning()
            ),
            "no slice fits any island; the smallest slice without a plan, layer on Slow x2, fails on memory: the "
            "leanest plan needs 20488.5 GiB on each Slow of 0.5 GiB with 0 stages after it (the imbalance window "
            "removed 42 pairs; a wider one may find a plan)",
        ),
        (
            planning_problem(pruning=Pruning(imbalance_window=1.0)),
            "pruning left no slice/island pair to ask for (removed: redundancy 36, imbalance 90, infeasibility 0) "
            "(the imbalance window removed 90 pairs; a wider one may find a plan)",
        ),
    ],
    ids=["cluster", "lone island", "one atom", "reserve", "activations", "nothing fits", "window"],
)
def test_no_plan_comes_with_its_reason(asked: PlanningProblem, sentence: str) -> None:
    with pytest.raises(NoPlanError) as caught:
        search(asked, UniformParallelizer())
    assert str(caught.value) == f"no plan for small on box: {sentence}"


@pytest.mark.parametrize("asked", [planning_problem(), planning_problem(cluster=twin_islands())])
def test_a_problem_with_room_for_everything_has_a_plan(asked: PlanningProblem) -> None:
    assert check(asked, plan_problem(asked)) == ()


@pytest.mark.parametrize(
    ("missing", "direction"), [((0, 1), "'Fast x2' to island 'Slow x2'"), ((1, 0), "'Slow x2' to island 'Fast x2'")]
)
def test_islands_that_cannot_reach_one_another_are_refused(missing: tuple[int, int], direction: str) -> None:
    with pytest.raises(InputError, match=f"network: no link from island {direction}, expected a bandwidth above 0"):
        search(planning_problem(cluster=fast_and_slow({missing: 0})), UniformParallelizer())


def test_like_nodes_that_cannot_reach_one_another_are_two_islands_and_refused() -> None:
    alike = cluster(node("a", FAST), node("b", FAST), links={(0, 1): 0, (1, 0): 0})
    with pytest.raises(InputError, match="network: no link from island 'Fast x2' to island 'Fast x2', expected"):
        search(planning_problem(cluster=alike), UniformParallelizer())


@pytest.fixture
def weaken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Result[Composition]], Result[Composition]]], None]:
    """Replace what the solver answers."""
    module = import_module("tangram_opt.planner.search")
    honest = module.solve

    def install(change: Callable[[Result[Composition]], Result[Composition]]) -> None:
        monkeypatch.setattr(module, "solve", lambda *args, **kwargs: change(honest(*args, **kwargs)))

    return install


def test_a_solver_that_ran_out_of_time_rules_nothing_out(weaken) -> None:
    weaken(
        lambda result: replace(
            result, outcome=Outcome.UNKNOWN, stop_reason=StopReason.TIME_LIMIT, objective=None, bound=1, solution=None
        )
    )
    sentence = r"dp found none and does not rule one out \(it stopped: time limit\)$"
    with pytest.raises(UndecidedError, match=sentence) as caught:
        search(planning_problem(), UniformParallelizer())
    assert caught.value.stop_reason is StopReason.TIME_LIMIT


def test_a_solver_that_was_interrupted_ends_the_search_with_what_is_known(weaken) -> None:
    weaken(
        lambda result: replace(
            result, outcome=Outcome.FEASIBLE, stop_reason=StopReason.INTERRUPTED, bound=(result.objective or 0) - 1
        )
    )
    found = search(planning_problem(), UniformParallelizer())
    assert [trial.workload.micro_batch for trial in found.trials] == [1]
    assert (found.complete, found.bound_ns) == (False, None)


def interrupt_after(answers: int) -> Callable[[QueryProgress | Progress], None]:
    def on_progress(progress: QueryProgress | Progress) -> None:
        if isinstance(progress, QueryProgress) and progress.done == answers:
            raise KeyboardInterrupt

    return on_progress


def test_an_interruption_gives_the_best_plan_of_what_was_known() -> None:
    asked = planning_problem()
    whole = search(asked, UniformParallelizer())
    per_size = whole.queries // (len(whole.trials) + len(whole.ruled_out))
    assert per_size * 3 == whole.queries
    for answers, trials in ((per_size, 1), (per_size + 1, 2), (2 * per_size + 7, 3)):
        plan = plan_problem(asked, on_progress=interrupt_after(answers))
        assert (plan.outcome, plan.bound_ns) == ("feasible", None)
        assert plan.search.queries == answers
        report = plan.search
        sizes = sorted((*report.micro_batches_tried, *report.micro_batches_ruled_out))
        assert sizes == [1, 2, 4][:trials]
        assert plan.iteration_ns >= (whole.best.result.objective or 0)
        assert check(asked, plan) == ()


def test_an_interruption_before_any_plan_is_passed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        plan_problem(planning_problem(), on_progress=interrupt_after(1))


def test_progress_counts_every_answer_up_to_the_last() -> None:
    told: list[QueryProgress | Progress] = []
    found = search(planning_problem(), UniformParallelizer(), on_progress=told.append)
    counts = [progress.done for progress in told if isinstance(progress, QueryProgress)]
    assert counts == list(range(1, found.queries + 1))
    assert {progress.total for progress in told if isinstance(progress, QueryProgress)} == {found.queries}
    assert any(isinstance(progress, Progress) for progress in told)


def test_two_workers_find_what_one_finds() -> None:
    asked = planning_problem(model=small_model(2))
    assert without_times(plan_problem(asked, workers=2)) == without_times(plan_problem(asked))


def test_the_same_question_has_the_same_answer() -> None:
    asked = planning_problem(cluster=twin_islands())
    first, second = search(asked, UniformParallelizer()), search(asked, UniformParallelizer())
    assert first.composition_problem == second.composition_problem
    assert first.best.result.solution == second.best.result.solution
    assert without_times(plan_problem(asked)) == without_times(plan_problem(asked))


def fastest(plans: tuple[SlicePlan, ...], stages_after: int) -> tuple[SlicePlan, ...]:
    """The plan with the fastest slowest stage among those that tolerate so many stages after them, if any."""

    def speed(plan: SlicePlan) -> tuple[object, ...]:
        times = [stage.time_ns for stage in plan.stages]
        return max(times), sum(times), plan.stages, plan.boundary_nodes

    fitting = [p for p in plans if p.max_stages_after is None or p.max_stages_after >= stages_after]
    return (min(fitting, key=lambda plan: repr(speed(plan))),) if fitting else ()


class OneAtATime:
    """A third party's parallelizer: not derived from ours, and with one plan for every question."""

    name = "one-at-a-time"

    def __init__(self) -> None:
        self.uniform = UniformParallelizer()
        self.slice_model = self.uniform.slice_model
        self.concatenate = self.uniform.concatenate
        self.profile = self.uniform.profile

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        known = self.uniform.parallelize(model_slice, island, workload, 0)
        plans = fastest(known.plans, stages_after)
        return Answer(plans, complete=False, reason="" if plans else "memory: it runs out")


class Restricted(UniformParallelizer):
    """All the plans that the third party would give for any number of stages after them, at once."""

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        known = super().parallelize(model_slice, island, workload, 0)
        chosen = {repr(plan): plan for n in range(workload.micro_batches) for plan in fastest(known.plans, n)}
        return Answer(tuple(chosen.values()), complete=True, reason=known.reason)


def test_a_third_partys_parallelizer_is_asked_until_it_has_no_more_and_the_best_of_its_plans_is_found() -> None:
    # Long sequences: memory makes the plans differ in the stages that they tolerate after them.
    asked = planning_problem(model=small_model(6), sequence_length=2048, global_batch=8)
    plan = plan_problem(asked, parallelizer=OneAtATime())
    assert check(asked, plan) == ()
    assert plan.search.parallelizer == "one-at-a-time"
    found = search(asked, Restricted())
    assert (plan.outcome, plan.iteration_ns) == ("optimal", found.best.result.objective)
    assert plan.search.queries > found.queries
    assert plan.iteration_ns >= plan_problem(asked).iteration_ns


def unlike_islands(count: int) -> Cluster:
    """Nodes of 1, 2, ... GPUs, no two of which can share an island."""
    return cluster(*(node(f"n{gpus}", FAST, gpus) for gpus in range(1, count + 1)))


@pytest.mark.parametrize(
    ("asked", "solver", "objective"),
    [
        (planning_problem(), "auto", "simulated"),
        (planning_problem(), "dp", "simulated"),
        (planning_problem(), "cpsat", "period"),
        (planning_problem(cluster=unlike_islands(6)), "auto", "simulated"),
        (planning_problem(cluster=unlike_islands(7)), "auto", "period"),
        (planning_problem(global_batch=2**20), "auto", "period"),
        (planning_problem(global_batch=2**20, micro_batch=2**10), "auto", "simulated"),
    ],
)
def test_the_simulated_time_is_minimised_where_it_is_affordable(
    asked: PlanningProblem, solver: str, objective: str
) -> None:
    assert best_affordable(asked, groups_of(asked), solver) == objective


def test_a_stated_objective_is_kept() -> None:
    for objective in ("closed", "period", "simulated"):
        assert plan_problem(planning_problem(objective=objective)).objective == objective
    assert plan_problem(planning_problem()).objective == "simulated"


def test_the_simulated_plan_is_at_least_as_fast_in_simulation_as_that_of_either_form() -> None:
    asked = planning_problem(model=small_model(6), global_batch=16)
    plan = plan_problem(asked)
    assert (plan.outcome, plan.iteration_ns) == ("optimal", plan.simulated_ns)
    assert check(asked, plan) == ()
    for form in ("closed", "period"):
        assert plan.simulated_ns <= plan_problem(replace(asked, objective=form)).simulated_ns
