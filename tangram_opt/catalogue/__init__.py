"""Facts about GPUs and training recipes, each with its source, and the lookup of them by name."""

from tangram_opt.catalogue.gpus import GpuRecord, find_gpu, find_gpu_record, gpu_names
from tangram_opt.catalogue.recipes import RecipeRecord, find_recipe, find_recipe_record, recipe_names

__all__ = [
    "GpuRecord",
    "RecipeRecord",
    "find_gpu",
    "find_gpu_record",
    "find_recipe",
    "find_recipe_record",
    "gpu_names",
    "recipe_names",
]
