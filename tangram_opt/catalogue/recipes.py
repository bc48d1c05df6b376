"""Training recipes: ``recipes.yaml``, bytes of training state per parameter with their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from tangram_opt.data.workload import TrainingRecipe
from tangram_opt.errors import InputError
from tangram_opt.spelling import did_you_mean


@dataclass(frozen=True, slots=True)
class RecipeRecord:
    """A recipe of the catalogue, with what it is and where its figures come from."""

    recipe: TrainingRecipe
    summary: str
    source: str


def recipe_names() -> tuple[str, ...]:
    """Names of all recipes in the catalogue, in its order."""
    return tuple(_records())


def find_recipe(name: str) -> TrainingRecipe:
    """Figures of a recipe by its name; see :func:`find_recipe_record`."""
    return find_recipe_record(name).recipe


def find_recipe_record(name: str) -> RecipeRecord:
    """Look a training recipe up by its name.

    Parameters
    ----------
    name : str
        Its name in the catalogue.

    Returns
    -------
    RecipeRecord
        The recipe with its summary and source.

    Raises
    ------
    InputError
        When the catalogue has no recipe of this name.
    """
    records = _records()
    if name in records:
        return records[name]
    guess = did_you_mean(name, records)
    raise InputError(f"recipe {name!r} is not in the catalogue, expected one of {', '.join(records)}{guess}")


@cache
def _records() -> Mapping[str, RecipeRecord]:
    text = (files("tangram_opt.catalogue") / "recipes.yaml").read_text(encoding="utf-8")
    records: dict[str, RecipeRecord] = {}
    for row in yaml.safe_load(text):
        summary, source = row.pop("summary"), row.pop("source")
        recipe = TrainingRecipe(**row)
        records[recipe.name] = RecipeRecord(recipe, summary, source)
    return records
