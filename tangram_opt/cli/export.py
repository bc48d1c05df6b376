"""``tangram-opt export``: the optimisation model of an instance as a file for other solvers."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from tangram_opt import documents, solvers
from tangram_opt.backend import Backend, Exporter, Problem
from tangram_opt.cli.output import check_writable, say_written
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError


def export(
    instance: Annotated[
        Path, typer.Argument(metavar="INSTANCE", help="An islands or composition problem.", show_default=False)
    ],
    to: Annotated[
        Literal["mps", "lp", "cpsat"],
        typer.Option("--to", help="MPS or LP file, or the protocol buffer of CP-SAT.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")],
    formulation: Annotated[
        str, typer.Option("--formulation", metavar="NAME", help="Of the solver that writes the format.")
    ] = "auto",
) -> None:
    """Export the model of an instance; its objective is that of the instance, in ns for compositions."""
    check_writable(output, read=[instance])
    problem = documents.load_instance(instance)
    if isinstance(problem, PlanningProblem):
        raise InputError(f"{instance}: a planning problem, expected an islands problem or a composition problem")
    # Libraries do not say when they cannot write all of a file: they write another one, and this one is copied.
    with TemporaryDirectory() as folder:
        whole = Path(folder) / output.name
        _exporter(problem, to, instance).export(problem, formulation, to, whole)
        try:
            copyfile(whole, output)
        except OSError as error:
            raise InputError(f"{output}: {error.strerror}") from error
    say_written(output)


def _exporter(problem: Problem, to: str, instance: Path) -> Exporter:
    """Find the first solver that writes a format and takes a problem."""
    writers = [
        each
        for each in solvers.available()
        if isinstance(each, Backend) and isinstance(each, Exporter) and to in each.export_formats
    ]
    ready = [each for each in writers if each.missing() is None]
    if not ready:
        needed = ", ".join(f"{each.name} needs {each.missing()}" for each in writers) or "none is registered"
        raise InputError(f"no solver writes {to} files: {needed}")
    for each in ready:
        if each.unsupported(problem) is None:
            return each
    raise InputError(f"{instance}: solver {ready[0].name!r} cannot take it: {ready[0].unsupported(problem)}")
