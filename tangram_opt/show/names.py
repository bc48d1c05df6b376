"""Long lists of node names in the short form that cluster people write: ``n[001-032]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile("[0-9]+")


def compress_names(names: Sequence[str]) -> str:
    """Join names, those that differ in one number only in one bracket.

    Parameters
    ----------
    names : sequence of str
        In any order; a name that appears twice is listed once.

    Returns
    -------
    str
        For example ``"n[001-032,040],login"``: by the first name of each bracket, numbers ascending, leading zeros
        kept. The last number of a name is looked at first, then those before it.
    """
    left = list(dict.fromkeys(names))
    first = {name: position for position, name in enumerate(left)}
    found: list[tuple[int, str]] = []
    back = 1
    while left:
        alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for name in left:
            numbers = list(_NUMBER.finditer(name))
            if len(numbers) < back:
                found.append((first[name], name))
            else:
                number = numbers[-back]
                alike.setdefault((name[: number.start()], name[number.end() :]), []).append((name, number[0]))
        left = []
        for (prefix, suffix), members in alike.items():
            if len(members) == 1:
                left.append(members[0][0])
            else:
                found.append((first[members[0][0]], prefix + _bracket([number for _, number in members]) + suffix))
        back += 1
    return ",".join(text for _, text in sorted(found))


def _bracket(numbers: list[str]) -> str:
    """Write numbers as ranges in a bracket."""
    runs: list[list[str]] = []
    # Equal digits but unequal zeros ("7", "07") are different names: sort by width first, a run keeps its zeros.
    for number in sorted(numbers, key=lambda digits: (len(digits), digits)):
        if runs and number == str(int(runs[-1][-1]) + 1).zfill(len(runs[-1][-1])):
            runs[-1].append(number)
        else:
            runs.append([number])
    return "[" + ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) + "]"
