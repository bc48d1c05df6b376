"""Factors between the units of the data (ns, bytes, operations) and those that people write."""

from __future__ import annotations

from typing import Final

NS_PER_S: Final = 10**9
NS_PER_MS: Final = 10**6

GIGA: Final = 10**9
TERA: Final = 10**12

MIB: Final = 2**20
GIB: Final = 2**30
