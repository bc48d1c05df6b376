"""Tables of results that say where, when and with what they were measured."""

from __future__ import annotations

import csv
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("tangram-opt", "numpy", "scipy", "ortools", "highspy", "pyomo")

Row = Mapping[str, object]


def write_report(name: str, title: str, notes: Sequence[str], rows: Sequence[Row]) -> None:
    """Write rows as CSV and, under a heading that names commit, machine and versions, as Markdown."""
    write_csv(name, rows)
    write_markdown(name, title, ["\n".join(notes), table(rows)])


def write_csv(name: str, rows: Sequence[Row]) -> None:
    """Write rows of the same columns as CSV."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_markdown(name: str, title: str, paragraphs: Sequence[str]) -> None:
    """Write and print paragraphs under a heading that names commit, machine and versions."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n\n".join([f"# {title}", measured_with(), *paragraphs]) + "\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


def table(rows: Sequence[Row]) -> str:
    """Write rows of the same columns as a Markdown table."""
    columns = list(rows[0])
    lines = [_line(columns), _line(["---"] * len(columns))]
    return "\n".join(lines + [_line([str(row[column]) for column in columns]) for row in rows])


def measured_with() -> str:
    """One sentence on commit, date, machine and versions."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", "tangram_opt", "formulations"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    state = " with uncommitted changes" if dirty.stdout.strip() else ""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"Measured on {date.today()} at commit {commit.stdout.strip()}{state}, Python {platform.python_version()}, "
        f"{cpu_count()} cores ({cpu_model()}); {versions}."
    )


def cpu_model() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
