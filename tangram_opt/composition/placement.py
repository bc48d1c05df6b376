"""Where an option can stand: at which atoms of the model, and in front of how many stages."""

from __future__ import annotations

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option


def positions(problem: CompositionProblem, option: Option) -> tuple[int, ...]:
    """First atoms at which the model has exactly the atoms of an option, in its order.

    Parameters
    ----------
    problem : CompositionProblem
        It has the model.
    option : Option
        It has the slice.

    Returns
    -------
    tuple of int
        Indices of atoms from 0, increasing.
    """
    model = problem.signatures
    atoms = tuple(run.signature for run in option.atoms for _ in range(run.count))
    return tuple(i for i in range(len(model) - len(atoms) + 1) if model[i : i + len(atoms)] == atoms)


def depth_limit(option: Option, island: IslandClass, micro_batches: int) -> int | None:
    """Most pipeline stages that may come after an option's last stage.

    A stage keeps min(n, stages after + 1) micro-batches in flight under 1F1B, so the limit is what memory allows,
    and no more than the option's own `max_stages_after`.

    Parameters
    ----------
    option : Option
        The option.
    island : IslandClass
        The class that it is for.
    micro_batches : int
        Micro-batches per iteration, n.

    Returns
    -------
    int or None
        None where any number may come after it; -1 where it does not fit even as the last of the pipeline.
    """
    limits = [] if option.max_stages_after is None else [option.max_stages_after]
    for behind, stage in enumerate(reversed(option.stages)):
        free = island.memory_bytes - stage.static_bytes
        if free < stage.in_flight_bytes * micro_batches:
            in_flight = free // stage.in_flight_bytes if stage.in_flight_bytes else 0
            limits.append(in_flight - 1 - behind)
    return max(min(limits), -1) if limits else None
