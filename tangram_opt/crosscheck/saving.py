"""Disagreements as files: the smallest problem found, and beside it what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tangram_opt.crosscheck.campaign import Disagreement
from tangram_opt.documents import save
from tangram_opt.errors import InputError


def save_disagreements(disagreements: Iterable[Disagreement], folder: Path) -> list[Path]:
    """Save each disagreement that was made smaller.

    Parameters
    ----------
    disagreements : iterable of Disagreement
        Of a report.
    folder : Path
        Made where it does not exist.

    Returns
    -------
    list of Path
        The problems; beside each of them a text of the same name says which solvers disagree, and on what.

    Raises
    ------
    InputError
        A file cannot be written.
    """
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, each in enumerate(each for each in disagreements if each.shrunk is not None):
            # Names of instances and solvers come from anywhere; file names must not.
            name = re.sub(r"[^\w.+-]+", "-", f"{number}-{each.fault}-{'-'.join(each.solvers)}-{each.problem.name}")
            path = folder / f"{name}.json"
            save(each.shrunk, path)
            solvers = " and ".join(each.solvers)
            note = f"{each.fault}: {solvers}\n\nFound on {each.problem.name!r}, then made smaller.\n{each.text}\n"
            path.with_suffix(".txt").write_text(note, encoding="utf-8")
            paths.append(path)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    return paths
