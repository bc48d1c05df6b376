"""Models of problems as files that other solvers read.

The objective in a file is that of the problem: of a composition the iteration time in ns, its constant part included,
of islands their number. Names are those of the formulation. A backend's own hook gives the model, so what is written
is what that backend would solve.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formulations.composition_arc_flow import ArcFlow
from formulations.linear import LinearModel, OpenModel
from formulations.linear_highs import plain_highs_model
from tangram_opt.backend import Backend, Problem, SolveOptions
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.errors import InputError

SEVERAL_MODELS = "sweep"
"""The formulation that is a sequence of models, each depending on the answers to those before."""


def captured_model(backend: Backend, problem: Problem, formulation: str) -> Any:
    """Take the model that a backend is about to solve.

    Parameters
    ----------
    backend : Backend
        With the hook `on_model`.
    problem : IslandsProblem or CompositionProblem
        The problem.
    formulation : str
        Of the backend; ``auto`` takes the first that is one model, and representatives for islands.

    Returns
    -------
    OpenModel or ArcFlow
        Not solved.

    Raises
    ------
    InputError
        The formulation is not one model, or the problem is infeasible before there is a model.
    """
    if formulation == "auto" and isinstance(problem, CompositionProblem):
        formulation = next((name for name in backend.formulations(problem) if name != SEVERAL_MODELS), SEVERAL_MODELS)
    if formulation == SEVERAL_MODELS:
        raise InputError(
            f"{problem.name}: formulation {formulation!r} is a sequence of models, expected a single model; "
            "the closed form has some"
        )

    def take(model: Any) -> None:
        raise _CapturedError(model)

    try:
        backend.solve(problem, SolveOptions(formulation=formulation, on_model=take))
    except _CapturedError as captured:
        return captured.model
    raise InputError(f"{problem.name}: there is no model to write, the options cannot hold the whole model anyway")


def write_highs(backend: Backend, problem: Problem, formulation: str, file_format: str, path: Path) -> None:
    """Write an MPS or LP file with HiGHS.

    Parameters
    ----------
    backend : Backend
        Whose model it is.
    problem : IslandsProblem or CompositionProblem
        The problem.
    formulation : str
        Of the backend.
    file_format : {"lp", "mps"}
        Which format.
    path : Path
        The file.

    Raises
    ------
    InputError
        See :func:`captured_model`; or a number is too large for the file.
    """
    model = captured_model(backend, problem, formulation)
    linear: LinearModel = model.formulation.linear
    _check_exact(linear)
    # As it stands: a file is for any solver, whatever suits HiGHS best.
    highs = plain_highs_model(linear)
    _write(path, f".{file_format}", lambda file: highs.writeModel(file).name == "kOk")


def write_cpsat(backend: Backend, problem: Problem, formulation: str, path: Path) -> None:
    """Write the protocol buffer of a CP-SAT model, as text where the file's name ends in ``.txt``.

    Parameters
    ----------
    backend : Backend
        Whose model it is.
    problem : IslandsProblem or CompositionProblem
        The problem.
    formulation : str
        Of the backend.
    path : Path
        The file.

    Raises
    ------
    InputError
        See :func:`captured_model`.
    """
    model = captured_model(backend, problem, formulation)
    cpsat = model.model
    if isinstance(model, OpenModel):
        from ortools.sat.python.cp_model import LinearExpr

        linear: LinearModel = model.formulation.linear
        variables = [model.variables[variable.name] for variable in linear.variables]
        costs = [variable.cost for variable in linear.variables]
        cpsat.minimize(LinearExpr.weighted_sum(variables, costs) + linear.constant)
    else:
        assert isinstance(model, ArcFlow)
    _write(path, ".txt" if path.suffix == ".txt" else ".pb", cpsat.export_to_file)


class _CapturedError(Exception):
    """Carries a model out of a solve before it starts."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model


def _check_exact(linear: LinearModel) -> None:
    """Refuse numbers that a file, which is read in floating point, would change."""
    if linear.largest_magnitude() >= 1 << 53:
        raise InputError(f"sums up to {linear.largest_magnitude()} occur, expected less than 2^53 in a file")


def _write(path: Path, suffix: str, write: Callable[[str], Any]) -> None:
    """Write a file whole or not at all; the libraries take the format from the suffix."""
    temporary = path.parent / f".{path.name}.{os.getpid()}{suffix}"
    try:
        if not write(str(temporary)):
            raise InputError(f"{path}: cannot be written")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
