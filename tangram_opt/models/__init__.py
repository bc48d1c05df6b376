"""Models: from a Hugging Face ``config.json`` to the atoms that a stage can hold.

A family's config class (:mod:`tangram_opt.models.families`) validates the keys that matter and describes the
architecture in blocks; blocks count their own costs (:mod:`tangram_opt.models.costs` derives the formulas).
"""

from tangram_opt.models.reader import families, model_from_config

__all__ = ["families", "model_from_config"]
