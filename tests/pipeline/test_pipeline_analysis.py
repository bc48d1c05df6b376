"""Where the time and the memory of an iteration go: sums that must be exact, and cases that are clear."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_oracle import pipelines

from tangram_opt.pipeline import (
    Link,
    Pipeline,
    bubble_by_cause,
    critical_path,
    in_flight_over_time,
    peak_in_flight,
    run,
)

anything = pipelines(any_depths=True, shared_links=True)


@given(anything)
def test_causes_of_the_bubble_add_up_to_the_idle_time_of_every_stage(pipe: Pipeline) -> None:
    parts = bubble_by_cause(pipe)
    makespan = run(pipe).makespan_ns
    assert list(parts.idle_ns) == [makespan - pipe.micro_batches * time for time in pipe.times_ns]
    assert min(*parts.imbalance_ns, parts.fill_and_drain_ns, parts.transfers_ns, parts.sync_ns) >= 0


@given(st.integers(1, 8), st.integers(1, 20), st.integers(1, 30), st.integers(1, 30))
def test_equal_stages_without_transfers_only_fill_and_drain(p: int, n: int, f: int, b: int) -> None:
    parts = bubble_by_cause(Pipeline((f,) * p, (b,) * p, (0,) * (p - 1), (0,) * p, n))
    assert parts.fill_and_drain_ns == (p - 1) * (f + b)
    assert parts.idle_ns == ((p - 1) * (f + b),) * p


def test_each_cause_is_seen_alone() -> None:
    alone = Pipeline((10, 10), (20, 20), (0,), (0, 0), 10)
    assert bubble_by_cause(replace(alone, forward_ns=(10, 4))).imbalance_ns == (0, 60)
    # The round trip of one boundary lies bare once in two micro-batches.
    assert bubble_by_cause(replace(alone, transfer_ns=(3,))).transfers_ns == 10 * 3
    # The last stage ends 20 earlier than the first: 20 of its synchronisation are hidden.
    assert bubble_by_cause(replace(alone, sync_ns=(0, 25))).sync_ns == 5
    assert bubble_by_cause(replace(alone, sync_ns=(5, 0))).sync_ns == 5


def test_waiting_for_a_shared_link_is_time_of_transfers() -> None:
    own = Pipeline((10,) * 3, (10,) * 3, (4, 4), (0,) * 3, 20)
    shared = replace(own, links=(Link("nic", (0, 1), (0, 1)),))
    waiting = bubble_by_cause(shared).transfers_ns - bubble_by_cause(own).transfers_ns
    assert waiting == run(shared).makespan_ns - run(own).makespan_ns > 0


@given(anything)
def test_critical_path_leads_from_the_start_to_the_makespan_through_what_runs_then(pipe: Pipeline) -> None:
    path, schedule = critical_path(pipe), run(pipe)
    clock = 0
    for step in path:
        assert step.start_ns == clock
        clock = step.end_ns
        if step.kind == "sync":
            continue
        starts = getattr(schedule, f"{step.kind}_start_ns")
        assert starts[step.place, step.micro_batch] == step.start_ns
        duration = pipe.transfer_ns if step.kind in ("activation", "gradient") else getattr(pipe, f"{step.kind}_ns")
        assert step.end_ns - step.start_ns == duration[step.place]
    assert clock == schedule.makespan_ns


@settings(max_examples=50)
@given(anything, st.data())
def test_what_is_on_the_critical_path_cannot_get_slower_for_free(pipe: Pipeline, data: st.DataObject) -> None:
    path = critical_path(pipe)
    if not path:
        return
    step = data.draw(st.sampled_from(path))
    part = "transfer_ns" if step.kind in ("activation", "gradient") else f"{step.kind}_ns"
    times = list(getattr(pipe, part))
    times[step.place] += 1
    slower = run(replace(pipe, **{part: tuple(times)}))
    assert slower.makespan_ns > run(pipe).makespan_ns


@given(anything)
def test_micro_batches_in_flight_peak_at_the_depth(pipe: Pipeline) -> None:
    # Positive durations: with passes of no time "in flight at the same instant" would be a matter of taste.
    pipe = replace(
        pipe,
        forward_ns=tuple(t + 1 for t in pipe.forward_ns),
        backward_ns=tuple(t + 1 for t in pipe.backward_ns),
    )
    schedule = run(pipe)
    assert peak_in_flight(schedule, pipe.backward_ns) == tuple(min(k, pipe.micro_batches) for k in pipe.depths)
    for times, counts in in_flight_over_time(schedule, pipe.backward_ns):
        assert counts[-1] == 0
        assert (times[1:] > times[:-1]).all()


def test_micro_batches_in_flight_by_hand() -> None:
    # Stage 0 runs F 0-1, F 1-2, B 5-7, B 8-10; stage 1 runs F 1-2, B 2-4(arrives 5), F 4-5, B 5-7(arrives 8).
    pipe = Pipeline((1, 1), (2, 2), (1,), (0, 0), 2)
    schedule = run(pipe)
    first, last = in_flight_over_time(schedule, pipe.backward_ns)
    assert [part.tolist() for part in first] == [[0, 1, 8, 11], [1, 2, 1, 0]]
    assert [part.tolist() for part in last] == [[2, 5, 8], [1, 1, 0]]
