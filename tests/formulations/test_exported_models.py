"""Exported models, read back by another solver, have the optimum of the dynamic program."""

from __future__ import annotations

import re

import highspy
import pytest
from ortools.linear_solver.python import model_builder
from ortools.sat.python import cp_model

import tangram_opt
from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from tangram_opt.crosscheck import Size, generate
from tangram_opt.errors import InputError

PROBLEMS = {
    family: generate(family, Size(4, 2, 2), 1) for family in ("uniform", "edges", "irregular", "links", "memory")
}
CASES = [
    pytest.param(problem, formulation, id=f"{family}-{formulation}")
    for family, problem in PROBLEMS.items()
    for formulation in HighsSolver().formulations(problem)
    if formulation != "sweep"
]
NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)


def optimum(problem) -> int:
    return tangram_opt.solve(problem, "dp").objective


@pytest.mark.parametrize(("problem", "formulation"), CASES)
def test_scip_finds_the_optimum_of_an_mps_file(tmp_path, problem, formulation):
    HighsSolver().export(problem, formulation, "mps", tmp_path / "model.mps")
    model = model_builder.Model()
    assert model.import_from_mps_file(str(tmp_path / "model.mps"))
    scip = model_builder.Solver("scip")
    assert scip.solve(model) == model_builder.SolveStatus.OPTIMAL
    assert round(scip.objective_value) == optimum(problem)


@pytest.mark.parametrize(("problem", "formulation"), CASES)
def test_an_lp_file_has_the_optimum_and_stable_names(tmp_path, problem, formulation):
    HighsSolver().export(problem, formulation, "lp", tmp_path / "model.lp")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "model.lp"))
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    assert round(highs.getInfo().objective_function_value) == optimum(problem)
    columns, rows = highs.getLp().col_names_, highs.getLp().row_names_
    assert any(name.startswith(("x_", "use_")) for name in columns)
    assert [name for name in (*columns, *rows) if not NAME.fullmatch(name)] == []
    # HiGHS numbers all columns and rows anew where it dislikes a single name.
    assert not {"c0", "r0"} & {*columns, *rows}
    assert len(set(columns)) == len(columns)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(("problem", "formulation"), CASES)
def test_a_cpsat_model_has_the_optimum(tmp_path, problem, formulation):
    CpSat().export(problem, formulation, "cpsat", tmp_path / "model.txt")
    model = cp_model.CpModel()
    assert model.proto.parse_text_format((tmp_path / "model.txt").read_text())
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    assert round(solver.objective_value) == optimum(problem)


def test_two_exports_are_the_same_file(tmp_path):
    for backend, file_format in ((HighsSolver(), "mps"), (HighsSolver(), "lp"), (CpSat(), "cpsat")):
        for name in ("one", "two"):
            backend.export(PROBLEMS["edges"], "auto", file_format, tmp_path / name)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_sequence_of_models_is_no_model(tmp_path):
    with pytest.raises(InputError, match="'sweep' is a sequence of models"):
        HighsSolver().export(PROBLEMS["uniform"], "sweep", "mps", tmp_path / "model.mps")


def test_an_unknown_formulation_is_refused(tmp_path):
    with pytest.raises(InputError, match="'deadlin'"):
        CpSat().export(PROBLEMS["uniform"], "deadlin", "cpsat", tmp_path / "model.pb")


def test_a_formulation_that_is_not_exact_is_refused(tmp_path):
    with pytest.raises(InputError, match="not exact"):
        HighsSolver().export(generate("links", Size(4, 3, 3), 1), "deadline", "mps", tmp_path / "model.mps")


def test_a_problem_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="no model to write"):
        HighsSolver().export(generate("infeasible-cover", Size(4, 2, 2), 1), "auto", "mps", tmp_path / "model.mps")
    assert list(tmp_path.iterdir()) == []
