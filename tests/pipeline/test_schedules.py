"""GPipe, interleaved and deeper 1F1B on the same stages, against what the literature says of equal ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_oracle import pipelines

from tangram_opt.data.plan import GpuRange, PlannedStage
from tangram_opt.pipeline import Pipeline
from tangram_opt.pipeline.data import standard_depths
from tangram_opt.pipeline.graph import event_graph
from tangram_opt.pipeline.orders import gpipe, interleaved, one_f_one_b
from tangram_opt.pipeline.schedules import (
    ScheduleCost,
    interleaved_pipeline,
    split_problem,
    standard_schedules,
)
from tangram_opt.pipeline.simulation import schedule_of


def stage(**changes: int) -> PlannedStage:
    values = {
        "forward_ns": 8,
        "backward_ns": 16,
        "transfer_ns": 0,
        "sync_ns": 0,
        "static_bytes": 100,
        "in_flight_bytes": 10,
        "memory_limit_bytes": 180,
    }
    return PlannedStage(
        island="a",
        gpu="A",
        gpus=(GpuRange("n", 0, 1),),
        first_atom=0,
        atoms=8,
        embedding=False,
        head=False,
        first_layer=0,
        layers=8,
        strategy={},
        **{"in_flight": 1, **values, **changes},
    )


def costs(stages: int, micro_batches: int, **changes: int) -> dict[str, ScheduleCost]:
    row = [stage(in_flight=min(micro_batches, depth), **changes) for depth in standard_depths(stages)]
    return {cost.name: cost for cost in standard_schedules(row, micro_batches)}


def test_a_plan_with_deeper_stages_is_compared_with_standard_1f1b() -> None:
    row = [stage(transfer_ns=6, in_flight=3), stage(in_flight=1)]
    planned, standard = standard_schedules(row, 10)[:2]
    assert (planned.name, standard.name) == ("1F1B, depths as planned", "1F1B")
    assert planned.makespan_ns < standard.makespan_ns
    assert [size // 10 - 10 for size in planned.memory_bytes] == [3, 1]


sizes = given(st.integers(2, 6), st.integers(1, 5))


@sizes
def test_bubbles_of_equal_stages_are_those_of_the_literature(p: int, groups: int) -> None:
    n, passes = groups * p, 8 + 16
    found = costs(p, n)
    bubbles = {name: cost.makespan_ns - n * passes for name, cost in found.items()}
    assert bubbles == {
        "1F1B": (p - 1) * passes,
        "1F1B, warm-up doubled": (p - 1) * passes,
        "GPipe": (p - 1) * passes,
        "interleaved 1F1B, 2 chunks": (p - 1) * passes // 2,
        "interleaved 1F1B, 4 chunks": (p - 1) * passes // 4,
    }


@sizes
def test_memory_of_equal_stages_is_that_of_the_literature(p: int, groups: int) -> None:
    n = groups * p
    found = costs(p, n)

    def in_flight(name: str) -> list[float]:
        return [(used - 100) / 10 for used in found[name].memory_bytes]

    assert in_flight("1F1B") == [min(n, p - s) for s in range(p)]
    assert in_flight("1F1B, warm-up doubled") == [min(n, 2 * (p - s) - 1) for s in range(p)]
    assert in_flight("GPipe") == [n] * p
    # Chunks in flight on stage s: a warm-up of 2 (p - 1 - s) + (v - 1) p of them, and the one that follows.
    for v in (2, 4):
        chunks = [min(n * v, 2 * (p - 1 - s) + (v - 1) * p + 1) for s in range(p)]
        assert in_flight(f"interleaved 1F1B, {v} chunks") == [-(-10 * held // v) / 10 for held in chunks]


def test_interleaved_is_there_where_it_can_run() -> None:
    assert set(costs(4, 8)) - set(costs(4, 9)) == {"interleaved 1F1B, 2 chunks", "interleaved 1F1B, 4 chunks"}
    assert [cost.name for cost in standard_schedules([stage()], 4)] == ["1F1B", "1F1B, warm-up doubled", "GPipe"]


@given(pipelines(), st.integers(1, 4))
def test_chunks_hold_all_of_their_stages(pipe: Pipeline, chunks: int) -> None:
    cut = interleaved_pipeline(pipe, chunks)
    for part in ("forward_ns", "backward_ns"):
        whole = [sum(getattr(cut, part)[s :: pipe.stages]) for s in range(pipe.stages)]
        assert whole == list(getattr(pipe, part))


@sizes
def test_interleaved_with_one_chunk_is_1f1b_with_a_doubled_warm_up(p: int, groups: int) -> None:
    deep = one_f_one_b([2 * (p - s) - 1 for s in range(p)], groups * p)
    for one, other in zip(interleaved(p, 1, groups * p), deep, strict=True):
        assert one.tolist() == other.tolist()


@given(pipelines())
def test_gpipe_runs_all_forwards_before_all_backwards(pipe: Pipeline) -> None:
    graph = event_graph(gpipe(pipe.stages, pipe.micro_batches), pipe.stages, pipe.micro_batches)
    schedule = schedule_of(graph, pipe)
    for s in range(pipe.stages):
        assert schedule.forward_start_ns[s, -1] + pipe.forward_ns[s] <= schedule.backward_start_ns[s, 0]


@pytest.mark.parametrize("make", [lambda: interleaved(3, 2, 6), lambda: one_f_one_b((3, 2, 1), 6)])
def test_orders_that_wait_for_one_another_are_refused(make: Callable[[], list[object]]) -> None:
    orders = make()
    stages = 6 if len(orders[0]) == 24 else 3
    orders[0] = orders[0][::-1]
    with pytest.raises(ValueError, match="wait for one another in a circle"):
        event_graph(orders, stages, 6)


def test_interleaved_asks_for_a_multiple_of_the_stages() -> None:
    with pytest.raises(ValueError, match="micro_batches: 5, expected a multiple of the 2 devices"):
        interleaved(2, 2, 5)


def test_a_split_backward_keeps_its_time() -> None:
    recomputing, plain = stage(backward_ns=24), stage(backward_ns=15, transfer_ns=3)
    problem = split_problem("x", [plain, recomputing], 4, barrier=True)
    assert [(s.input_gradient_ns, s.weight_gradient_ns) for s in problem.stages] == [(8, 7), (16, 8)]
    assert problem.transfer_ns == (3,)
    assert problem.stages[0].limit_bytes == 80
