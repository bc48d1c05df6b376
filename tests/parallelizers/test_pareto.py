"""The Pareto filter against pairwise comparison."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tangram_opt.parallelizers.pareto import non_dominated

costs = st.tuples(st.integers(0, 25), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.one_of(st.integers(0, 3), st.integers(-(2**63) + 1, 2**63 - 1)))
)


def keeps(rows: list[tuple[int, ...]]) -> list[int]:
    """Indices of the rows that no other beats or, coming earlier, equals."""

    def beaten(i: int) -> bool:
        return any(
            all(a <= b for a, b in zip(other, rows[i], strict=True)) and (other != rows[i] or j < i)
            for j, other in enumerate(rows)
            if j != i
        )

    return sorted((i for i in range(len(rows)) if not beaten(i)), key=lambda i: rows[i])


@given(costs)
def test_the_front_is_that_of_pairwise_comparison(rows: np.ndarray) -> None:
    assert non_dominated(rows).tolist() == keeps([tuple(row) for row in rows.tolist()])


def test_of_equal_rows_the_first_stays() -> None:
    assert non_dominated(np.array([[2, 1], [1, 2], [2, 1], [1, 2], [2, 2]])).tolist() == [1, 0]


def test_one_criterion_leaves_its_minimum() -> None:
    assert non_dominated(np.array([[5], [3], [4], [3]])).tolist() == [1]
