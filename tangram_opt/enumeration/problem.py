"""Put the answers together to a composition problem."""

from __future__ import annotations

from collections.abc import Sequence

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun
from tangram_opt.data.model import HALF_PRECISION_BYTES, Model
from tangram_opt.data.units import NS_PER_S
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration.queries import PairAnswer
from tangram_opt.islands import IslandGroup


def composition_problem(
    name: str,
    model: Model,
    groups: Sequence[IslandGroup],
    links_bytes_per_s: Sequence[Sequence[int]],
    workload: Workload,
    answers: Sequence[PairAnswer],
) -> CompositionProblem:
    """Build the composition problem of one workload.

    Parameters
    ----------
    name : str
        Name of the instance.
    model : Model
        What is trained.
    groups : sequence of IslandGroup
        Island classes.
    links_bytes_per_s : sequence of sequence of int
        Slowest link from a node of one class to a node of another (the diagonal: between islands of the class).
    workload : Workload
        One iteration.
    answers : sequence of PairAnswer
        For this workload.

    Returns
    -------
    CompositionProblem
        A port is an island class with the number of its nodes that hold a boundary stage. A boundary crosses as
        many links at once as the smaller of the two numbers of nodes.
    """
    options = []
    seen = set()
    for answer in answers:
        island = answer.query.pair.island.name
        for plan in answer.plans:
            port = _port(island, plan.boundary_nodes)
            option = Option(
                island=island,
                atoms=answer.query.pair.model_slice.signature,
                stages=plan.stages,
                inner_transfers_ns=plan.inner_transfers_ns,
                max_stages_after=plan.max_stages_after,
                entry_port=port,
                exit_port=port,
                strategy=plan.strategy,
            )
            key = (option.island, option.atoms, option.stages, option.inner_transfers_ns, option.max_stages_after, port)
            if key not in seen:
                seen.add(key)
                options.append(option)
    class_of = {group.island: index for index, group in enumerate(groups)}
    ports = sorted(
        {(class_of[answer.query.pair.island], plan.boundary_nodes) for answer in answers for plan in answer.plans}
    )
    boundary_bytes = (
        workload.micro_batch
        * workload.sequence_length
        * HALF_PRECISION_BYTES
        * max(run.atom.hidden_size for run in model.runs)
    )
    transfers = tuple(
        tuple(_transfer_ns(boundary_bytes, min(here, there), links_bytes_per_s[a][b]) for b, there in ports)
        for a, here in ports
    )
    return CompositionProblem(
        name=name,
        micro_batches=workload.micro_batches,
        atoms=tuple(SignatureRun(run.atom.signature, run.count) for run in model.runs),
        islands=tuple(
            IslandClass(
                name=group.island.name,
                count=group.count,
                # No option is for a class without usable memory; a limit is a positive number all the same.
                memory_bytes=max(1, workload.recipe.usable_bytes(group.island.gpu)),
            )
            for group in groups
        ),
        options=tuple(options),
        ports=tuple(_port(groups[index].island.name, nodes) for index, nodes in ports),
        transfer_ns=transfers,
    )


def _port(island: str, nodes: int) -> str:
    return f"{island} / {nodes} node{'s' if nodes > 1 else ''}"


def _transfer_ns(message_bytes: int, links: int, bytes_per_s: int) -> int:
    # A class of one island has no neighbour in its own class: that transfer is never used.
    rate = links * bytes_per_s
    return -(-message_bytes * NS_PER_S // rate) if rate else 0
