"""Where an option can stand: at which atoms of the model, and in front of how many stages."""

from __future__ import annotations

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, Stage


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
    limits = _limits_of_memory(option, island, micro_batches)
    if option.max_stages_after is not None:
        limits.append(option.max_stages_after)
    return max(min(limits), -1) if limits else None


def depth_caps(option: Option, island: IslandClass, micro_batches: int) -> tuple[int | None, ...]:
    """Most micro-batches that each stage of an option may keep in flight, where depths are chosen.

    It is what memory allows. An option that allows fewer stages after it than its memory does has a reason that is
    not known here: then no stage may keep more than it does with so many stages after it.

    Parameters
    ----------
    option, island, micro_batches
        As for :func:`depth_limit`.

    Returns
    -------
    tuple of int or None
        Stage by stage, front to back; None where any number may be in flight.
    """
    of_memory = _limits_of_memory(option, island, micro_batches)
    stated = option.max_stages_after
    if stated is not None and stated >= min(of_memory, default=stated + 1):
        stated = None
    caps: list[int | None] = []
    for behind, stage in enumerate(reversed(option.stages)):
        room = _in_flight(stage, island, micro_batches)
        if stated is not None and stated + 1 + behind < micro_batches:
            room = min(stated + 1 + behind, micro_batches if room is None else room)
        caps.append(room)
    return tuple(reversed(caps))


def _limits_of_memory(option: Option, island: IslandClass, micro_batches: int) -> list[int]:
    """Most stages after an option by the memory of each of its stages that memory limits."""
    rooms = [_in_flight(stage, island, micro_batches) for stage in reversed(option.stages)]
    return [room - 1 - behind for behind, room in enumerate(rooms) if room is not None]


def _in_flight(stage: Stage, island: IslandClass, micro_batches: int) -> int | None:
    """Micro-batches that a stage has memory for; None where it holds all of them."""
    free = island.memory_bytes - stage.static_bytes
    if free >= stage.in_flight_bytes * micro_batches:
        return None
    return max(free // stage.in_flight_bytes, 0) if stage.in_flight_bytes else 0
