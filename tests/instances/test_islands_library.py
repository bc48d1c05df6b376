"""The library of islands problems: files as published, and best known values that can be believed."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from islands_documents import FAMILIES
from make_islands import FOLDER, LIBRARY, texts
from publishing import checksums

import tangram_opt
from tangram_opt.data.cluster import MatrixNetwork
from tangram_opt.data.island import IslandsProblem
from tangram_opt.documents import load_islands_problem, load_partition
from tangram_opt.islands import agglomerate, check, evaluate, similarity_components

FILES = sorted(FOLDER.glob("*.json"))
SMALL = 16
"""Nodes of the instances that are solved again."""


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@cache
def problem(name: str) -> IslandsProblem:
    return load_islands_problem(FOLDER / f"{name}.json")


@cache
def best_known() -> dict[str, dict[str, str]]:
    with (FOLDER / "best_known.csv").open(newline="") as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def machines(name: str) -> int:
    """Nodes of an instance, those of one machine counted once."""
    return len({node.name if node.part_of is None else node.part_of.machine for node in problem(name).cluster.nodes})


def test_every_file_is_as_published_and_as_the_generator_makes_it() -> None:
    # After a new instance: python instances/make_islands.py
    published = checksums(FOLDER)
    assert {path.name: digest(path.read_bytes()) for path in FILES} == published
    assert {name: digest(text.encode()) for name, text in texts().items()} == published


def test_the_library_spans_all_families_and_three_to_ten_thousand_nodes_in_small_files() -> None:
    assert set(LIBRARY) == set(FAMILIES)
    assert len(FILES) >= 60
    sizes = [machines(path.stem) for path in FILES if not path.stem.startswith(("paper-", "beyond-"))]
    assert (min(sizes), max(sizes)) == (3, 10_000)
    assert sum(path.stat().st_size for path in FILES) < 4e6
    for path in FILES:
        network = problem(path.stem).cluster.network
        assert not isinstance(network, MatrixNetwork) or network.size <= 512


def test_names_say_how_many_nodes_there_are() -> None:
    for path in FILES:
        family, _, rest = path.stem.partition("-")
        assert problem(path.stem).name == path.stem
        if family in FAMILIES:
            assert machines(path.stem) == int(rest.split("-")[0])


def test_every_instance_has_a_best_known_entry() -> None:
    # After a new instance: python instances/best_known.py islands NAME
    assert set(best_known()) == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_best_known_value_is_that_of_a_stored_allowed_partition(path: Path) -> None:
    row = best_known()[path.stem]
    partition = load_partition(FOLDER / "solutions" / path.name)
    assert check(problem(path.stem), partition) == ()
    islands, lost, link = evaluate(problem(path.stem), partition)
    assert (row["objective"], row["compute_lost_flops_per_s"], row["slowest_link_bytes_per_s"]) == (
        str(islands),
        str(lost),
        str(link),
    )
    assert int(row["bound"]) <= islands
    assert row["status"] == ("=opt=" if row["proved_by"] else "=best=")
    assert row["status"] == "=best=" or int(row["bound"]) == islands


def test_nearly_all_instances_are_proven_and_most_by_two_solvers() -> None:
    provers = Counter(min(row["proved_by"].count(";") + bool(row["proved_by"]), 2) for row in best_known().values())
    assert provers[0] <= len(FILES) // 10
    assert provers[2] > 2 * provers[1]


@pytest.mark.parametrize("name", [path.stem for path in FILES if len(problem(path.stem).cluster.nodes) <= SMALL])
def test_small_ones_are_proven_again(name: str) -> None:
    result = tangram_opt.solve(problem(name))
    row = best_known()[name]
    assert result.outcome == "optimal"
    assert [str(result.objective), *(str(level.value) for level in result.levels)] == [
        row["objective"],
        row["compute_lost_flops_per_s"],
        row["slowest_link_bytes_per_s"],
    ]


def test_the_greedy_method_has_half_as_many_islands_again_on_the_family_that_is_made_for_it() -> None:
    for path in FOLDER.glob("greedy-*.json"):
        greedy = len(agglomerate(problem(path.stem)).islands)
        assert Fraction(greedy, int(best_known()[path.stem]["objective"])) >= Fraction(3, 2), path.name


def test_components_chain_unlike_nodes_on_the_family_that_is_made_for_it() -> None:
    for path in FOLDER.glob("chain-*.json"):
        chained = similarity_components(problem(path.stem))
        assert len(chained.islands) == 1
        assert check(problem(path.stem), chained) != ()
        assert int(best_known()[path.stem]["objective"]) > 1


def test_mixed_machines_and_missing_links_are_in_the_library() -> None:
    assert any(node.part_of for path in FOLDER.glob("mixed-*.json") for node in problem(path.stem).cluster.nodes)
    for path in FOLDER.glob("broken-*.json"):
        rows = problem(path.stem).cluster.network.matrix_bytes_per_s
        assert any(value == 0 for i, row in enumerate(rows) for j, value in enumerate(row) if i != j)
