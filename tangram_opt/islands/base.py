"""What the reference methods have in common as backends."""

from __future__ import annotations

from tangram_opt.data.island import IslandsProblem
from tangram_opt.method import Method


class IslandsMethod(Method):
    """A method for islands problems that proves little or nothing by itself."""

    takes = IslandsProblem
    refusal = "it solves islands problems only"
    exact = False
