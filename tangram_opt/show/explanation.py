"""Why nodes and islands are together or apart, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console

from tangram_opt.data.units import GIB, GIGA, TERA
from tangram_opt.islands import Apart, Boundary, Explanation, Step
from tangram_opt.show.names import compress_names
from tangram_opt.show.tables import print_line
from tangram_opt.show.units import count, decimals

FIGURES: Final[Mapping[str, tuple[int, str]]] = {
    "compute": (TERA, "TFLOP/s"),
    "memory": (GIB, "GiB"),
    "intra-node bandwidth": (GIGA, "GB/s"),
}
"""Scale and unit of what nodes differ in."""


def print_explanation(first: str, second: str, found: Explanation, console: Console) -> None:
    """Print why two nodes can or cannot be in one island.

    Parameters
    ----------
    first, second : str
        Names of the nodes.
    found : Explanation
        See :func:`tangram_opt.islands.explain`.
    console : rich.console.Console
        Where to.
    """
    answer = "can be in one island" if found.together else "cannot be in one island"
    print_line(console, f"{first} and {second} {answer}", style="bold")
    if found.steps:
        print_line(console, f"An island with {first} and {second} must also have:")
    for step in found.steps:
        print_line(console, f"  {step.third}, as {_faster(step)}")
    if found.apart is not None:
        print_line(
            console, f"No island has both {found.apart.first} and {found.apart.second}: {apart_text(found.apart)}"
        )
    else:
        size = count(len(found.island))
        print_line(console, f"The smallest island with both has {size} nodes: {compress_names(found.island)}")


def boundary_text(boundary: Boundary) -> str:
    """Say what keeps two islands from being one."""
    if boundary.network is not None:
        step = boundary.network
        return f"network: {_faster(step)}, so {step.third} would have to be in it"
    if not boundary.apart:
        return "nothing: they could be one island (the islands are not proven fewest)"
    return "; ".join(apart_text(each) for each in boundary.apart)


def apart_text(apart: Apart) -> str:
    """Say in what two nodes differ, and by how much."""
    if apart.what == "link":
        return f"there is no link from {apart.first} to {apart.second}"
    if apart.what not in FIGURES:
        return f"{apart.what} ({apart.less} of {apart.first}, {apart.more} of {apart.second})"
    scale, unit = FIGURES[apart.what]
    less, more = (decimals(value / scale, 3) for value in (apart.less, apart.more))
    ratio = f" {decimals(apart.more / apart.less, 3)} times" if apart.less else ""
    return f"{apart.what}{ratio} ({less} {unit} of {apart.first}, {more} of {apart.second})"


def _faster(step: Step) -> str:
    slow, fast = (decimals(speed / GIGA, 3) for speed in (step.slow_bytes_per_s, step.fast_bytes_per_s))
    return f"{step.first} has {fast} GB/s to {step.third} but {slow} to {step.second}"
