"""Labels of a dynamic program as columns, and how many of them are looked at together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.table import Ints

CHUNK: Final = 1 << 19
"""Most (label, option) pairs looked at together: bounds the memory."""

LOOK_BACK: Final = 4
"""In an order of cost, so many labels before one are asked whether they replace it: that removes nearly all."""


@dataclass(frozen=True)
class Columns:
    """Base of labels: a dataclass whose fields are arrays with one row per label."""

    def keep(self, which: Ints | NDArray[np.bool_] | slice) -> Self:
        """Keep some labels, in the given order."""
        return type(self)(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put labels one after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))
