from __future__ import annotations

import pytest

from tangram_opt.catalogue import find_recipe, find_recipe_record, recipe_names
from tangram_opt.errors import InputError


@pytest.mark.parametrize(
    ("name", "state_bytes"), [("mixed-adam", 16), ("mixed-adam-fp32-grads", 18), ("mixed-adafactor", 9)]
)
def test_state_bytes_per_parameter_are_those_of_the_sources(name: str, state_bytes: int) -> None:
    assert find_recipe(name).state_bytes == state_bytes


def test_every_recipe_has_a_source() -> None:
    assert all(find_recipe_record(name).source and find_recipe_record(name).summary for name in recipe_names())


def test_an_unknown_recipe_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'mixed-adam'"):
        find_recipe("mixed-adamw")
