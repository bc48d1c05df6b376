"""The arithmetic of the bench, on numbers that can be checked by hand."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import pytest

# The bench is no installed package.
_SPEC = importlib.util.spec_from_file_location("measured", Path(__file__).parents[2] / "bench" / "measured.py")
measured = importlib.util.module_from_spec(_SPEC)
sys.modules["measured"] = measured
_SPEC.loader.exec_module(measured)


def row(seed, wall_s, outcome="optimal", instance="uniform-4x2-1"):
    return measured.Measured(instance, "cpsat", "sweep", seed, outcome, "proved", 1, 1, wall_s, 1, None)


def test_the_median_over_seeds_counts_and_a_failure_counts_ten_limits():
    rows = [row(0, 1.0), row(1, 3.0), row(2, 2.0), row(0, 60.0, "feasible", "huge-1x1-1")]
    assert measured.times(rows, 60) == {"cpsat sweep": {"uniform-4x2-1": 2.0, "huge-1x1-1": 600.0}}


def test_a_wrong_answer_is_a_failure_however_fast():
    assert measured.times([row(0, 0.001, "error")], 60) == {"cpsat sweep": {"uniform-4x2-1": 600.0}}


def test_an_infeasible_instance_is_solved_by_its_proof():
    assert measured.times([row(0, 0.5, "infeasible")], 60) == {"cpsat sweep": {"uniform-4x2-1": 0.5}}


def test_the_shifted_geometric_mean():
    shift = measured.SHIFT_S
    assert measured.mean([1, 1, 1]) == pytest.approx(1)
    assert measured.mean([1 - shift, 100 - shift]) == pytest.approx(10 - shift)


def test_ratios_take_the_limit_where_the_slow_one_fails_and_skip_what_the_fast_one_fails():
    slow = {"a": 600.0, "b": 0.999, "c": 5.0, "only-slow": 1.0}
    fast = {"a": 0.599, "b": 0.099, "c": 600.0, "only-fast": 1.0}
    value, instances = measured.ratio(slow, fast, 60)
    assert instances == 2
    assert value == pytest.approx(math.sqrt(60.001 / 0.6 * 10))


def test_a_profile_counts_failures_and_instances_that_are_not_taken_as_infinitely_slow():
    one, other = {"a": 1.0, "b": 8.0, "c": 600.0}, {"a": 2.0, "b": 4.0, "c": 3.0, "d": 1.0}
    assert measured.profile([one, other], 60) == [[1.0, 2.0, math.inf, math.inf], [1.0, 1.0, 1.0, 2.0]]


def test_instances_that_nobody_solves_are_not_in_the_profile():
    assert measured.profile([{"a": 600.0}, {"a": 600.0}], 60) == [[], []]
