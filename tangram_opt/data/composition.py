"""The composition problem (paper section 5.2) and its solutions, all in integers.

A problem asks for a sequence of *options* (slice/island plans), front to back, whose slices tile the model in
order, at most as many of an island class as there are islands in it, such that no stage runs out of memory at
its place in the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from tangram_opt.data.constraints import STRICT, NonEmptyStr, NonNegativeInt, PositiveInt

Objective = Literal["closed", "period", "simulated"]
Depths = Literal["standard", "chosen"]

MOST_ATOMS: Final = 2**14
"""Far above any model; searches look at every atom, and often at every pair of them."""


@dataclass(frozen=True, slots=True)
class SignatureRun:
    """A run of atoms with one signature."""

    __pydantic_config__ = STRICT

    signature: NonEmptyStr
    count: PositiveInt


@dataclass(frozen=True, slots=True)
class Stage:
    """One pipeline stage of an option.

    Attributes
    ----------
    atoms : int
        How many atoms of the option's slice it holds.
    forward_ns, backward_ns : int
        Times of one micro-batch, with recomputation and communication inside the stage.
    static_bytes : int
        Memory of each of its GPUs that does not depend on its place in the pipeline: weights, gradients,
        optimizer states, working space.
    in_flight_bytes : int
        Memory of each of its GPUs for every micro-batch in flight.
    sync_ns : int
        After the last backward pass: gradient synchronisation and optimizer step.
    gpus : int
        How many GPUs run it.
    """

    __pydantic_config__ = STRICT

    atoms: PositiveInt
    forward_ns: NonNegativeInt
    backward_ns: NonNegativeInt
    static_bytes: NonNegativeInt
    in_flight_bytes: NonNegativeInt
    sync_ns: NonNegativeInt = 0
    gpus: PositiveInt = 1

    @property
    def time_ns(self) -> int:
        """Forward and backward time of one micro-batch."""
        return self.forward_ns + self.backward_ns


@dataclass(frozen=True)
class Option:
    """A slice/island plan: how an island of a class would run a slice.

    Attributes
    ----------
    island : str
        The island class it is for.
    atoms : tuple of SignatureRun
        The slice. The option can be used wherever the model has these atoms in this order.
    stages : tuple of Stage
        Front to back.
    inner_transfers_ns : tuple of int
        One-way transfer times between its neighbouring stages.
    max_stages_after : int or None
        The most pipeline stages that may come after its last stage; None where any number may.
    entry_port, exit_port : str
        Where activations arrive at its first stage and leave its last one; they index the problem's transfers.
    strategy : mapping of str to int, bool or str
        What the parallelizer chose (tp, dp, recompute, ...): passed on, never interpreted here.
    """

    __pydantic_config__ = STRICT

    island: NonEmptyStr
    atoms: tuple[SignatureRun, ...]
    stages: tuple[Stage, ...]
    inner_transfers_ns: tuple[NonNegativeInt, ...]
    max_stages_after: NonNegativeInt | None
    entry_port: NonEmptyStr
    exit_port: NonEmptyStr
    strategy: Mapping[str, int | bool | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.stages:
            raise ValueError("stages: expected at least one stage")
        if len(self.inner_transfers_ns) != len(self.stages) - 1:
            raise ValueError(
                f"inner_transfers_ns: {len(self.inner_transfers_ns)} values, expected {len(self.stages) - 1} "
                "(one between each two neighbouring stages)"
            )
        held = sum(stage.atoms for stage in self.stages)
        if held != self.length:
            raise ValueError(f"stages: they hold {held} atoms, expected the {self.length} atoms of the slice")

    @cached_property
    def length(self) -> int:
        """Number of atoms of the slice."""
        return sum(run.count for run in self.atoms)

    @cached_property
    def bottleneck_ns(self) -> int:
        """Time of its slowest stage."""
        return max(stage.time_ns for stage in self.stages)

    @cached_property
    def sum_ns(self) -> int:
        """Time of all its stages, and both ways over its inner boundaries."""
        return sum(stage.time_ns for stage in self.stages) + 2 * sum(self.inner_transfers_ns)

    @cached_property
    def sync_ns(self) -> int:
        """Longest gradient synchronisation of its stages."""
        return max(stage.sync_ns for stage in self.stages)


@dataclass(frozen=True, slots=True)
class IslandClass:
    """Islands that are alike in every respect.

    Attributes
    ----------
    name : str
        Name of the class.
    count : int
        Number of islands in it; each serves at most one slice.
    memory_bytes : int
        Memory of each GPU that stages may use.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    count: PositiveInt
    memory_bytes: PositiveInt


