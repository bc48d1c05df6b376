"""Homogeneous parallelizers: the interface (paper table 2) and the built-in ``uniform``."""
