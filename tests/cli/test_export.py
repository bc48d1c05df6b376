from __future__ import annotations

import pytest

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from tangram_opt import solvers


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
