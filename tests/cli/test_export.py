from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from tangram_opt import documents, solvers


@pytest.fixture(autouse=True)
def _two_writers(monkeypatch):
    monkeypatch.setattr(solvers, "available", lambda: (CpSat(), HighsSolver()))


@pytest.mark.parametrize(("file_format", "start"), [("mps", b"NAME"), ("lp", b"\\ "), ("cpsat", b"")])
def test_a_model_is_written(tangram, folder, file_format, start):
    ran = tangram("export", folder / "composition-problem.json", "--to", file_format, "-o", folder / "model")
    assert (ran.code, ran.out) == (0, "")
    assert "written: " in ran.err
    written = (folder / "model").read_bytes()
    assert written.startswith(start)
    assert b"x_0_0" in written


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("{composition-problem.json}", "--to", "gams", "-o", "{model}"), "gams"),
        (("{composition-problem.json}", "--to", "mps"), "--output"),
        (("{composition-problem.json}", "--to", "mps", "-o", "{absent/model}"), "absent"),
        (("{composition-problem.json}", "--to", "mps", "-o", "{model}", "--formulation", "sweep"), "sequence"),
        (("{composition-problem.json}", "--to", "mps", "-o", "{model}", "--formulation", "swep"), "swep"),
        (("{planning-problem.json}", "--to", "mps", "-o", "{model}"), "planning-problem.json: a planning problem"),
        (("{absent.json}", "--to", "mps", "-o", "{model}"), "absent.json"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tangram, folder, arguments, named):
    ran = tangram("export", *(str(folder / a[1:-1]) if a.startswith("{") else a for a in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert named in ran.err
    assert ran.err.count("\n") == 1
    assert not (folder / "model").exists()


def test_a_format_that_nobody_writes_is_refused(tangram, folder, monkeypatch):
    monkeypatch.setattr(solvers, "available", lambda: (CpSat(),))
    ran = tangram("export", folder / "composition-problem.json", "--to", "lp", "-o", folder / "model")
    assert ran.code == 2
    assert "no solver writes lp files" in ran.err


def test_a_problem_by_the_period_has_no_single_model(tangram, folder, tmp_path):
    problem = documents.load_composition_problem(folder / "composition-problem.json")
    documents.save(replace(problem, objective="period"), folder / "by-period.json")
    ran = tangram("export", folder / "by-period.json", "--to", "mps", "-o", tmp_path / "model.mps")
    assert ran.code == 2
    assert "is a sequence of models" in ran.err
    assert not (tmp_path / "model.mps").exists()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
def test_a_model_that_cannot_be_written_whole_is_not_called_written(tangram, folder):
    ran = tangram("export", folder / "composition-problem.json", "--to", "mps", "-o", "/dev/full")
    assert (ran.code, "written" in ran.out + ran.err) == (2, False)
    assert "/dev/full" in ran.err
