"""Schedules with a split backward: simple ones are allowed and worth what they should be, wrong ones are seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule, SplitStage
from tangram_opt.pipeline import Pipeline, run
from tangram_opt.pipeline.split import check_schedule, iteration_ns, lower_bound_ns, peak_bytes
from tangram_opt.pipeline.split_schedules import as_one_f_one_b, as_zero_bubble


@st.composite
def problems(draw: Callable[..., int]) -> ScheduleProblem:
    p = draw(st.integers(1, 4))

    def stage() -> SplitStage:
        times = [draw(st.integers(0, 9)) for _ in range(4)]
        whole = draw(st.integers(0, 4))
        return SplitStage(*times, whole, draw(st.integers(0, whole)), whole + draw(st.integers(0, 12)))

    stages = tuple(stage() for _ in range(p))
    hops = tuple(draw(st.integers(0, 5)) for _ in range(p - 1))
    return ScheduleProblem("drawn", stages, hops, draw(st.integers(1, 6)), barrier=draw(st.sampled_from([True, False])))


@given(problems())
def test_simple_schedules_are_allowed_and_not_better_than_the_bound(problem: ScheduleProblem) -> None:
    for schedule in (as_one_f_one_b(problem), as_zero_bubble(problem)):
        assert check_schedule(problem, schedule) == ()
        assert iteration_ns(problem, schedule) >= lower_bound_ns(problem)


@given(problems())
def test_an_iteration_is_never_shorter_with_a_barrier(problem: ScheduleProblem) -> None:
    schedule = as_zero_bubble(problem)
    with_barrier, without = (iteration_ns(replace(problem, barrier=barrier), schedule) for barrier in (True, False))
    assert with_barrier >= without


def equal(p: int, n: int, limit: int, **changes: int) -> ScheduleProblem:
    return ScheduleProblem("equal", (SplitStage(2, 3, 1, 5, 1, 1, limit),) * p, (1,) * (p - 1), n)


def test_1f1b_is_that_of_the_recurrence_where_memory_allows_it() -> None:
    p, n = 4, 7
    problem = equal(p, n, p)
    pipeline = Pipeline((2,) * p, (4,) * p, (1,) * (p - 1), (5,) * p, n)
    assert iteration_ns(problem, as_one_f_one_b(problem)) == run(pipeline).makespan_ns
    assert peak_bytes(problem, as_one_f_one_b(problem)) == (4, 3, 2, 1)
    # With memory for two micro-batches no stage can be deeper.
    tight = replace(problem, stages=tuple(replace(stage, limit_bytes=2) for stage in problem.stages))
    assert peak_bytes(tight, as_one_f_one_b(tight)) == (2, 2, 2, 1)


def test_the_greedy_schedule_has_no_bubble_where_memory_is_ample() -> None:
    # Equal passes, no transfers: every stage computes from its first pass to its last (ZB-H2).
    p, n = 4, 8
    problem = ScheduleProblem("zb", (SplitStage(1, 1, 1, 0, 1, 1, 2 * p - 1),) * p, (0,) * (p - 1), n, barrier=False)
    assert iteration_ns(problem, as_zero_bubble(problem)) == 3 * n


@pytest.mark.parametrize(
    ("kind", "stage", "micro_batch", "start", "text"),
    [
        ("forward_start_ns", 1, 0, 2, "stage 1: forward 0 starts at 2 ns, its input is there at 3 ns"),
        ("forward_start_ns", 0, 1, 1, "stage 0: a pass starts at 1 ns, before the one that runs ends at 2 ns"),
        ("input_gradient_start_ns", 1, 0, 4, "stage 1: input gradient 0 starts at 4 ns, its input is there at 5 ns"),
        ("input_gradient_start_ns", 0, 0, 8, "stage 0: input gradient 0 starts at 8 ns, its input is there at 9 ns"),
        ("weight_gradient_start_ns", 1, 0, 7, "stage 1: weight gradient 0 starts at 7 ns, before its input gradient"),
        ("weight_gradient_start_ns", 0, 0, 99, "stage 0: micro-batches take 3 bytes, it has 2"),
    ],
)
def test_every_violation_is_named(kind: str, stage: int, micro_batch: int, start: int, text: str) -> None:
    problem = equal(2, 3, 2)
    schedule = as_one_f_one_b(problem)
    rows = [list(row) for row in getattr(schedule, kind)]
    rows[stage][micro_batch] = start
    wrong = replace(schedule, **{kind: tuple(tuple(row) for row in rows)})
    assert any(text in violation for violation in check_schedule(problem, wrong))


def test_a_schedule_of_another_shape_or_problem_is_not_allowed() -> None:
    problem = equal(2, 3, 2)
    schedule = as_one_f_one_b(problem)
    assert "expected 2 rows of 3 starts" in check_schedule(problem, replace(schedule, forward_start_ns=((0, 1, 2),)))[0]
    assert "expected 'equal'" in check_schedule(problem, SplitSchedule("other", (), (), ()))[0]


def test_memory_that_is_freed_early_counts_only_until_then() -> None:
    problem = equal(1, 1, 9)
    stage = replace(problem.stages[0], activation_bytes=9, kept_bytes=4)
    problem = replace(problem, stages=(stage,), micro_batches=2)
    # F 0-2, B 2-5, F 5-7 while 4 bytes wait for W: 13 at most; with W before F 9.
    late = SplitSchedule("equal", ((0, 5),), ((2, 7),), ((10, 11),))
    early = SplitSchedule("equal", ((0, 6),), ((2, 8),), ((5, 11),))
    assert peak_bytes(problem, late) == (13,)
    assert peak_bytes(problem, early) == (9,)
    assert check_schedule(problem, early) == ()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1, 1, 1, -1, 1, 1, 1), "sync_ns: -1"),
        ((1, 1, 1, 0, 1, 2, 5), "kept_bytes: 2, expected at most the 1"),
        ((1, 1, 1, 0, 3, 2, 2), "limit_bytes: 2, expected at least the 3"),
    ],
)
def test_stages_that_make_no_sense_are_refused(values: tuple[int, ...], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        SplitStage(*values)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"stages": ()}, "stages: none"),
        ({"transfer_ns": (1, 2)}, "transfer_ns: 2 values, expected 1"),
        ({"transfer_ns": (-1,)}, "transfer_ns: -1"),
        ({"micro_batches": 0}, "micro_batches: 0"),
    ],
)
def test_problems_that_make_no_sense_are_refused(changes: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        replace(equal(2, 3, 2), **changes)  # type: ignore[arg-type]
