"""``tangram-opt plan``: from a cluster and a model to a training plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tangram_opt import documents
from tangram_opt.catalogue import find_recipe
from tangram_opt.cli.answer import give_answer
from tangram_opt.cli.options import AsJson, Depths, Objective, Output, TimeLimit, Workers
from tangram_opt.cli.output import check_writable
from tangram_opt.cli.planning import make_plan
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.errors import InputError

DEFAULTS = Pruning()


def plan(
    cluster: Annotated[Path, typer.Option("--cluster", metavar="FILE", help="The cluster (JSON or YAML).")],
    model: Annotated[Path, typer.Option("--model", metavar="FILE", help="The model, or its Hugging Face config.json.")],
    global_batch: Annotated[int, typer.Option("--global-batch", metavar="N", min=1, help="Sequences per iteration.")],
    sequence_length: Annotated[int, typer.Option("--sequence-length", metavar="N", min=1, help="Tokens per sequence.")],
    micro_batch: Annotated[
        int | None,
        typer.Option(
            "--micro-batch",
            metavar="N",
            min=1,
            help="Sequences per micro-batch; every divisor of the global batch is tried unless given.",
        ),
    ] = None,
    recipe: Annotated[str, typer.Option("--recipe", metavar="NAME", help="Precision and optimizer.")] = "mixed-adam",
    imbalance_window: Annotated[
        str,
        typer.Option(
            "--imbalance-window",
            metavar="X|off",
            help="Skip a slice whose share of the work is more than this factor off its island's share of the speed.",
        ),
    ] = str(DEFAULTS.imbalance_window),
    no_redundancy_pruning: Annotated[
        bool, typer.Option("--no-redundancy-pruning", help="Also ask for slices and islands that equal others.")
    ] = False,
    no_infeasibility_pruning: Annotated[
        bool, typer.Option("--no-infeasibility-pruning", help="Also ask for slices that cannot fit in memory.")
    ] = False,
    objective: Objective = None,
    depths: Depths = None,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Plan the training of a model on a cluster."""
    check_writable(output, read=[cluster, model])
    loaded_cluster = documents.load_cluster(cluster)
    loaded_model = documents.load_model(model)
    try:
        problem = PlanningProblem(
            name=f"{loaded_cluster.name}-{loaded_model.name}",
            cluster=loaded_cluster,
            model=loaded_model,
            global_batch=global_batch,
            sequence_length=sequence_length,
            micro_batch=micro_batch,
            recipe=find_recipe(recipe),
            pruning=Pruning(not no_redundancy_pruning, _window(imbalance_window), not no_infeasibility_pruning),
            objective=objective,
            depths=depths or "standard",
        )
    except ValueError as error:
        raise InputError(f"command line: {error}") from error
    give_answer(problem, make_plan(problem, workers=workers, time_limit_s=time_limit), as_json=as_json, output=output)


def _window(text: str) -> float | None:
    if text == "off":
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--imbalance-window: {text!r}, expected a number of at least 1, or 'off'") from None
