"""Synthetic composition problems with the structure of real ones.

A model is a sequence of atoms with work, weights and activations; an island class has GPUs, a speed and a memory.
As a parallelizer would, every island offers for every slice its divisions into stages times tensor parallelism, with
and without recomputation. All figures are invented: they have the orders of magnitude of real ones, not their values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage

LINK_NS: Final = 400_000
"""One-way transfer between any two islands, where links do not differ."""

TENSOR_LOSS: Final = 0.06
"""Each further GPU of a tensor-parallel group costs this share of the ideal speed."""
STAGE_OVERHEAD_NS: Final = 150_000
INNER_TRANSFER_NS: Final = 60_000
RECOMPUTED_SHARE: Final = 0.15
"""Share of the activations that recomputation keeps."""


@dataclass(frozen=True, slots=True)
class Atom:
    """What an atom costs: forward time on one GPU of speed 1, and bytes of weights and per micro-batch in flight."""

    signature: str
    work_ns: int
    weight_bytes: int
    activation_bytes: int


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of islands."""

    name: str
    count: int
    gpus: int
    speed: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Links:
    """Ports and the transfer times between them; an island sends and receives at the port of its class."""

    ports: tuple[str, ...]
    transfer_ns: tuple[tuple[int, ...], ...]

    def port(self, kind: Kind) -> str:
        """Port of a class."""
        return kind.name if kind.name in self.ports else self.ports[0]


UNIFORM_LINKS: Final = Links(("network",), ((LINK_NS,),))


def compose(
    name: str,
    model: Sequence[Atom],
    kinds: Sequence[Kind],
    micro_batches: int,
    *,
    links: Links = UNIFORM_LINKS,
    window: float | None = None,
) -> CompositionProblem:
    """Make a problem of a model and islands.

    Parameters
    ----------
    name : str
        Of the instance.
    model : sequence of Atom
        Front to back.
    kinds : sequence of Kind
        The islands.
    micro_batches : int
        Micro-batches per iteration.
    links : Links
        Ports and transfer times.
    window : float or None
        Leave out slices whose share of the work is more than this factor above or below the island's share of the
        speed; None keeps all.

    Returns
    -------
    CompositionProblem
        With every option that fits in memory at least as the last of the pipeline.
    """
    speed = sum(kind.count * kind.gpus * kind.speed for kind in kinds)
    shares = {kind: sum(atom.work_ns for atom in model) * kind.gpus * kind.speed / speed for kind in kinds}
    # One atom cannot be cut any finer, however small an island's share is.
    largest = max(atom.work_ns for atom in model)
    ranges = {
        kind: (0.0, math.inf) if window is None else (share / window, max(share * window, largest))
        for kind, share in shares.items()
    }
    slices = _slices(model, max(most for _, most in ranges.values()))
    options = [
        option
        for kind, (least, most) in ranges.items()
        for runs, atoms in slices.items()
        if least <= sum(atom.work_ns for atom in atoms) <= most
        for option in _options(runs, atoms, kind, links.port(kind))
    ]
    return CompositionProblem(
        name=name,
        micro_batches=micro_batches,
        atoms=runs_of(atom.signature for atom in model),
        islands=tuple(IslandClass(kind.name, kind.count, kind.memory_bytes) for kind in kinds),
        options=tuple(options),
        ports=links.ports,
        transfer_ns=links.transfer_ns,
    )


def _slices(model: Sequence[Atom], most_work_ns: float) -> dict[tuple[SignatureRun, ...], Sequence[Atom]]:
    """All slices up to some work, equal ones once."""
    found: dict[tuple[SignatureRun, ...], Sequence[Atom]] = {}
    for first in range(len(model)):
        runs: tuple[SignatureRun, ...] = ()
        work = 0
        for end in range(first + 1, len(model) + 1):
            work += model[end - 1].work_ns
            if work > most_work_ns:
                break
            runs = _extended(runs, model[end - 1].signature)
            found.setdefault(runs, model[first:end])
    return found


def _options(runs: tuple[SignatureRun, ...], atoms: Sequence[Atom], kind: Kind, port: str) -> Iterator[Option]:
    for stages in range(1, min(kind.gpus, len(atoms)) + 1):
        if kind.gpus % stages == 0:
            for recompute in (False, True):
                tensor = kind.gpus // stages
                parts = tuple(_stage(part, kind, tensor, recompute) for part in _split(atoms, stages))
                if all(part.static_bytes + part.in_flight_bytes <= kind.memory_bytes for part in parts):
                    yield Option(
                        island=kind.name,
                        atoms=runs,
                        stages=parts,
                        inner_transfers_ns=(INNER_TRANSFER_NS,) * (stages - 1),
                        max_stages_after=None,
                        entry_port=port,
                        exit_port=port,
                        strategy={"tp": tensor, "recompute": recompute},
                    )


def _split(atoms: Sequence[Atom], stages: int) -> Iterator[Sequence[Atom]]:
    cuts = [len(atoms) * stage // stages for stage in range(stages + 1)]
    for begin, end in pairwise(cuts):
        yield atoms[begin:end]


def _stage(atoms: Sequence[Atom], kind: Kind, tensor: int, recompute: bool) -> Stage:
    work = sum(atom.work_ns for atom in atoms)
    weights = sum(atom.weight_bytes for atom in atoms)
    activations = sum(atom.activation_bytes for atom in atoms)
    forward = int(work / kind.speed / tensor * (1 + TENSOR_LOSS * (tensor - 1))) + STAGE_OVERHEAD_NS
    kept = int(activations * RECOMPUTED_SHARE) if recompute else activations
    return Stage(
        atoms=len(atoms),
        forward_ns=forward,
        backward_ns=(3 if recompute else 2) * forward,
        static_bytes=-(-weights // tensor),
        in_flight_bytes=-(-kept // tensor),
        sync_ns=work // tensor // 8,
        gpus=tensor,
    )


def runs_of(signatures: Iterable[str]) -> tuple[SignatureRun, ...]:
    """Make runs of equal neighbours."""
    runs: tuple[SignatureRun, ...] = ()
    for signature in signatures:
        runs = _extended(runs, signature)
    return runs


def _extended(runs: tuple[SignatureRun, ...], signature: str) -> tuple[SignatureRun, ...]:
    if runs and runs[-1].signature == signature:
        return (*runs[:-1], SignatureRun(signature, runs[-1].count + 1))
    return (*runs, SignatureRun(signature, 1))
