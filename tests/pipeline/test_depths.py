"""Depths as a decision, against all depths one by one."""

from itertools import pairwise, product
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from tangram_opt.pipeline import Pipeline, period_ns, run, standard_depths
from tangram_opt.pipeline.depths import least_depths, least_period_ns


@st.composite
def rows_of_stages(draw):
    stages = draw(st.integers(1, 4))
    times = draw(st.lists(st.integers(1, 9), min_size=stages, max_size=stages))
    hops = draw(st.lists(st.integers(0, 9), min_size=stages - 1, max_size=stages - 1))
    extra = draw(st.lists(st.integers(0, 3), min_size=stages, max_size=stages))
    return times, hops, [k + more for k, more in zip(standard_depths(stages), extra, strict=True)]


def all_depths(most):
    ranges = [range(least, limit + 1) for least, limit in zip(standard_depths(len(most)), most, strict=True)]
    return [k for k in product(*ranges) if all(front >= back for front, back in pairwise(k))]


@settings(max_examples=300)
@given(rows_of_stages())
def test_the_least_period_is_that_of_the_best_of_all_depths(row):
    times, hops, most = row
    assert least_period_ns(times, hops, most) == min(ceil(period_ns(times, hops, k)) for k in all_depths(most))


@settings(max_examples=300)
@given(rows_of_stages(), st.integers(0, 5))
def test_the_least_depths_keep_the_period_and_no_others_that_do_are_less_anywhere(row, slack):
    times, hops, most = row
    period = max(times) + slack
    keeping = [k for k in all_depths(most) if period_ns(times, hops, k) <= period]
    depths = least_depths(times, hops, period, most)
    if depths is None:
        assert not keeping
    else:
        assert depths in keeping
        assert all(a <= b for k in keeping for a, b in zip(depths, k, strict=True))


@settings(max_examples=100)
@given(rows_of_stages())
def test_where_memory_sets_no_limit_the_slowest_stage_is_the_period(row):
    times, hops, _ = row
    assert least_period_ns(times, hops, [None] * len(times)) == max(times)


def test_in_the_steady_state_depths_hide_what_1f1b_waits_for():
    times, hops = (6, 6, 6), (3, 3)
    depths = least_depths(times, hops, 6, [None] * 3)
    assert depths == (5, 3, 1)  # 2 (stages after) + 1, as 2 c <= t
    ends = [run(Pipeline((2, 2, 2), (4, 4, 4), hops, (0, 0, 0), n, depths)).makespan_ns for n in (20, 21)]
    assert ends[1] - ends[0] == 6
