"""From a planning problem to a plan: islands, enumeration, composition, report."""

from tangram_opt.planner.check import check
from tangram_opt.planner.planner import plan_problem
from tangram_opt.planner.search import Search, search

__all__ = ["Search", "check", "plan_problem", "search"]
