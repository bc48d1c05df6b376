"""``tangram-opt islands``: the GPU islands of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tangram_opt import documents, solvers
from tangram_opt.cli.options import AsJson, Output
from tangram_opt.cli.output import check_writable, print_json, save, stdout_console
from tangram_opt.cli.partition import describe_partition
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.show import print_partition

DEFAULTS = Tolerances()


def islands(
    cluster: Annotated[Path, typer.Argument(metavar="CLUSTER", help="The cluster (JSON or YAML).", show_default=False)],
    compute_tolerance: Annotated[
        float, typer.Option("--compute-tolerance", metavar="X", min=0, help="How far compute may differ in an island.")
    ] = DEFAULTS.compute,
    memory_tolerance: Annotated[
        float, typer.Option("--memory-tolerance", metavar="X", min=0, help="How far memory may differ.")
    ] = DEFAULTS.memory,
    bandwidth_tolerance: Annotated[
        float,
        typer.Option("--bandwidth-tolerance", metavar="X", min=0, help="How far bandwidth inside a node may differ."),
    ] = DEFAULTS.intra_bandwidth,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Find the islands of a cluster: nodes that are alike and close to each other."""
    check_writable(output)
    loaded = documents.load_cluster(cluster)
    tolerances = Tolerances(compute_tolerance, memory_tolerance, bandwidth_tolerance)
    problem = IslandsProblem(loaded.name, loaded, tolerances)
    partition = solvers.solve(problem).solution
    assert partition is not None  # Nodes one by one are islands, so there always is one.
    if output is not None:
        save(partition, output)
    if as_json:
        print_json(describe_partition(problem, partition))
    else:
        print_partition(problem, partition, stdout_console())
