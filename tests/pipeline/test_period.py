"""Period, bounds and critical cycle against the simulated steady state."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_oracle import pipelines

from tangram_opt.pipeline import (
    Link,
    Pipeline,
    critical_cycle,
    lower_bound_ns,
    period_form_ns,
    period_ns,
    run,
    upper_bound_ns,
)
from tangram_opt.pipeline.shared import slowest_cycle


def slope(pipe: Pipeline) -> Fraction:
    """Time per micro-batch of the simulation, far from both ends, over a multiple of any cycle's micro-batches."""
    step = lcm(*range(1, pipe.depths[0] + 1)) if pipe.depths[0] < 7 else 60
    first, second = (run(replace(pipe, micro_batches=n)).makespan_ns for n in (300, 300 + step))
    return Fraction(second - first, step)


@settings(max_examples=60)
@given(pipelines())
def test_period_is_the_slope_of_the_makespan(pipe: Pipeline) -> None:
    assert period_ns(pipe.times_ns, pipe.transfer_ns) == slope(replace(pipe, sync_ns=(0,) * pipe.stages))


@settings(max_examples=60)
@given(pipelines(any_depths=True, shared_links=True))
def test_period_is_the_slope_with_any_depths_and_links(pipe: Pipeline) -> None:
    cycle = critical_cycle(pipe)
    pipe = replace(pipe, sync_ns=(0,) * pipe.stages)
    first, second = (run(replace(pipe, micro_batches=n)).makespan_ns for n in (240, 240 + 4 * cycle.micro_batches))
    assert second - first == 4 * cycle.duration_ns


@given(pipelines(any_depths=True))
def test_search_for_the_slowest_cycle_finds_the_slowest_round_trip(pipe: Pipeline) -> None:
    assert slowest_cycle(pipe).period_ns == period_ns(pipe.times_ns, pipe.transfer_ns, pipe.depths)


@given(pipelines(any_depths=True))
def test_the_critical_cycle_lasts_as_long_as_what_is_on_it(pipe: Pipeline) -> None:
    cycle = critical_cycle(pipe)
    passes = sum(pipe.times_ns[s] for s in cycle.stages)
    assert cycle.duration_ns == passes + 2 * sum(pipe.transfer_ns[s] for s in cycle.boundaries)
    assert cycle.micro_batches == pipe.depths[cycle.stages[0]] - pipe.depths[cycle.stages[-1]] + 1


def test_the_critical_cycle_names_the_slow_link_and_the_stages_at_it() -> None:
    pipe = Pipeline((10,) * 4, (20,) * 4, (0, 50, 0), (0,) * 4, 100)
    cycle = critical_cycle(pipe)
    assert (cycle.stages, cycle.boundaries, cycle.period_ns) == ((1, 2), (1,), 80)
    assert critical_cycle(pipe.without_transfers()).stages == (0,)


def test_the_critical_cycle_names_the_boundaries_of_a_crowded_link() -> None:
    pipe = Pipeline((1,) * 5, (1,) * 5, (9, 0, 0, 9), (0,) * 5, 100, links=(Link("nic", (0, 3), (0, 3)),))
    cycle = critical_cycle(pipe)
    assert cycle.period_ns == 36
    assert set(cycle.boundaries) == {0, 3}


@given(pipelines(any_depths=True, most_micro_batches=24, shared_links=True))
def test_makespan_lies_between_its_bounds(pipe: Pipeline) -> None:
    makespan, upper = run(pipe).makespan_ns, upper_bound_ns(pipe)
    assert lower_bound_ns(pipe) <= makespan
    assert (upper is None) == bool(pipe.links)
    assert upper is None or makespan <= upper


@given(st.integers(1, 12), st.integers(1, 30), st.integers(0, 50), st.integers(0, 50))
def test_bounds_meet_at_equal_stages_without_transfers(p: int, n: int, f: int, b: int) -> None:
    pipe = Pipeline((f,) * p, (b,) * p, (0,) * (p - 1), (0,) * p, n)
    assert lower_bound_ns(pipe) == upper_bound_ns(pipe) == period_form_ns(pipe) == (n + p - 1) * (f + b)


@given(pipelines(any_depths=True, most_micro_batches=24), st.integers(0, 4))
def test_period_form_is_never_too_low_where_all_stages_have_one_ratio(pipe: Pipeline, ratio: int) -> None:
    pipe = replace(pipe, backward_ns=tuple(ratio * f for f in pipe.forward_ns))
    upper = upper_bound_ns(pipe)
    assert upper is not None
    # The form has the period in whole nanoseconds.
    assert run(pipe).makespan_ns <= upper <= period_form_ns(pipe) < upper + pipe.micro_batches


def test_period_form_is_too_low_where_the_ratio_of_backward_to_forward_differs() -> None:
    pipe = Pipeline((0, 1, 0), (1, 0, 0), (0, 0), (0, 0, 0), 2)
    assert period_form_ns(pipe) == 3
    assert run(pipe).makespan_ns == upper_bound_ns(pipe) == 4


def test_the_closed_form_is_too_high_and_too_low() -> None:
    # (n-1) max t + sum t + 2 sum c is 156 for these stages in any order.
    ascending = Pipeline((1, 1, 2, 3), (2, 2, 4, 6), (0,) * 3, (0,) * 4, 16)
    descending = Pipeline((3, 2, 1, 1), (6, 4, 2, 2), (0,) * 3, (0,) * 4, 16)
    assert (run(ascending).makespan_ns, run(descending).makespan_ns) == (156, 147)
    balanced = Pipeline((100,) * 16, (200,) * 16, (50,) * 15, (0,) * 16, 64)
    closed = 63 * 300 + 16 * 300 + 2 * 15 * 50
    assert run(balanced).makespan_ns > 1.2 * closed
    assert run(balanced).makespan_ns <= period_form_ns(balanced)


@pytest.mark.parametrize("depths", [(3, 2, 1), (5, 3, 1), (2, 2, 1)])
def test_period_by_hand(depths: tuple[int, ...]) -> None:
    # Round trips: a stage alone 3; two neighbours 2 * 3 + 2 * 2 = 10; all three 3 * 3 + 4 * 2 = 17.
    expected = {(3, 2, 1): Fraction(17, 3), (5, 3, 1): Fraction(17, 5), (2, 2, 1): Fraction(10)}[depths]
    assert period_ns((3, 3, 3), (2, 2), depths) == expected


@given(pipelines())
def test_a_doubled_warm_up_hides_transfers_of_up_to_half_a_stage(pipe: Pipeline) -> None:
    slowest = max(pipe.times_ns)
    hops = [min(hop, slowest // 2) for hop in pipe.transfer_ns]
    assert period_ns(pipe.times_ns, hops, [2 * depth - 1 for depth in range(pipe.stages, 0, -1)]) == slowest
