"""The library of composition problems: files as published, and best known values that can be believed."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from generate import library
from publishing import checksums

import tangram_opt
from tangram_opt.composition import check, evaluate
from tangram_opt.crosscheck import FAMILIES, Size, generate
from tangram_opt.documents import dumps, load_composition, load_composition_problem

ROOT = Path(__file__).parents[2] / "instances"
FOLDER = ROOT / "composition"
FILES = sorted(FOLDER.glob("*.json"))


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def best_known():
    with (FOLDER / "best_known.csv").open(newline="") as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def test_every_file_is_as_published():
    found = {path.name: digest(path.read_bytes()) for path in FILES}
    # After a new instance: python instances/generate.py
    assert found == checksums(FOLDER)


def test_a_changed_file_would_be_seen():
    text = FILES[0].read_bytes()
    assert digest(text) == checksums(FOLDER)[FILES[0].name]
    assert digest(text.replace(b"1", b"2", 1)) != checksums(FOLDER)[FILES[0].name]


def test_the_generator_makes_the_published_files():
    published = checksums(FOLDER)
    made = {f"{problem.name}.json": digest(dumps(problem).encode()) for problem in library()}
    assert made == {name: published[name] for name in made}


def test_there_are_sixty_instances_of_every_family_beside_those_of_planning_problems():
    names = [problem_name for problem_name in checksums(FOLDER) if not problem_name.startswith(("paper-", "beyond-"))]
    assert len(names) >= 60
    assert {family for family in FAMILIES if not any(name.startswith(f"{family}-") for name in names)} == set()


def test_the_library_is_small_enough_to_be_cloned():
    synthetic = [path for path in FILES if not path.name.startswith(("paper-", "beyond-"))]
    assert sum(path.stat().st_size for path in synthetic) < 15e6


def test_the_same_seed_makes_the_same_problem_and_another_one_another():
    for family in FAMILIES:
        one, same, other = (generate(family, Size(7, 3, 2), seed) for seed in (1, 1, 2))
        assert one == same
        assert (one.options, one.atoms, one.islands) != (other.options, other.atoms, other.islands)


def test_every_instance_has_a_best_known_entry():
    # After a new instance: python instances/best_known.py NAME
    assert set(best_known()) == {path.stem for path in FILES}


def test_statuses_mean_what_they_say():
    for row in best_known().values():
        objective, bound = row["objective"], row["bound"]
        if row["status"] == "=opt=":
            assert objective == bound != ""
        elif row["status"] == "=best=":
            assert bound == "" or int(bound) < int(objective)
        else:
            assert row["status"] in {"=inf=", "=unkn="}
            assert objective == ""
        assert bool(row["proved_by"]) == (row["status"] in {"=opt=", "=inf="})


def test_most_instances_are_proven_by_two_solvers():
    proven = Counter(row["proved_by"].count(";") >= 1 for row in best_known().values() if row["proved_by"])
    assert proven[True] > 3 * proven[False]


def test_every_best_known_objective_is_that_of_a_stored_allowed_solution():
    for name, row in best_known().items():
        if row["objective"]:
            problem = load_composition_problem(FOLDER / f"{name}.json")
            solution = load_composition(FOLDER / "solutions" / f"{name}.json")
            assert check(problem, solution) == (), name
            assert evaluate(problem, solution).objective_ns == int(row["objective"]), name


def small() -> list[str]:
    return [path.stem for path in FILES if path.stat().st_size < 50_000 and not path.stem.startswith("huge")]


@pytest.mark.parametrize("name", small())
def test_the_dynamic_program_proves_small_ones_again(name):
    result = tangram_opt.solve(load_composition_problem(FOLDER / f"{name}.json"), "dp")
    row = best_known()[name]
    outcome = {"=opt=": "optimal", "=inf=": "infeasible"}[row["status"]]
    assert (result.outcome, str(result.objective or "")) == (outcome, row["objective"])


@pytest.mark.parametrize(("family", "program"), [("greedy", "paper-dp"), ("notedp", "note-dp")])
def test_the_adversarial_families_defeat_their_programs(family, program):
    for path in FOLDER.glob(f"{family}-*.json"):
        found = tangram_opt.solve(load_composition_problem(path), program).objective
        best = int(best_known()[path.stem]["objective"])
        assert found is None or found > best, path.name


def test_each_infeasible_instance_is_so_for_its_own_reason():
    told = {
        "cover": "no option covers atom",
        "fit": "needs more memory than its island class has",
        "tiling": "cannot tile",
        "islands": "not enough islands",
        "position": "runs out of memory at its place",
        "stages": "max_stages_after",
        "both": "memory and max_stages_after together",
        "required": "required island classes",
    }
    seen = set()
    for path in FOLDER.glob("infeasible-*.json"):
        reason = path.name.split("-")[1]
        (text,) = tangram_opt.solve(load_composition_problem(path), "dp").log
        assert told[reason] in text, path.name
        seen.add(reason)
    assert seen == set(told)


def test_files_are_documents_of_the_current_version():
    for path in FILES:
        document = json.loads(path.read_text())
        assert (document["name"], document["version"]) == (path.stem, 1)