@dataclass(frozen=True)
class CompositionProblem:
    """Compose options into one pipeline with the shortest iteration.

    Attributes
    ----------
    name : str
        Name of the instance.
    micro_batches : int
        Micro-batches per iteration, n.
    atoms : tuple of SignatureRun
        The model, front to back.
    islands : tuple of IslandClass
        What there is to run it on.
    options : tuple of Option
        What may be used.
    ports : tuple of str
        Names of the places where activations leave and arrive.
    transfer_ns : tuple of tuple of int
        ``transfer_ns[exit][entry]``: one-way time of one micro-batch over the boundary between two options,
        by the indices of the front option's exit port and the back option's entry port.
    required : tuple of str
        Island classes of which at least one island must be used.
    objective : {"closed", "period", "simulated"}
        What is minimised, see :mod:`tangram_opt.composition.objective`.
    depths : {"standard", "chosen"}
        Whether every stage keeps as many micro-batches in flight as 1F1B does, or as many more as memory allows and
        the least period takes, see :mod:`tangram_opt.pipeline.depths`.
    """

    __pydantic_config__ = STRICT

    name: NonEmptyStr
    micro_batches: PositiveInt
    atoms: tuple[SignatureRun, ...]
    islands: tuple[IslandClass, ...]
    options: tuple[Option, ...]
    ports: tuple[NonEmptyStr, ...]
    transfer_ns: tuple[tuple[NonNegativeInt, ...], ...]
    required: tuple[NonEmptyStr, ...] = ()
    objective: Objective = "closed"
    depths: Depths = "standard"

    def __post_init__(self) -> None:
        check_depths(self.depths, self.objective)
        if not self.atoms:
            raise ValueError("atoms: expected at least one atom")
        if self.length > MOST_ATOMS:
            raise ValueError(f"atoms: {self.length} atoms, expected at most {MOST_ATOMS}")
        if not self.islands:
            raise ValueError("islands: expected at least one island class")
        _check_distinct("islands", [island.name for island in self.islands])
        _check_distinct("ports", list(self.ports))
        if len(self.transfer_ns) != len(self.ports):
            raise ValueError(f"transfer_ns: {len(self.transfer_ns)} rows, expected {len(self.ports)}, one per port")
        for i, row in enumerate(self.transfer_ns):
            if len(row) != len(self.ports):
                raise ValueError(f"transfer_ns[{i}]: {len(row)} entries, expected {len(self.ports)}, one per port")
        names, ports = {island.name for island in self.islands}, set(self.ports)
        for i, option in enumerate(self.options):
            if option.island not in names:
                raise ValueError(f"options[{i}].island: {option.island!r}, expected one of {sorted(names)}")
            for what, port in (("entry_port", option.entry_port), ("exit_port", option.exit_port)):
                if port not in ports:
                    raise ValueError(f"options[{i}].{what}: {port!r}, expected one of {sorted(ports)}")
            if self.depths == "chosen" and not all(stage.time_ns for stage in option.stages):
                raise ValueError(
                    f"options[{i}].stages: one takes no time, at least 1 ns is expected where depths are chosen"
                )
        for name in self.required:
            if name not in names:
                raise ValueError(f"required: {name!r}, expected one of {sorted(names)}")

    @cached_property
    def length(self) -> int:
        """Number of atoms of the model."""
        return sum(run.count for run in self.atoms)

    @cached_property
    def signatures(self) -> tuple[str, ...]:
        """Signature of each atom, front to back."""
        return tuple(run.signature for run in self.atoms for _ in range(run.count))

    @cached_property
    def class_index(self) -> Mapping[str, int]:
        """Index of each island class by name."""
        return {island.name: i for i, island in enumerate(self.islands)}

    @cached_property
    def port_index(self) -> Mapping[str, int]:
        """Index of each port by name."""
        return {port: i for i, port in enumerate(self.ports)}


@dataclass(frozen=True, slots=True)
class Pick:
    """One option in its place.

    Attributes
    ----------
    option : int
        Index into the problem's options.
    first_atom : int
        Index of the first atom of its slice, from 0.
    """

    __pydantic_config__ = STRICT

    option: NonNegativeInt
    first_atom: NonNegativeInt


@dataclass(frozen=True, slots=True)
class Composition:
    """A solution of a composition problem: options front to back."""

    __pydantic_config__ = STRICT

    problem: NonEmptyStr
    picks: tuple[Pick, ...]


def check_depths(depths: Depths, objective: Objective | None) -> None:
    """Raise a ValueError where depths are to be chosen for an objective that they are not chosen for."""
    if depths == "chosen" and objective not in (None, "period"):
        raise ValueError(f"depths: 'chosen' with objective {objective!r}, expected objective 'period'")


def _check_distinct(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what}: {name!r} appears {names.count(name)} times, expected distinct names")
