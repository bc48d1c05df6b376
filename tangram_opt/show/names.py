"""Long lists of node names in the short form that cluster people write: ``n[001-032]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)


def compress_names(names: Sequence[str]) -> str:
    """Join names, those that differ in their last number in one bracket.

    Parameters
    ----------
    names : sequence of str
        In any order; a name that appears twice is listed once.

    Returns
    -------
    str
        For example ``"n[001-032,040],login"``: bases in the order of their first name, numbers ascending,
        leading zeros kept.
    """
    numbers: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(names):
        match = _NUMBERED.fullmatch(name)
        prefix, number, suffix = match.groups() if match else (name, "", "")
        # A name without a number stands alone: its key has a suffix that no match can have.
        numbers.setdefault((prefix, suffix) if match else (name, "0"), []).append(number)
    return ",".join(
        prefix + _bracket(found) + suffix if found != [""] else prefix for (prefix, suffix), found in numbers.items()
    )


def _bracket(numbers: list[str]) -> str:
    """Write one number as it is, several as ranges in a bracket."""
    if len(numbers) == 1:
        return numbers[0]
    runs: list[list[str]] = []
    # Equal digits but unequal zeros ("7", "07") are different names: sort by width first, a run keeps its zeros.
    for number in sorted(numbers, key=lambda digits: (len(digits), digits)):
        if runs and number == str(int(runs[-1][-1]) + 1).zfill(len(runs[-1][-1])):
            runs[-1].append(number)
        else:
            runs.append([number])
    return "[" + ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) + "]"
