"""Numbers keep their value in the units that people read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.show.units import count, duration, gib, magnitude, milliseconds, percent

SIZES = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


def test_known_values() -> None:
    assert duration(12_345_678_901) == "12.35 s"
    assert duration(345_600_000) == "345.6 ms"
    assert duration(12_000) == "12.00 us"
    assert duration(7) == "7 ns"
    assert milliseconds(0) == "0"
    assert milliseconds(123_456_789) == "123.5"
    assert milliseconds(12) == "<0.001"
    assert gib(38 * 2**30) == "38.0"
    assert gib(0) == "0"
    assert magnitude(70_553_706_496) == "70.6 B"
    assert magnitude(671_026_419_200) == "671 B"
    assert magnitude(999) == "999"
    assert count(1_048_576) == "1,048,576"
    assert percent(0.4567) == "45.7 %"


@given(st.integers(1, 10**17))
def test_a_duration_reads_back_within_its_last_digit(ns: int) -> None:
    number, unit = duration(ns).split(" ")
    assert float(number.replace(",", "")) * SIZES[unit] == pytest.approx(ns, rel=5e-4)


@given(st.integers(0, 10**17))
def test_no_digit_before_the_point_is_lost(ns: int) -> None:
    text = milliseconds(ns)
    assert text == "<0.001" or abs(float(text.replace(",", "")) * 1e6 - ns) <= max(ns * 5e-4, 500_000)
