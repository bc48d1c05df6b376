"""``tangram-opt islands``: the GPU islands of a cluster, why they are so, and a picture of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tangram_opt import documents
from tangram_opt import islands as islands_of
from tangram_opt.cli.answer import give_answer
from tangram_opt.cli.options import AsJson, Output, Seed, Solver, Threads, TimeLimit
from tangram_opt.cli.output import check_writable, print_json, say_written, stdout_console
from tangram_opt.cli.solving import solve_with_progress
from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.data.units import GIGA
from tangram_opt.errors import InputError
from tangram_opt.show import check_picture, draw_cluster, print_explanation

DEFAULTS = Tolerances()
MOST = 1e9
"""Above any tolerance that tells nodes apart, and any bandwidth; not infinity."""


def _tolerance(flag: str, text: str, default: float) -> Any:
    text = f"{text}; {default:g} unless CLUSTER is a problem that says otherwise."
    return typer.Option(flag, metavar="X", min=0, max=MOST, help=text, show_default=False)


def islands(
    cluster: Annotated[
        Path,
        typer.Argument(metavar="CLUSTER", help="A cluster, or a problem that has one.", show_default=False),
    ],
    compute_tolerance: Annotated[
        float | None, _tolerance("--compute-tolerance", "How far compute may differ in an island", DEFAULTS.compute)
    ] = None,
    memory_tolerance: Annotated[
        float | None, _tolerance("--memory-tolerance", "How far memory may differ", DEFAULTS.memory)
    ] = None,
    bandwidth_tolerance: Annotated[
        float | None,
        _tolerance("--bandwidth-tolerance", "How far bandwidth inside a node may differ", DEFAULTS.intra_bandwidth),
    ] = None,
    network_tolerance: Annotated[
        float | None,
        _tolerance("--network-tolerance", "How much faster links that leave an island may be", DEFAULTS.network),
    ] = None,
    fast_link: Annotated[
        float | None,
        typer.Option(
            "--fast-link", metavar="GB/s", min=1e-9, max=MOST, help="Links at least this fast count as equally fast."
        ),
    ] = None,
    explain: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--explain", metavar="NODE NODE", help="Say instead why two nodes can or cannot be in one island."
        ),
    ] = None,
    solver: Solver = "auto",
    time_limit: TimeLimit = None,
    threads: Threads = 1,
    seed: Seed = 0,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the cluster and its islands (.png or .svg).")
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find the islands of a cluster: nodes that are alike and close to each other."""
    if explain is not None and (output is not None or picture is not None):
        raise InputError("--explain: says why two nodes can or cannot be together, expected no -o and no --picture")
    check_writable(output, picture, read=[cluster])
    if picture is not None:
        check_picture(picture)
    given = {
        "compute": compute_tolerance,
        "memory": memory_tolerance,
        "intra_bandwidth": bandwidth_tolerance,
        "network": network_tolerance,
        "fast_link_bytes_per_s": None if fast_link is None else max(1, round(fast_link * GIGA)),
    }
    problem = _problem(cluster, {name: value for name, value in given.items() if value is not None})
    if explain is not None:
        found = islands_of.explain(problem, *explain)
        if as_json:
            print_json({"cluster": problem.cluster.name, "nodes": list(explain), **asdict(found)})
        else:
            print_explanation(*explain, found, stdout_console())
        return
    result = solve_with_progress(problem, solver, time_limit=time_limit, threads=threads, seed=seed)
    partition = result.solution
    if partition is not None and picture is not None:
        draw_cluster(problem.cluster, partition, picture)
        say_written(picture)
    give_answer(problem, result, as_json=as_json, output=output)


def _problem(path: Path, tolerances: dict[str, Any]) -> IslandsProblem:
    loaded = documents.load_cluster_or_problem(path)
    if isinstance(loaded, Cluster):
        return IslandsProblem(loaded.name, loaded, replace(DEFAULTS, **tolerances))
    return IslandsProblem(loaded.name, loaded.cluster, replace(loaded.tolerances, **tolerances))
