"""The 1F1B recurrence against an independent event-driven simulation, known values and metamorphic relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.pipeline import Schedule, simulate


@dataclass(frozen=True)
class Pipeline:
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    transfer: tuple[int, ...]
    sync: tuple[int, ...]
    n: int

    def run(self) -> Schedule:
        return simulate(self.forward, self.backward, self.transfer, self.sync, self.n)


def one_f_one_b(stage: int, stages: int, n: int) -> list[tuple[str, int]]:
    """The order of passes of a stage, as the literature words it."""
    warm_up = min(stages - 1 - stage, n)
    order = [("F", m) for m in range(warm_up)]
    for m in range(n - warm_up):
        order += [("F", warm_up + m), ("B", m)]
    return order + [("B", m) for m in range(n - warm_up, n)]


def event_driven(pipe: Pipeline) -> tuple[dict[tuple[str, int, int], int], int]:
    """Every stage works through its list whenever the input of its next pass has arrived."""
    p = len(pipe.forward)
    queues = [one_f_one_b(s, p, pipe.n) for s in range(p)]
    arrived: dict[tuple[str, int, int], int] = {("F", 0, m): 0 for m in range(pipe.n)}
    free = [0] * p
    start: dict[tuple[str, int, int], int] = {}
    while any(queues):
        moved = False
        for s in range(p):
            while queues[s]:
                kind, m = queues[s][0]
                if (kind, s, m) not in arrived:
                    break
                queues[s].pop(0)
                moved = True
                begin = max(free[s], arrived[kind, s, m])
                start[kind, s, m] = begin
                free[s] = begin + (pipe.forward[s] if kind == "F" else pipe.backward[s])
                if kind == "F" and s + 1 < p:
                    arrived["F", s + 1, m] = free[s] + pipe.transfer[s]
                elif kind == "F":
                    arrived["B", s, m] = free[s]
                elif s > 0:
                    arrived["B", s - 1, m] = free[s] + pipe.transfer[s - 1]
        assert moved, "deadlock"
    return start, max(end + sync for end, sync in zip(free, pipe.sync, strict=True))


@st.composite
def pipelines(draw: Callable[..., int], largest: int = 40) -> Pipeline:
    p = draw(st.integers(1, 7))

    def times(count: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(0, largest)) for _ in range(count))

    return Pipeline(times(p), times(p), times(p - 1), times(p), draw(st.integers(1, 12)))


@given(pipelines())
def test_every_start_equals_the_event_driven_simulation(pipe: Pipeline) -> None:
    start, makespan = event_driven(pipe)
    schedule = pipe.run()
    for s in range(len(pipe.forward)):
        assert schedule.forward_start_ns[s].tolist() == [start["F", s, m] for m in range(pipe.n)]
        assert schedule.backward_start_ns[s].tolist() == [start["B", s, m] for m in range(pipe.n)]
    assert schedule.makespan_ns == makespan
    assert schedule.forward_start_ns.dtype == schedule.backward_start_ns.dtype == np.int64


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


@given(pipelines(), st.integers(0, 1000))
def test_scaling_every_duration_scales_every_start(pipe: Pipeline, factor: int) -> None:
    scaled = Pipeline(
        *(tuple(factor * t for t in part) for part in (pipe.forward, pipe.backward, pipe.transfer, pipe.sync)), pipe.n
    ).run()
    schedule = pipe.run()
    assert scaled.makespan_ns == factor * schedule.makespan_ns
    assert np.array_equal(scaled.forward_start_ns, factor * schedule.forward_start_ns)
    assert np.array_equal(scaled.backward_start_ns, factor * schedule.backward_start_ns)


@given(pipelines(), st.data())
def test_a_longer_duration_starts_nothing_earlier(pipe: Pipeline, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([k for k in ("forward", "backward", "transfer", "sync") if getattr(pipe, k)]))
    times = list(getattr(pipe, part))
    times[data.draw(st.integers(0, len(times) - 1))] += data.draw(st.integers(1, 30))
    slower, schedule = replace(pipe, **{part: tuple(times)}).run(), pipe.run()
    assert slower.makespan_ns >= schedule.makespan_ns
    assert (slower.forward_start_ns >= schedule.forward_start_ns).all()
    assert (slower.backward_start_ns >= schedule.backward_start_ns).all()


@given(pipelines(), st.integers(1, 3))
def test_never_longer_than_the_closed_form_without_transfers(pipe: Pipeline, ratio: int) -> None:
    # The ratio of backward to forward must be that of every stage: where it differs the closed form can be too low.
    stages = len(pipe.forward)
    times = [(1 + ratio) * f for f in pipe.forward]
    makespan = simulate(pipe.forward, [ratio * f for f in pipe.forward], [0] * (stages - 1), [0] * stages, pipe.n)
    assert makespan.makespan_ns <= (pipe.n - 1) * max(times) + sum(times)


def test_closed_form_is_too_low_where_the_ratio_of_backward_to_forward_differs() -> None:
    closed = (2 - 1) * 1 + (1 + 1 + 0)
    assert simulate([0, 1, 0], [1, 0, 0], [0, 0], [0, 0, 0], 2).makespan_ns == 4 > closed


@given(pipelines())
def test_micro_batches_in_flight_never_exceed_stages_after_plus_1(pipe: Pipeline) -> None:
    p = len(pipe.forward)
    # Positive durations: with zero-length passes "in flight at the same instant" would be a matter of taste.
    pipe = replace(pipe, forward=tuple(t + 1 for t in pipe.forward), backward=tuple(t + 1 for t in pipe.backward))
    schedule = pipe.run()
    for s in range(p):
        ends = schedule.backward_start_ns[s] + pipe.backward[s]
        for m, start in enumerate(schedule.forward_start_ns[s]):
            assert m + 1 - int((ends <= start).sum()) <= min(pipe.n, p - s)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], [], [], 1), "no stages"),
        (([1], [1], [], [0], 0), "micro_batches: 0"),
        (([1, 1], [1], [0], [0, 0], 1), "backward_ns: 1 values, expected 2"),
        (([1, 1], [1, 1], [0, 0], [0, 0], 1), "transfer_ns: 2 values, expected 1"),
        (([1], [-4], [], [0], 1), "backward_ns: -4"),
        (([2**62], [2**62], [], [0], 1), "2\\^63"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[list[int], list[int], list[int], list[int], int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(*arguments)


def test_the_longest_times_that_fit_are_exact() -> None:
    assert simulate([2**61], [2**61], [], [2**62 - 1], 2**0).makespan_ns == 2**63 - 1
