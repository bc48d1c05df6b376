"""Saved documents: reading, validation with errors for people, writing, and their JSON Schemas."""

from tangram_opt.documents.kinds import KINDS, schema
from tangram_opt.documents.loading import (
    load_cluster,
    load_cluster_or_problem,
    load_composition,
    load_composition_problem,
    load_instance,
    load_islands_problem,
    load_model,
    load_partition,
    load_plan,
    load_planning_problem,
)
from tangram_opt.documents.saving import dumps, save

__all__ = [
    "KINDS",
    "dumps",
    "load_cluster",
    "load_cluster_or_problem",
    "load_composition",
    "load_composition_problem",
    "load_instance",
    "load_islands_problem",
    "load_model",
    "load_partition",
    "load_plan",
    "load_planning_problem",
    "save",
    "schema",
]
