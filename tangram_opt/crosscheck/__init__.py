"""The cross-check: all solvers on the same problems, each in its own process, and whether their answers fit together.

>>> from tangram_opt.crosscheck import crosscheck, random_problems
>>> report = crosscheck(random_problems(100, seed=1), ["dp", "cpsat"], fresh=False)  # doctest: +SKIP
>>> report.agree  # doctest: +SKIP
True
"""

from tangram_opt.crosscheck.agreement import Fault
from tangram_opt.crosscheck.campaign import Disagreement, Report, Row, crosscheck
from tangram_opt.crosscheck.conformance import Case, conformance_cases
from tangram_opt.crosscheck.families import FAMILIES, Size, generate, random_problems
from tangram_opt.crosscheck.islands_families import ISLANDS_FAMILIES, generate_islands, random_islands_problems
from tangram_opt.crosscheck.saving import save_disagreements

__all__ = [
    "FAMILIES",
    "ISLANDS_FAMILIES",
    "Case",
    "Disagreement",
    "Fault",
    "Report",
    "Row",
    "Size",
    "conformance_cases",
    "crosscheck",
    "generate",
    "generate_islands",
    "random_islands_problems",
    "random_problems",
    "save_disagreements",
]
