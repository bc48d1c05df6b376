"""The template of a backend does what its own tests ask of it."""

from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[1] / "docs" / "backend_template"


def test_the_template_passes_the_conformance_suite(monkeypatch):
    monkeypatch.syspath_prepend(str(TEMPLATE))
    arguments = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-c",
        str(TEMPLATE / "pyproject.toml"),
        str(TEMPLATE),
    ]
    assert pytest.main(arguments) == pytest.ExitCode.OK
