"""The 1F1B recurrence against an independent event-driven simulation, known values and metamorphic relations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_oracle import pipelines, simulate_naively

from tangram_opt.pipeline import Link, Pipeline, makespans, run, simulate

PARTS: Final = ("forward_ns", "backward_ns", "transfer_ns", "sync_ns")
STARTS: Final = ("forward_start_ns", "backward_start_ns", "activation_start_ns", "gradient_start_ns")


def agrees(pipe: Pipeline) -> None:
    start, makespan = simulate_naively(pipe)
    schedule = run(pipe)
    for kind, starts in (
        ("F", schedule.forward_start_ns),
        ("B", schedule.backward_start_ns),
        ("A", schedule.activation_start_ns),
        ("G", schedule.gradient_start_ns),
    ):
        assert starts.dtype == np.int64
        assert starts.tolist() == [[start[kind, s, m] for m in range(pipe.micro_batches)] for s in range(len(starts))]
    assert schedule.makespan_ns == makespan


@given(pipelines())
def test_every_start_equals_the_event_simulation(pipe: Pipeline) -> None:
    agrees(pipe)


@given(pipelines(any_depths=True, shared_links=True))
def test_every_start_equals_the_event_simulation_with_any_depths_and_links(pipe: Pipeline) -> None:
    agrees(pipe)


@given(pipelines(largest=9, any_depths=True))
def test_transfers_that_would_be_ready_at_once_are_served_activations_first(pipe: Pipeline) -> None:
    # At equal passes the activations of boundary 2 and the gradients of boundary 0 are ready at the same ticks.
    if pipe.stages > 3:
        agrees(replace(pipe, links=(Link("nic", (2,), (0,)),)))


@given(pipelines(any_depths=True), st.data())
def test_many_pipelines_at_once_equal_one_by_one(pipe: Pipeline, data: st.DataObject) -> None:
    shuffled = [
        replace(
            pipe,
            **{
                part: tuple(data.draw(st.permutations(getattr(pipe, part))))
                for part in ("forward_ns", "backward_ns", "transfer_ns", "sync_ns")
            },
        )
        for _ in range(5)
    ]
    columns = (
        np.array([getattr(each, part) for each in shuffled]).reshape(5, -1)
        for part in ("forward_ns", "backward_ns", "transfer_ns", "sync_ns")
    )
    together = makespans(*columns, pipe.micro_batches, pipe.depths)
    assert together.tolist() == [run(each).makespan_ns for each in shuffled]


def test_more_pipelines_than_fit_at_once_are_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tangram_opt.pipeline.simulation.EVENTS_AT_ONCE", 100)
    forward = np.arange(1, 36).reshape(7, 5)
    together = makespans(forward, 2 * forward, forward[:, 1:], forward, 4)
    alone = [simulate(f, [2 * x for x in f], f[1:], f, 4).makespan_ns for f in forward.tolist()]
    assert together.tolist() == alone
    assert makespans(forward[:0], forward[:0], forward[:0, 1:], forward[:0], 4).tolist() == []


@given(st.integers(1, 20), st.integers(1, 30), st.integers(0, 50), st.integers(0, 50))
def test_equal_stages_without_transfers_take_n_plus_p_minus_1_slots(p: int, n: int, f: int, b: int) -> None:
    assert simulate([f] * p, [b] * p, [0] * (p - 1), [0] * p, n).makespan_ns == (n + p - 1) * (f + b)


def test_single_stage_runs_back_to_back_and_then_synchronises() -> None:
    schedule = simulate([3], [5], [], [7], 4)
    assert schedule.makespan_ns == 4 * 8 + 7
    assert schedule.forward_start_ns.tolist() == [[0, 8, 16, 24]]
    assert schedule.backward_start_ns.tolist() == [[3, 11, 19, 27]]


def test_two_stages_with_a_transfer_by_hand() -> None:
    # Stage 0: F0 0-1, F1 1-2, B0 6-8 (arrives 3+2+1=6), B1 9-11. Stage 1: F0 2-3, B0 3-5, F1 5-6, B1 6-8.
    schedule = simulate([1, 1], [2, 2], [1], [4, 10], 2)
    assert schedule.forward_start_ns.tolist() == [[0, 1], [2, 5]]
    assert schedule.backward_start_ns.tolist() == [[6, 9], [3, 6]]
    assert schedule.makespan_ns == max(11 + 4, 8 + 10)


def test_order_of_stages_matters_as_the_closed_form_cannot_see() -> None:
    first = simulate([3, 2, 1, 1], [6, 4, 2, 2], [0] * 3, [0] * 4, 16).makespan_ns
    last = simulate([1, 1, 2, 3], [2, 2, 4, 6], [0] * 3, [0] * 4, 16).makespan_ns
    assert (first, last) == (147, 156)


def test_transfers_cost_more_than_the_closed_form_says_in_a_balanced_pipeline() -> None:
    p, n, time, hop = 16, 64, 300, 9
    closed = (n - 1) * time + p * time + 2 * (p - 1) * hop
    simulated = simulate([100] * p, [200] * p, [hop] * (p - 1), [0] * p, n).makespan_ns
    assert 1.03 < simulated / closed < 1.07


@given(pipelines(any_depths=True, shared_links=True), st.integers(0, 1000))
def test_scaling_every_duration_scales_every_start(pipe: Pipeline, factor: int) -> None:
    scaled = run(replace(pipe, **{part: tuple(factor * t for t in getattr(pipe, part)) for part in PARTS}))
    schedule = run(pipe)
    assert scaled.makespan_ns == factor * schedule.makespan_ns
    for starts in STARTS:
        assert np.array_equal(getattr(scaled, starts), factor * getattr(schedule, starts))


@given(pipelines(any_depths=True, shared_links=True), st.data())
def test_a_longer_duration_starts_nothing_earlier(pipe: Pipeline, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in PARTS if getattr(pipe, part)]))
    times = list(getattr(pipe, part))
    times[data.draw(st.integers(0, len(times) - 1))] += data.draw(st.integers(1, 30))
    slower, schedule = run(replace(pipe, **{part: tuple(times)})), run(pipe)
    assert slower.makespan_ns >= schedule.makespan_ns
    for starts in STARTS:
        assert (getattr(slower, starts) >= getattr(schedule, starts)).all()


@given(pipelines(any_depths=True, shared_links=True))
def test_sharing_links_starts_nothing_earlier(pipe: Pipeline) -> None:
    shared, own = run(pipe), run(replace(pipe, links=()))
    for starts in STARTS:
        assert (getattr(shared, starts) >= getattr(own, starts)).all()


def test_a_shared_link_carries_one_transfer_at_a_time() -> None:
    # Two boundaries of 4 over one link that carries both directions: 16 per micro-batch in the steady state.
    both = (Link("only", (0, 1), (0, 1)),)
    times = [run(Pipeline((1,) * 3, (1,) * 3, (4, 4), (0,) * 3, n, links=both)).makespan_ns for n in (20, 21)]
    assert times[1] - times[0] == 16


def test_a_deeper_pipeline_hides_its_transfers() -> None:
    p, n, time, hop = 8, 200, 300, 100

    def of_depths(depths: tuple[int, ...]) -> int:
        return run(Pipeline((100,) * p, (200,) * p, (hop,) * (p - 1), (0,) * p, n, depths)).makespan_ns

    hidden = (n - 1) * time + p * time + 2 * (p - 1) * hop
    assert of_depths(tuple(2 * (p - s) - 1 for s in range(p))) == hidden
    assert of_depths(tuple(p - s for s in range(p))) > 1.5 * hidden


def test_stages_of_equal_depth_take_turns() -> None:
    # Depth 1 everywhere: one micro-batch after the other.
    pipe = Pipeline((1, 2, 3), (4, 5, 6), (7, 8), (0, 0, 0), 5, (1, 1, 1))
    assert run(pipe).makespan_ns == 5 * (1 + 2 + 3 + 4 + 5 + 6 + 2 * (7 + 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [], [], 1), "no stages"),
        (([1], [1], [], [0], 0), "micro_batches: 0"),
        (([1, 1], [1], [0], [0, 0], 1), "backward_ns: 1 values, expected 2"),
        (([1, 1], [1, 1], [0, 0], [0, 0], 1), "transfer_ns: 2 values, expected 1"),
        (([1], [-4], [], [0], 1), "backward_ns: -4"),
        (([2**62], [2**62], [], [0], 1), "2\\^63"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [1]), "depths: 1 values, expected 2"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [2, 0]), "depths\\[1\\]: 0, expected at least 1"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [1, 2]), "depths\\[0\\]: 1, expected at least the 2"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [], [Link("x")]), "'x' carries nothing"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [], [Link("x", (1,))]), "boundary 1, expected a boundary of 0 to 0"),
        (([1, 1], [1, 1], [0], [0, 0], 1, [], [Link("x", (0,)), Link("y", (0,))]), "activations of boundary 0 2 times"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pipeline(*(tuple(part) if isinstance(part, list) else part for part in arguments))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forward_ns": [[1, 2]]}, "shapes"),
        ({"transfer_ns": [[1, 2]]}, "transfer_ns: shape"),
        ({"sync_ns": [[0], [-1]]}, "negative"),
        ({"forward_ns": [[2**61], [1]], "backward_ns": [[1], [2**61]]}, "2\\^63"),
    ],
)
def test_many_pipelines_that_make_no_sense_are_refused(changes: dict[str, list[list[int]]], message: str) -> None:
    columns = {"forward_ns": [[1], [1]], "backward_ns": [[1], [1]], "transfer_ns": [[], []], "sync_ns": [[0], [0]]}
    with pytest.raises(ValueError, match=message):
        makespans(**{**columns, **changes}, micro_batches=2)


def test_the_longest_times_that_fit_are_exact() -> None:
    assert simulate([2**61], [2**61], [], [2**62 - 1], 2**0).makespan_ns == 2**63 - 1
