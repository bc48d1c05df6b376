"""Homogeneous parallelizers: the interface (paper table 2) and the built-in ``uniform``."""

from tangram_opt.parallelizers.interface import Answer, ModelSlice, Parallelizer, Profile, SlicePlan
from tangram_opt.parallelizers.uniform import UniformParallelizer

__all__ = ["Answer", "ModelSlice", "Parallelizer", "Profile", "SlicePlan", "UniformParallelizer"]
