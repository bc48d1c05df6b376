"""From islands and slices to the options of a composition problem (paper section 5.1)."""

from tangram_opt.enumeration.pairs import IMBALANCE, INFEASIBILITY, REDUNDANCY, Pair, PairReport, enumerate_pairs
from tangram_opt.enumeration.problem import composition_problem
from tangram_opt.enumeration.queries import PairAnswer, Query, QueryProgress, run_queries
from tangram_opt.enumeration.slices import model_slices

__all__ = [
    "IMBALANCE",
    "INFEASIBILITY",
    "REDUNDANCY",
    "Pair",
    "PairAnswer",
    "PairReport",
    "Query",
    "QueryProgress",
    "composition_problem",
    "enumerate_pairs",
    "model_slices",
    "run_queries",
]
