"""Families of composition problems, from a family's name, a size and a seed.

What a family is about is in the docstring of the function that makes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tangram_opt.crosscheck.numbers import choice, integer, real
from tangram_opt.crosscheck.synthetic import INNER_TRANSFER_NS, LINK_NS, Atom, Kind, Links, compose, runs_of
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage

GPU_COUNTS: Final = (1, 2, 4)
SPEEDS: Final = (1.0, 4.0)
"""The slowest and the fastest GPUs of a cluster."""
LAYER_WORK_NS: Final = (2_000_000, 6_000_000)
LAYER_WEIGHT_BYTES: Final = (1_000_000_000, 3_000_000_000)
LAYER_ACTIVATION_BYTES: Final = (60_000_000, 250_000_000)
GREEDY_MEMORY_BYTES: Final = 16_000_000_000
ROOMY: Final = (1.5, 3.0)
TIGHT: Final = (1.05, 1.35)
"""Memory of a cluster, by what the model needs with all islands in use."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a problem is; ``128x64in8`` has 128 layers and 64 islands in 8 classes."""

    layers: int
    islands: int
    classes: int

    def __str__(self) -> str:
        return f"{self.layers}x{self.islands}" + (f"in{self.classes}" if self.classes < self.islands else "")


def generate(family: str, size: Size, seed: int) -> CompositionProblem:
    """Make the problem of a family, a size and a seed: always the same.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    size : Size
        Layers, islands and classes.
    seed : int
        Of the random numbers.

    Returns
    -------
    CompositionProblem
        Named ``<family>-<size>-<seed>``.
    """
    name = f"{family}-{size}-{seed}"
    return FAMILIES[family](name, size, random.Random(name))


def random_problems(count: int, seed: int) -> Iterator[CompositionProblem]:
    """Make small problems of all families: half of them structured, three of eight wild, one of eight infeasible.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the random numbers.

    Yields
    ------
    CompositionProblem
        With at most eight layers and four islands in few classes, all of whose stages take time.
    """
    infeasible = sorted(family for family in FAMILIES if family.startswith("infeasible"))
    structured = sorted(set(FAMILIES) - set(infeasible) - {"wild", "huge"})
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        islands = integer(rng, 2, 4)
        size = Size(integer(rng, 3, 8), islands, integer(rng, 1, min(islands, 3)))
        turn, place = divmod(number, 8)
        if place < 4:
            family = structured[(4 * turn + place) % len(structured)]
        else:
            family = "wild" if place < 7 else infeasible[turn % len(infeasible)]
        problem = taking_time(generate(family, size, 1_000_000 * seed + number))
        yield replace(problem, name=f"{family}-{size}-{seed}.{number}")


def taking_time(problem: CompositionProblem) -> CompositionProblem:
    """Let every stage take at least 1 ns, so that depths can be chosen."""
    options = [
        replace(option, stages=tuple(s if s.time_ns else replace(s, forward_ns=1) for s in option.stages))
        for option in problem.options
    ]
    return replace(problem, options=tuple(options))


