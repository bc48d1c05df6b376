from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tangram_opt

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tangram_opt", "formulations")

SOLVER_LIBRARIES = ("ortools", "highspy", "pyomo")
# What the modules of a part may import of the two packages.
MAY_IMPORT = {
    "tangram_opt.data": ("tangram_opt.data",),
    "tangram_opt.result": (),
    "tangram_opt.errors": (),
    "tangram_opt.backend": ("tangram_opt.data", "tangram_opt.errors", "tangram_opt.result"),
}
# What the modules of a part must not import.
MUST_NOT_IMPORT = {
    "tangram_opt": (*SOLVER_LIBRARIES, "formulations"),
    "formulations": ("tangram_opt.cli", "tangram_opt.planner", "tangram_opt.documents", "tangram_opt.show"),
    **{
        f"tangram_opt.{part}": ("tangram_opt.cli", "tangram_opt.planner", "tangram_opt.show", "tangram_opt.solvers")
        for part in ("catalogue", "composition", "enumeration", "islands", "models", "parallelizers", "pipeline")
    },
    "tangram_opt.planner": ("tangram_opt.cli", "tangram_opt.show"),
    "tangram_opt.crosscheck": ("tangram_opt.cli", "tangram_opt.planner", "tangram_opt.show"),
    "tangram_opt.show": ("tangram_opt.cli", "tangram_opt.planner"),
    "tangram_opt.documents": ("tangram_opt.cli", "tangram_opt.planner", "tangram_opt.show"),
    "tangram_opt.solvers": ("tangram_opt.cli", "tangram_opt.planner", "tangram_opt.show"),
}


def within(module: str, parts: tuple[str, ...]) -> bool:
    return any(module == part or module.startswith(f"{part}.") for part in parts)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, name: str, *, is_package: bool) -> set[str]:
    """Absolute names of all modules that a module's source imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = name.split(".")
                anchor = anchor[: len(anchor) - node.level + (1 if is_package else 0)]
                base = ".".join([*anchor, base] if base else anchor)
            found.add(base)
            # `from tangram_opt import cli` imports a module too.
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def violations(source: str, name: str, *, is_package: bool = False) -> list[str]:
    wrong = []
    for module in sorted(imported(source, name, is_package=is_package)):
        for part, forbidden in MUST_NOT_IMPORT.items():
            if within(name, (part,)) and within(module, forbidden):
                wrong.append(f"{name} imports {module}")
        for part, allowed in MAY_IMPORT.items():
            if within(name, (part,)) and within(module, PACKAGES) and not within(module, allowed):
                wrong.append(f"{name} imports {module}")
    return wrong


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_imports_follow_the_arrows():
    wrong = []
    for path in modules():
        wrong += violations(path.read_text(), module_name(path), is_package=path.name == "__init__.py")
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("tangram_opt.data.cluster", "from tangram_opt.errors import InputError"),
        ("tangram_opt.data.cluster", "from ..errors import InputError"),
        ("tangram_opt.composition.exact", "def f():\n    import tangram_opt.cli"),
        ("tangram_opt.islands.conditions", "from tangram_opt import planner"),
        ("tangram_opt.planner.search", "from ortools.sat.python import cp_model"),
        ("tangram_opt.solvers", "import formulations.cpsat"),
        ("formulations.composition_cpsat", "from tangram_opt.documents import load_plan"),
    ],
)
def test_a_wrong_import_is_seen(name, source):
    assert violations(source, name) != []


def test_every_part_the_arrows_name_exists():
    names = {module_name(path) for path in modules()}
    assert {*MAY_IMPORT, *MUST_NOT_IMPORT} <= names


def test_every_module_imports_and_says_what_it_is():
    for path in modules():
        if path.name != "__main__.py":
            assert importlib.import_module(module_name(path)).__doc__, path


def test_every_exported_name_exists():
    assert [name for name in tangram_opt.__all__ if not hasattr(tangram_opt, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'pla'"):
        tangram_opt.pla  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_both_packages_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()


def kept_files() -> list[Path]:
    """Files of the repository: those that git would keep, or all of an unpacked archive."""
    git = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if git.returncode == 0:
        files = [ROOT / line for line in git.stdout.splitlines()]
    else:
        files = [path for path in ROOT.rglob("*") if not any(part == ".venv" for part in path.parts)]
    return [path for path in files if path.is_file()]


def places_of_this_machine() -> re.Pattern[str]:
    folders = {ROOT, ROOT.parent, Path.home()}
    names = "|".join(re.escape(str(folder)) for folder in folders if len(folder.parts) > 1)
    return re.compile(rf"(?<![\w.])(?:{names})/")


REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|anaconda)\.(?:org|com)\b")


def test_no_file_names_a_place_of_this_machine_or_a_package_registry():
    places = places_of_this_machine()
    assert places.search(f"see {ROOT}/notes.txt")
    assert REGISTRY.search("https://" + "pypi" + ".org/simple")
    wrong = []
    for path in kept_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        wrong += [f"{path}: {match[0]}" for pattern in (places, REGISTRY) if (match := pattern.search(text))]
    assert wrong == []


def test_every_dependency_is_pinned_to_one_version():
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, version = line.split("==")
            assert name not in pins
            pins[re.sub(r"[-_.]+", "-", name).lower()] = version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower() for requirement in wanted}
    assert names - {"tangram-opt"} <= set(pins)


def test_the_licence_is_the_one_that_is_declared():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert importlib.metadata.metadata("tangram-opt")["License-Expression"] == "Apache-2.0"
