"""Numbers in the units that people read."""

from __future__ import annotations

from tangram_opt.data.units import GIB, NS_PER_MS


def duration(ns: float) -> str:
    """Write a time with its unit, in four significant digits from ns to s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{decimals(ns / size, 4)} {unit}"
    return f"{ns:.0f} ns"


def milliseconds(ns: int) -> str:
    """Write a time in ms, without the unit."""
    return decimals(ns / NS_PER_MS, 4)


def gib(size_bytes: int) -> str:
    """Write a size in GiB, without the unit."""
    return decimals(size_bytes / GIB, 3)


def count(number: float) -> str:
    """Write a count in full, with separators."""
    return f"{number:,.0f}"


def magnitude(number: float) -> str:
    """Write a large count in thousands (K), millions (M), billions (B) or trillions (T), three digits."""
    for unit, size in ((" T", 1e12), (" B", 1e9), (" M", 1e6), (" K", 1e3)):
        if number >= size:
            return decimals(number / size, 3) + unit
    return count(number)


def percent(share: float) -> str:
    """Write a share of 1 in percent."""
    return f"{100 * share:.1f} %"


def decimals(value: float, digits: int) -> str:
    """Write a number in `digits` significant digits, but all before the point and at most three after it."""
    if value == 0:
        return "0"
    if abs(value) < 0.0005:
        return "<0.001"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{min(max(digits - whole, 0), 3)}f}"
