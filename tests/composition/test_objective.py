from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.composition.objective import closed_form_ns, iteration_ns, iteration_of_parts_ns
from tangram_opt.pipeline import Pipeline, period_form_ns


def test_the_paper_form_of_three_stages_by_hand():
    # 7 more micro-batches at the pace of the slowest stage, once through all stages, twice over both boundaries.
    assert closed_form_ns(8, [10, 12, 9], [2, 3], [0, 0, 0]) == 7 * 12 + 31 + 2 * 5


def test_the_longest_sync_is_added_once():
    assert closed_form_ns(8, [10, 12, 9], [2, 3], [5, 1, 4]) == 7 * 12 + 31 + 2 * 5 + 5


def test_one_micro_batch_has_no_steady_state():
    assert closed_form_ns(1, [10, 30], [4], [0, 2]) == 40 + 8 + 2


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.data(), st.integers(1, 20))
def test_the_period_form_is_that_of_the_pipeline(times, data, n):
    p = len(times)
    forward = tuple(data.draw(st.integers(0, time)) for time in times)
    transfers = tuple(data.draw(st.lists(st.integers(0, 20), min_size=p - 1, max_size=p - 1)))
    syncs = tuple(data.draw(st.lists(st.integers(0, 20), min_size=p, max_size=p)))
    backward = tuple(t - f for t, f in zip(times, forward, strict=True))
    pipeline = Pipeline(forward, backward, transfers, syncs, n)
    assert iteration_ns("period", n, times, transfers, syncs) == period_form_ns(pipeline)


@given(st.lists(st.tuples(*[st.integers(0, 50)] * 4), min_size=2, max_size=2), st.integers(1, 9))
def test_it_increases_in_every_part(parts, n):
    low, high = ([pick(a, b) for a, b in zip(*parts, strict=True)] for pick in (min, max))
    values = [iteration_of_parts_ns(n, *high[:i], *low[i:3]) for i in range(4)]
    assert all(a <= b for a, b in pairwise(values))
