from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tangram_opt import documents
from tangram_opt.pipeline import simulate_stages


@pytest.fixture
def plan(tangram, folder):
    path = folder / "plan.json"
    assert tangram("solve", folder / "planning-problem.json", "--workers", 1, "-o", path).code == 0
    return path


def test_numbers_of_the_plan_are_found_again(tangram, plan):
    planned = documents.load_plan(plan)
    answer = tangram("simulate", plan, "--json").json
    assert answer["simulated_ns"] == planned.simulated_ns == planned.iteration_ns
    assert answer["closed_form_ns"] <= answer["period_form_ns"]
    assert answer["lower_bound_ns"] <= answer["simulated_ns"] <= answer["upper_bound_ns"]
    assert [each["in_flight"] for each in answer["memory"]] == [stage.in_flight for stage in planned.stages]
    assert [each["peak_bytes"] for each in answer["memory"]] == [stage.memory_bytes for stage in planned.stages]
    busy = [planned.micro_batches * stage.time_ns for stage in planned.stages]
    assert [a + b for a, b in zip(answer["bubble"]["idle_ns"], busy, strict=True)] == [answer["simulated_ns"]] * len(
        busy
    )
    path = answer["critical_path"]
    assert sum(path["stages_ns"]) + sum(path["boundaries_ns"]) == answer["simulated_ns"]


def test_trace_and_picture_are_written(tangram, plan, tmp_path):
    ran = tangram("simulate", plan, "--trace", tmp_path / "trace.json", "--picture", tmp_path / "plan.svg")
    assert ran.code == 0
    assert "iteration time" in ran.out
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")
    assert ran.err.splitlines() == [f"written: {tmp_path / 'trace.json'}", f"written: {tmp_path / 'plan.svg'}"]


def test_a_plan_that_no_pipeline_can_run_is_wrong_input(tangram, plan):
    planned = documents.load_plan(plan)
    stages = tuple(replace(stage, forward_ns=2**62) for stage in planned.stages)
    documents.save(replace(planned, stages=stages), plan)
    with pytest.raises(ValueError, match="2\\^63"):
        simulate_stages(stages, planned.micro_batches)
    ran = tangram("simulate", plan)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {plan}: no such pipeline can run: times: up to")


def test_schedules_are_compared_and_searched(tangram, plan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    planned = documents.load_plan(plan)
    answer = tangram("simulate", plan, "--schedules", "--json").json
    costs = {cost["name"]: cost["makespan_ns"] for cost in answer["schedules"]}
    assert costs["1F1B"] == planned.simulated_ns
    with_barrier, without = answer["searched_schedules"]
    one_f_one_b, _, best = with_barrier["schedules"]
    assert one_f_one_b["makespan_ns"] == planned.simulated_ns
    assert with_barrier["bound_ns"] <= best["makespan_ns"] <= planned.simulated_ns
    assert without["schedules"][2]["makespan_ns"] <= best["makespan_ns"]
    text = tangram("simulate", plan, "--schedules").out
    assert all(name in text for name in ("GPipe", "1F1B, warm-up doubled", "best found, no barrier"))


def test_deep_pipelines_are_compared_but_not_searched(tangram, plan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    planned = documents.load_plan(plan)
    stages = tuple(replace(planned.stages[0], in_flight=9 - s) for s in range(9))
    documents.save(replace(planned, stages=stages), plan)
    text = tangram("simulate", plan, "--schedules").out
    assert "Not searched for a better schedule: 9 stages, at most 8 can be." in text


def test_a_stage_without_memory_is_wrong_input_for_a_search(tangram, plan):
    planned = documents.load_plan(plan)
    full = tuple(replace(stage, static_bytes=stage.memory_limit_bytes) for stage in planned.stages)
    documents.save(replace(planned, stages=full), plan)
    ran = tangram("simulate", plan, "--schedules")
    assert ran.code == 2
    assert "limit_bytes: 0, expected at least" in ran.err
