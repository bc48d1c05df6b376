"""The memory-saving techniques that a layout can be combined with; they are the leading axes of all arrays."""

from __future__ import annotations

from typing import Final

ZERO_STAGES: Final = (0, 1, 2, 3)
"""Sharded over data-parallel ranks: nothing, optimizer states, and gradients, and weights (Rajbhandari et al. 2020)."""

RECOMPUTE: Final = ("none", "selective", "full")
"""Activation recomputation: nothing, attention scores, whole layers (Korthikanti et al. 2022, section 5)."""

OFFLOAD: Final = (False, True)
"""Whether kept activations wait in host memory (Rhu et al. 2016)."""
