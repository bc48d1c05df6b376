"""Compressed lists of names stand for exactly the names they were made of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.show import compress_names


def expand(text: str) -> list[str]:
    """Read a compressed list the way Slurm's host lists are read."""
    names = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            names.append(part)
            continue
        prefix, inside, suffix = match.groups()
        for numbers in inside.split(","):
            first, _, last = numbers.partition("-")
            every = range(int(first), int(last or first) + 1)
            names.extend(f"{prefix}{number:0{len(first)}}{suffix}" for number in every)
    return names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([f"n{i:03}" for i in range(1, 33)], "n[001-032]"),
        (["n001"], "n001"),
        (["n1", "n2", "n4", "login", "gpu7", "gpu8"], "n[1-2,4],login,gpu[7-8]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n099", "n100", "n098"], "n[098-100]"),
        (["n7", "n07"], "n[7,07]"),
        (["rack2-n1.west", "rack2-n2.west"], "rack2-n[1-2].west"),
        (["n1/A100-80GB-PCIe", "n2/A100-80GB-PCIe", "n3/T4"], "n[1-2]/A100-80GB-PCIe,n3/T4"),
        (["r1-n1", "r1-n2", "r2-n3", "x", "r3-n3"], "r1-n[1-2],r[2-3]-n3,x"),
        (["n", "n1", "n2"], "n,n[1-2]"),
        (["n1", "n1"], "n1"),
        ([], ""),
    ],
)
def test_known_lists(names: list[str], text: str) -> None:
    assert compress_names(names) == text


@given(st.lists(st.from_regex(r"[a-c]{0,2}-?[0-9]{0,3}[xy]?[0-9]?", fullmatch=True).filter(bool)))
def test_expanding_gives_the_distinct_names_back(names: list[str]) -> None:
    assert sorted(expand(compress_names(names))) == sorted(set(names))
