import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tangram_opt.data.model import Atom, Model
from tangram_opt.models import model_from_config

INSTANCES = Path(__file__).parents[2] / "instances" / "models"


@pytest.fixture(scope="session")
def config() -> Callable[..., dict[str, Any]]:
    """A config of the instance library, with keys changed or (given as ...) left out."""

    def load(name: str, **changes: Any) -> dict[str, Any]:
        merged = json.loads((INSTANCES / f"{name}.json").read_text()) | changes
        return {key: value for key, value in merged.items() if value is not ...}

    return load


@pytest.fixture(scope="session")
def model(config: Callable[..., dict[str, Any]]) -> Callable[..., Model]:
    def read(name: str, **changes: Any) -> Model:
        return model_from_config(config(name, **changes), name)

    return read


@pytest.fixture(scope="session")
def layers(model: Callable[..., Model]) -> Callable[..., list[Atom]]:
    def read(name: str, **changes: Any) -> list[Atom]:
        return [atom for atom in model(name, **changes).atoms() if atom.kind == "layer"]

    return read
