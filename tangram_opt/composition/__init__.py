"""Composition of options into one pipeline (paper section 5.2): evaluation without a solver, and dynamic programs."""

from tangram_opt.composition.answer import answer
from tangram_opt.composition.evaluation import Evaluation, check, evaluate
from tangram_opt.composition.infeasible import why_infeasible
from tangram_opt.composition.placement import depth_limit, positions

__all__ = ["Evaluation", "answer", "check", "depth_limit", "evaluate", "positions", "why_infeasible"]