def _uniform(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Equal layers, equal links, roomy memory."""
    model = (_layer("layer", rng),) * size.layers
    return _problem(name, model, size, rng)


def _edges(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """An embedding in front of equal layers, and a head behind them that costs about as much as one."""
    layer = _layer("layer", rng)
    embedding = Atom("embedding", layer.work_ns // 20, layer.weight_bytes, layer.activation_bytes // 10)
    head = Atom("head", int(layer.work_ns * real(rng, 0.6, 1.6)), layer.weight_bytes, 2 * layer.activation_bytes)
    return _problem(name, (embedding, *(layer,) * size.layers, head), size, rng)


def _irregular(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Dense layers before experts, attention among state-space layers, or layers that are all different."""
    embedding, dense, other = (_layer(signature, rng) for signature in ("embedding", "dense", "other"))
    pattern = choice(rng, ("leading", "hybrid", "distinct"))
    if pattern == "leading":
        leading = max(1, size.layers // 8)
        layers: Sequence[Atom] = (dense,) * leading + (other,) * (size.layers - leading)
    elif pattern == "hybrid":
        layers = [dense if number % 4 == 2 else other for number in range(size.layers)]
    else:
        layers = [_layer(f"layer-{number}", rng) for number in range(size.layers)]
    return _problem(name, (embedding, *layers), size, rng)


def _links(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Transfer times depend on the pair of classes and on the direction, up to a whole stage."""
    model = (_layer("layer", rng),) * size.layers
    return _problem(name, model, size, rng, pairs=True)


def _memory(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Little memory: recomputation, depth and place in the pipeline decide what fits."""
    model = (_layer("layer", rng),) * size.layers
    return _problem(name, model, size, rng, room=TIGHT)


def _identical(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Many equal islands, in classes that differ in speed and memory alone."""
    model = (_layer("layer", rng),) * size.layers
    return _problem(name, model, size, rng, gpus=(2,))


def _distinct(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Every island is its own class, and no two are nearly alike."""
    model = (_layer("layer", rng),) * size.layers
    return _problem(name, model, replace(size, classes=size.islands), rng, room=(1.2, 2.0))


def _huge(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """As large as clusters get: nothing is special but the size."""
    layer = _layer("layer", rng)
    return _problem(name, (layer,) * size.layers, size, rng)


def _notedp(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Made against programs that take the islands in the order given: the order given is the worst for memory.

    A stage in front keeps more micro-batches in flight. The islands come with the smallest memory first, and
    activations need most of it.
    """
    layer = replace(_layer("layer", rng), weight_bytes=LAYER_WEIGHT_BYTES[0] // 4)
    layer = replace(layer, activation_bytes=LAYER_ACTIVATION_BYTES[1])
    problem = _problem(name, (layer,) * size.layers, size, rng, room=TIGHT, pairs=True)
    return replace(problem, islands=tuple(sorted(problem.islands, key=lambda island: island.memory_bytes)))


def _greedy(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Made against programs that keep one best sequence per state: the best of a part is not part of the best.

    Every island offers each slice as one stage, and in three stages that are faster together but make the pipeline
    too deep for those in front: a back part is best with the three, the whole needs the one.
    """
    islands = tuple(
        IslandClass(f"class-{k}", count, GREEDY_MEMORY_BYTES)
        for k, count in enumerate(_counts(size.islands, size.classes))
    )
    # Nearly all islands are needed.
    longest = min(size.layers, size.layers // size.islands + 2)
    options = []
    for island in islands:
        speed = real(rng, 1, 2)
        for length in range(1, longest + 1):
            time_ns = int(length * LAYER_WORK_NS[0] / speed * real(rng, 0.95, 1.05))
            shallow = size.islands + integer(rng, -1, 1)
            options.append(_greedy_option(island.name, length, 1, time_ns, shallow))
            if length >= 3:
                options.append(_greedy_option(island.name, length, 3, int(time_ns * real(rng, 0.5, 0.9)), 3))
    return CompositionProblem(
        name=name,
        micro_batches=integer(rng, 8, 32),
        atoms=(SignatureRun("layer", size.layers),),
        islands=islands,
        options=tuple(options),
        ports=("network",),
        transfer_ns=((LINK_NS,),),
    )


def _greedy_option(island: str, length: int, stages: int, time_ns: int, in_flight: int) -> Option:
    """Make an option of equal stages, each of which has memory for some micro-batches in flight."""
    return Option(
        island=island,
        atoms=(SignatureRun("layer", length),),
        stages=tuple(
            Stage(
                atoms=length // stages + (1 if s < length % stages else 0),
                forward_ns=time_ns // stages,
                backward_ns=2 * time_ns // stages,
                static_bytes=0,
                in_flight_bytes=GREEDY_MEMORY_BYTES // in_flight,
            )
            for s in range(stages)
        ),
        inner_transfers_ns=(INNER_TRANSFER_NS,) * (stages - 1),
        max_stages_after=None,
        entry_port="network",
        exit_port="network",
    )


def _wild(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """No structure at all: small numbers, zeros and ties, every feature of the format."""
    signatures = [choice(rng, ("a", "a", "b")) for _ in range(size.layers)]
    islands = tuple(
        IslandClass(f"class-{k}", count, integer(rng, 12, 45))
        for k, count in enumerate(_counts(size.islands, size.classes))
    )
    ports = ("p", "q", "r")[: integer(rng, 1, 3)]
    return CompositionProblem(
        name=name,
        micro_batches=integer(rng, 1, 9),
        atoms=runs_of(signatures),
        islands=islands,
        options=tuple(_wild_option(signatures, islands, ports, rng) for _ in range(integer(rng, 5, 30))),
        ports=ports,
        transfer_ns=tuple(tuple(integer(rng, 0, 9) for _ in ports) for _ in ports),
        required=(islands[0].name,) if rng.random() < 0.2 else (),
    )


def _wild_option(
    signatures: Sequence[str], islands: Sequence[IslandClass], ports: Sequence[str], rng: random.Random
) -> Option:
    first = integer(rng, 0, len(signatures) - 1)
    length = integer(rng, 1, len(signatures) - first)
    stages = integer(rng, 1, min(3, length))
    return Option(
        island=choice(rng, islands).name,
        atoms=runs_of(signatures[first : first + length]),
        stages=tuple(
            Stage(
                atoms=length - stages + 1 if s == 0 else 1,
                forward_ns=integer(rng, 0, 12),
                backward_ns=integer(rng, 0, 12),
                static_bytes=integer(rng, 0, 12),
                in_flight_bytes=integer(rng, 0, 5),
                sync_ns=integer(rng, 0, 12),
            )
            for s in range(stages)
        ),
        inner_transfers_ns=tuple(integer(rng, 0, 6) for _ in range(stages - 1)),
        max_stages_after=integer(rng, 0, 5) if rng.random() < 0.4 else None,
        entry_port=choice(rng, ports),
        exit_port=choice(rng, ports),
    )


def _infeasible_cover(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """No option holds the last layer."""
    problem = _uniform(name, size, rng)
    return replace(problem, atoms=(*problem.atoms, SignatureRun("head", 1)))


def _infeasible_fit(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Every option needs a byte more than its island has, wherever it is."""
    problem = _uniform(name, size, rng)
    least = {
        island.name: min(
            max(stage.static_bytes + stage.in_flight_bytes for stage in option.stages)
            for option in problem.options
            if option.island == island.name
        )
        for island in problem.islands
    }
    islands = tuple(replace(island, memory_bytes=least[island.name] - 1) for island in problem.islands)
    return replace(problem, islands=islands)


def _infeasible_tiling(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Slices of an even number of layers cannot tile an odd number of them."""
    problem = _uniform(name, replace(size, layers=size.layers - size.layers % 2), rng)
    atoms = (SignatureRun("layer", problem.length + 1),)
    return replace(problem, atoms=atoms, options=tuple(o for o in problem.options if o.length % 2 == 0))


def _infeasible_islands(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """The longest slices on all islands together miss one layer."""
    problem = _uniform(name, size, rng)
    longest = (size.layers - 1) // size.islands
    return replace(
        problem,
        atoms=(SignatureRun("layer", longest * size.islands + 1),),
        options=tuple(option for option in problem.options if option.length <= longest),
    )


def _infeasible_position(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Every option fits as the last of the pipeline and nowhere else, and none holds the whole model."""
    problem = _without_whole(_uniform(name, size, rng))
    return replace(problem, options=tuple(_only_last(problem, option) for option in problem.options))


def _infeasible_stages(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """No option allows any stage after it, and none holds the whole model."""
    problem = _without_whole(_uniform(name, size, rng))
    return replace(problem, options=tuple(replace(option, max_stages_after=0) for option in problem.options))


def _infeasible_both(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """Memory holds one class at the end of the pipeline, the stated limits hold the others there."""
    problem = _without_whole(_uniform(name, replace(size, classes=max(2, size.classes)), rng))
    first = problem.islands[0].name
    options = tuple(
        _only_last(problem, option) if option.island == first else replace(option, max_stages_after=0)
        for option in problem.options
    )
    islands = tuple(replace(island, count=1) for island in problem.islands)
    return replace(problem, options=options, islands=islands)


def _infeasible_required(name: str, size: Size, rng: random.Random) -> CompositionProblem:
    """A class must be used that has no option."""
    problem = _uniform(name, size, rng)
    spare = IslandClass("spare", 1, problem.islands[0].memory_bytes)
    return replace(problem, islands=(*problem.islands, spare), required=("spare",))


def _without_whole(problem: CompositionProblem) -> CompositionProblem:
    return replace(problem, options=tuple(option for option in problem.options if option.length < problem.length))


def _only_last(problem: CompositionProblem, option: Option) -> Option:
    """Give the last stage of an option so many activations that nothing can come after it."""
    memory = problem.islands[problem.class_index[option.island]].memory_bytes
    stages = tuple(replace(stage, static_bytes=0, in_flight_bytes=0) for stage in option.stages[:-1])
    last = replace(option.stages[-1], static_bytes=0, in_flight_bytes=memory // 2 + 1)
    return replace(option, stages=(*stages, last))


FAMILIES: Final[Mapping[str, Callable[[str, Size, random.Random], CompositionProblem]]] = {
    "uniform": _uniform,
    "edges": _edges,
    "irregular": _irregular,
    "links": _links,
    "memory": _memory,
    "identical": _identical,
    "distinct": _distinct,
    "notedp": _notedp,
    "greedy": _greedy,
    "wild": _wild,
    "huge": _huge,
    "infeasible-cover": _infeasible_cover,
    "infeasible-fit": _infeasible_fit,
    "infeasible-tiling": _infeasible_tiling,
    "infeasible-islands": _infeasible_islands,
    "infeasible-position": _infeasible_position,
    "infeasible-stages": _infeasible_stages,
    "infeasible-both": _infeasible_both,
    "infeasible-required": _infeasible_required,
}


def _problem(
    name: str,
    model: Sequence[Atom],
    size: Size,
    rng: random.Random,
    *,
    room: tuple[float, float] = ROOMY,
    gpus: Sequence[int] = GPU_COUNTS,
    pairs: bool = False,
) -> CompositionProblem:
    kinds = _kinds(model, size, rng, room, gpus)
    links = {"links": _pair_links(kinds, rng)} if pairs else {}
    # Small problems keep every slice; large ones only those that a planner would ask for.
    window = None if size.layers <= 16 else 2.5
    return compose(name, model, kinds, integer(rng, 4, 64), window=window, **links)


def _layer(signature: str, rng: random.Random) -> Atom:
    return Atom(
        signature,
        integer(rng, *LAYER_WORK_NS),
        integer(rng, *LAYER_WEIGHT_BYTES),
        integer(rng, *LAYER_ACTIVATION_BYTES),
    )


def _kinds(
    model: Sequence[Atom], size: Size, rng: random.Random, room: tuple[float, float], gpus: Sequence[int]
) -> list[Kind]:
    """Islands whose memory is what their share of the model needs, times a random factor in `room`."""
    kinds = [
        Kind(f"class-{k}", count, choice(rng, gpus), real(rng, *SPEEDS), 1)
        for k, count in enumerate(_counts(size.islands, size.classes))
    ]
    total = sum(kind.count * kind.gpus * kind.speed for kind in kinds)
    weights = sum(atom.weight_bytes for atom in model)
    activations = sum(atom.activation_bytes for atom in model)
    heaviest = max(atom.weight_bytes + atom.activation_bytes for atom in model)
    return [
        replace(
            kind,
            memory_bytes=int(
                max((weights + 2 * activations) * kind.speed / total, heaviest / kind.gpus) * real(rng, *room)
            ),
        )
        for kind in kinds
    ]


def _pair_links(kinds: Sequence[Kind], rng: random.Random) -> Links:
    return Links(
        tuple(kind.name for kind in kinds),
        tuple(tuple(integer(rng, LINK_NS // 10, 20 * LINK_NS) for _ in kinds) for _ in kinds),
    )


def _counts(islands: int, classes: int) -> list[int]:
    """Share islands out among classes, the earlier ones getting what is left over."""
    return [islands // classes + (1 if k < islands % classes else 0) for k in range(classes)]
