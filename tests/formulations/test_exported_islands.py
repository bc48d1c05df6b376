"""Exported models of islands, read back by another solver, have the number of islands that was proven."""

from __future__ import annotations

import highspy
import pytest
from ortools.linear_solver.python import model_builder
from ortools.sat.python import cp_model

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from tangram_opt.backend import SolveOptions
from tangram_opt.crosscheck import generate_islands
from tangram_opt.errors import InputError

ASKING, BOXES, TIERS = (generate_islands(*made) for made in (("tastes", 9, 15), ("boxes", 9, 3), ("tiers", 9, 2)))
CASES = [
    pytest.param(problem, formulation, id=f"{problem.name}-{formulation}")
    for problem in (ASKING, BOXES, TIERS)
    for formulation in ("auto", "set-partition", *(("cover",) if problem is BOXES else ()))
]
each_case = pytest.mark.parametrize(("problem", "formulation"), CASES)


def fewest(problem):
    return CpSat().solve(problem, SolveOptions()).objective


@each_case
def test_scip_finds_the_fewest_islands_of_an_mps_file(tmp_path, problem, formulation):
    HighsSolver().export(problem, formulation, "mps", tmp_path / "model.mps")
    model = model_builder.Model()
    assert model.import_from_mps_file(str(tmp_path / "model.mps"))
    scip = model_builder.Solver("scip")
    assert scip.solve(model) == model_builder.SolveStatus.OPTIMAL
    assert round(scip.objective_value) == fewest(problem)


@each_case
def test_an_lp_file_has_the_fewest_islands_and_the_names_of_the_formulation(tmp_path, problem, formulation):
    HighsSolver().export(problem, formulation, "lp", tmp_path / "model.lp")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "model.lp"))
    highs.run()
    assert round(highs.getInfo().objective_function_value) == fewest(problem)
    columns, rows = highs.getLp().col_names_, highs.getLp().row_names_
    assert all(name.startswith("x_" if formulation == "auto" else "y_") for name in columns)
    assert ("covered_0" if formulation == "cover" else "one_0") in rows
    assert len(set(columns)) == len(columns)
    assert len(set(rows)) == len(rows)


@each_case
def test_a_cpsat_model_has_the_fewest_islands(tmp_path, problem, formulation):
    CpSat().export(problem, formulation, "cpsat", tmp_path / "model.txt")
    model = cp_model.CpModel()
    assert model.proto.parse_text_format((tmp_path / "model.txt").read_text())
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    assert round(solver.objective_value) == fewest(problem)


def test_a_formulation_that_is_not_exact_is_refused(tmp_path):
    with pytest.raises(InputError, match="'cover' is not exact for this problem: the network asks"):
        HighsSolver().export(ASKING, "cover", "mps", tmp_path / "model.mps")
