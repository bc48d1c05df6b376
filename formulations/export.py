"""Models of composition problems as files that other solvers read.

The objective in a file is the iteration time in ns, its constant part included, and names are those of the
formulation. A backend's own hook gives the model, so what is written is what that backend would solve.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from formulations.composition_arc_flow import ArcFlow
from formulations.linear import LinearModel, OpenModel
from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.errors import InputError

SEVERAL_MODELS = "sweep"
"""The formulation that is a sequence of models, each depending on the answers to those before."""


def captured_model(backend: Backend, problem: CompositionProblem, formulation: str) -> Any:
    """Take the model that a backend is about to solve.

    Parameters
    ----------
    backend : Backend
        With the hook `on_model`.
    problem : CompositionProblem
        The problem.
    formulation : str
        Of the backend; ``auto`` takes the first that is one model.

    Returns
    -------
    OpenModel or ArcFlow
        Not solved.

    Raises
    ------
    InputError
        The formulation is not one model, or the problem is infeasible before there is a model.
    """
    if formulation == "auto":
        formulation = next(name for name in backend.formulations(problem) if name != SEVERAL_MODELS)
    if formulation == SEVERAL_MODELS:
        raise InputError(f"formulation {formulation!r} is a sequence of models, expected one that is a single model")

    def take(model: Any) -> None:
        raise _CapturedError(model)

    try:
        backend.solve(problem, SolveOptions(formulation=formulation, on_model=take))
    except _CapturedError as captured:
        return captured.model
    raise InputError(f"{problem.name}: there is no model to write, the options cannot hold the whole model anyway")


def write_highs(backend: Backend, problem: CompositionProblem, formulation: str, file_format: str, path: Path) -> None:
    """Write an MPS or LP file with HiGHS.

    Parameters
    ----------
    backend : Backend
        Whose model it is.
    problem : CompositionProblem
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
    highs = _plain_highs(model.formulation.linear)
    _write(path, f".{file_format}", lambda file: highs.writeModel(file).name == "kOk")


def write_cpsat(backend: Backend, problem: CompositionProblem, formulation: str, path: Path) -> None:
    """Write the protocol buffer of a CP-SAT model, as text where the file's name ends in ``.txt``.

    Parameters
    ----------
    backend : Backend
        Whose model it is.
    problem : CompositionProblem
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


def _plain_highs(linear: LinearModel) -> Any:
    """Write a linear model for HiGHS as it stands, in ns: a file is for any solver, whatever suits HiGHS best."""
    if linear.largest_magnitude() >= 1 << 53:
        raise InputError(f"sums up to {linear.largest_magnitude()} occur, expected less than 2^53 in a file")
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(linear.variables), len(linear.rows)
    lp.offset_ = float(linear.constant)
    lp.col_cost_ = np.array([v.cost for v in linear.variables], dtype=np.float64)
    lp.col_lower_ = np.array([v.lower for v in linear.variables], dtype=np.float64)
    lp.col_upper_ = np.array([v.upper for v in linear.variables], dtype=np.float64)
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kContinuous if v.follows else kinds.kInteger for v in linear.variables]
    lp.row_lower_ = np.array([-inf if r.lower is None else r.lower for r in linear.rows], dtype=np.float64)
    lp.row_upper_ = np.array([inf if r.upper is None else r.upper for r in linear.rows], dtype=np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0, *(len(r.terms) for r in linear.rows)], dtype=np.int32)
    lp.a_matrix_.index_ = np.array([i for r in linear.rows for i in r.terms], dtype=np.int32)
    lp.a_matrix_.value_ = np.array([c for r in linear.rows for c in r.terms.values()], dtype=np.float64)
    lp.col_names_ = [v.name for v in linear.variables]
    lp.row_names_ = [r.name for r in linear.rows]
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.passModel(lp)
    return highs


def _write(path: Path, suffix: str, write: Callable[[str], Any]) -> None:
    """Write a file whole or not at all; the libraries take the format from the suffix."""
    temporary = path.parent / f".{path.name}.{os.getpid()}{suffix}"
    try:
        if not write(str(temporary)):
            raise InputError(f"{path}: cannot be written")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
