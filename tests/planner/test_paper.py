"""What the paper reports, on this project's own cost model: choices and trends, not seconds.

Where the paper's choice is not reproduced the test states what is found instead; the README says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

import tangram_opt
from tangram_opt.data.composition import CompositionProblem, Option
from tangram_opt.data.island import Island
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import Workload
from tangram_opt.documents import load_planning_problem
from tangram_opt.enumeration import Query, composition_problem, enumerate_pairs, run_queries
from tangram_opt.islands import links
from tangram_opt.parallelizers import Answer, ModelSlice, UniformParallelizer
from tangram_opt.planner import Search, check, plan_problem, search
from tangram_opt.planner.report import plan_report
from tangram_opt.planner.unused import cost_of_using

INSTANCES = Path(__file__).parents[2] / "instances" / "planning"


@cache
def answer(model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
    return UniformParallelizer().parallelize(model_slice, island, workload, stages_after)


class Remembering(UniformParallelizer):
    """``uniform``, but it thinks about every question once: the searches of this module ask most of them again."""

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        return answer(model_slice, island, workload, stages_after)


@cache
def problem_of(name: str) -> PlanningProblem:
    return load_planning_problem(INSTANCES / f"{name}.json")


@cache
def search_of(name: str) -> Search:
    return search(problem_of(name), Remembering())


@cache
def plan_of(name: str) -> Plan:
    found = search_of(name)
    return plan_report(found, partial(cost_of_using, found, solver="auto", time_limit_s=None))


@cache
def composition_problem_of(name: str, workload: Workload) -> CompositionProblem:
    found, asked = search_of(name), problem_of(name)
    report = enumerate_pairs(Remembering(), asked.model, found.groups, workload, asked.pruning)
    answers = list(run_queries(Remembering(), [Query(pair, workload) for pair in report.pairs]))
    between = links(asked.cluster, found.groups)
    return composition_problem(name, asked.model, found.groups, between, workload, answers)


def best_with(name: str, keep: Callable[[Option], bool]) -> int | None:
    """Best objective over all micro-batch sizes with the options that `keep` accepts; None where there is no plan."""
    best = None
    with_all = [(trial.result.objective, trial.workload) for trial in search_of(name).trials if trial.result.solution]
    for objective, workload in sorted(with_all, key=lambda each: each[0]):
        # Fewer options are never faster: this size and those behind it cannot beat what is found.
        if best is not None and objective >= best:
            break
        problem = composition_problem_of(name, workload)
        kept = tangram_opt.solve(replace(problem, options=tuple(filter(keep, problem.options)))).objective
        if kept is not None and (best is None or kept < best):
            best = kept
    return best


def gpus_used(plan: Plan) -> set[str]:
    return {stage.gpu for stage in plan.stages}


@pytest.mark.parametrize("name", ["c1-16t4-gpt3-6.7b", "c1-16v100-gpt3-6.7b", "c3-4a100-gpt3-13b"])
def test_one_island_gives_exactly_the_plan_of_the_inner_parallelizer(name: str) -> None:
    found = search_of(name)
    (group,) = found.groups
    best = None
    for trial in found.trials:
        whole = UniformParallelizer()
        pieces = whole.slice_model(found.problem.model)
        model = pieces[0]
        for piece in pieces[1:]:
            model = whole.concatenate(model, piece)
        for plan in whole.parallelize(model, group.island, trial.workload, 0).plans:
            times = [stage.time_ns for stage in plan.stages]
            total = (
                (trial.workload.micro_batches - 1) * max(times)
                + sum(times)
                + 2 * sum(plan.inner_transfers_ns)
                + max(stage.sync_ns for stage in plan.stages)
            )
            best = total if best is None else min(best, total)
    assert found.best.result.objective == best


def test_moe_10b_does_not_fit_the_v100s_alone() -> None:
    name = "c1-8t4-8v100-moe-10b"
    assert best_with(name, lambda option: option.island.startswith("V100")) is None
    assert gpus_used(plan_of(name)) == {"T4", "V100-PCIE-16GB"}


def test_moe_7b_fits_the_v100s_alone_but_the_t4s_save_recomputation() -> None:
    name = "c1-8t4-8v100-moe-7.1b"
    plan, alone = plan_of(name), best_with(name, lambda option: option.island.startswith("V100"))
    assert alone is not None
    # The paper leaves the T4s unused here; on this cost model they hold a small part of the layers.
    assert plan.iteration_ns < alone
    layers = {gpu: sum(stage.layers for stage in plan.stages if stage.gpu == gpu) for gpu in gpus_used(plan)}
    assert layers["V100-PCIE-16GB"] > 2 * layers["T4"]


def test_gpt3_on_t4_needs_a_pipeline_with_recomputation() -> None:
    name = "c1-16t4-gpt3-6.7b"
    plan = plan_of(name)
    assert len(plan.stages) >= 4
    assert all(stage.strategy["recompute"] != "none" for stage in plan.stages)
    without = best_with(name, lambda option: option.strategy["recompute"] == "none")
    assert without is None or without > 1.1 * plan.iteration_ns
    shallow = best_with(name, lambda option: len(option.stages) == 1)
    assert shallow is None or shallow > 1.5 * plan.iteration_ns


def test_t4_and_v100_clusters_keep_the_papers_order_of_ratios() -> None:
    names = ["16t4", "12t4-4v100", "8t4-8v100", "4t4-12v100", "16v100"]
    times = [plan_of(f"c1-{name}-gpt3-6.7b").iteration_ns for name in names]
    assert times == sorted(times, reverse=True)
    assert 1.5 < times[0] / times[-1] < 2.2, "the paper has 47 s / 26 s = 1.8"


def test_gpt3_13b_gains_from_v100_32_and_less_from_v100_16() -> None:
    alone = plan_of("c3-4a100-gpt3-13b")
    grown = plan_of("c3-4a100-8v100-gpt3-13b")
    more = plan_of("c3-4a100-8v100-4v100-gpt3-13b")
    assert 1.4 < alone.iteration_ns / grown.iteration_ns < 1.8, "the paper has 32 s / 20 s = 1.6"
    # The paper gains nothing from the V100-16 node; here part of what its compute would give is lost on slow links.
    added_peak = more.peak_flops_per_s / grown.peak_flops_per_s
    assert grown.simulated_ns / more.simulated_ns < added_peak


def test_mixtral_gives_the_h100s_more_layers_and_the_closed_form_puts_them_in_front() -> None:
    name = "c2-8a100-8h100-mixtral-8x7b"
    by_period = plan_of(name)
    by_closed_form = plan_problem(replace(problem_of(name), objective="closed"))
    for plan in (by_period, by_closed_form):
        h100 = sum(stage.layers for stage in plan.stages if stage.gpu == "H100-NVL-94GB")
        assert h100 > plan.layers - h100
    assert by_closed_form.stages[0].gpu == "H100-NVL-94GB"
    assert by_period.simulated_ns < by_closed_form.simulated_ns


@pytest.mark.parametrize("name", ["c1-8t4-8v100-gpt3-6.7b", "c1-8t4-8v100-moe-10b", "c2-4a100-4h100-mixtral-8x7b-16l"])
def test_pruning_does_not_change_the_plan(name: str) -> None:
    asked = replace(problem_of(name), micro_batch=plan_of(name).micro_batch)
    naive = replace(asked, pruning=Pruning(redundancy=False, imbalance_window=None, infeasibility=False))
    pruned, full = search(asked, Remembering()), search(naive, Remembering())
    assert pruned.best.result.objective == full.best.result.objective
    assert sum(pruned.removed.values()) > 0.8 * pruned.pairs
    assert not any(full.removed.values())


def test_four_islands_forty_layers_and_twenty_gpus_are_planned_and_proven() -> None:
    found, plan = search_of("c3-4a100-8v100-4v100-4t4-gpt3-13b"), plan_of("c3-4a100-8v100-4v100-4t4-gpt3-13b")
    assert len(found.groups) == 4
    assert plan.outcome == "optimal"
    assert sum(stage.layers for stage in plan.stages) == 40


def test_chosen_depths_train_moe_7b_a_tenth_faster_and_the_plan_says_them() -> None:
    name = "c1-8t4-8v100-moe-7.1b"
    asked = replace(problem_of(name), depths="chosen")
    standard, chosen = plan_of(name), plan_problem(asked)
    assert chosen.outcome == "optimal"
    assert 1.1 * chosen.simulated_ns < standard.simulated_ns
    assert [stage.in_flight for stage in chosen.stages] == [6, 4, 2, 1]
    assert all(stage.memory_bytes <= stage.memory_limit_bytes for stage in chosen.stages)
    assert check(asked, chosen) == ()
    assert "depths: 'chosen', expected 'standard'" in check(problem_of(name), chosen)
    shallower = replace(chosen.stages[0], in_flight=chosen.stages[0].in_flight - 1)
    spoiled = replace(chosen, stages=(shallower, *chosen.stages[1:]))
    assert any(violation.startswith("iteration_ns") for violation in check(asked, spoiled))
