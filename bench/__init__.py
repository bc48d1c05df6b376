"""Measurements: ``python -m bench NAME`` writes ``bench/results/NAME.csv`` and ``NAME.md``."""
