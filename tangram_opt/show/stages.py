"""What a stage holds, where it runs and how, in few words; equal neighbours said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tangram_opt.data.plan import PlannedStage
from tangram_opt.show.names import compress_names

LISTED_STAGES = 12
"""Plans of up to this many stages list each of them: deeper ones would not be read line by line."""


@dataclass(frozen=True)
class StageGroup:
    """Consecutive stages that differ in their place only.

    Attributes
    ----------
    first : int
        Number of the first of them, from 0.
    stages : tuple of PlannedStage
        Front to back.
    """

    first: int
    stages: tuple[PlannedStage, ...]

    @property
    def label(self) -> str:
        """Their numbers, ``"3"`` or ``"3-10"``."""
        return number_range(self.first, len(self.stages))

    @property
    def islands(self) -> str:
        """Names of their islands."""
        return _spaced(compress_names([stage.island for stage in self.stages]))

    def each(self, number: int) -> str:
        """Write a number that each of them has."""
        return f"{number}" if len(self.stages) == 1 else f"{len(self.stages)} x {number}"


def group_stages(stages: Sequence[PlannedStage]) -> list[StageGroup]:
    """Join consecutive stages with equal work, times and memory; few stages stay one by one."""
    if len(stages) <= LISTED_STAGES:
        return [StageGroup(number, (stage,)) for number, stage in enumerate(stages)]
    groups: list[StageGroup] = []
    first = 0
    for _, members in groupby(stages, key=_kind):
        groups.append(StageGroup(first, tuple(members)))
        first += len(groups[-1].stages)
    return groups


def _kind(stage: PlannedStage) -> tuple[int, PlannedStage]:
    """Everything of a stage but its place in the model, in the cluster and in the pipeline."""
    placeless = replace(stage, island="-", gpus=(), first_atom=0, first_layer=None, transfer_ns=0, in_flight=1)
    return stage.gpu_count, placeless


def held(stages: Sequence[PlannedStage]) -> str:
    """Write what neighbouring stages hold: ``"embedding + layers 0-6"``."""
    parts = []
    if any(stage.embedding for stage in stages):
        parts.append("embedding")
    layers = sum(stage.layers for stage in stages)
    first = next((stage.first_layer for stage in stages if stage.first_layer is not None), None)
    if first is not None and layers:
        parts.append(f"layer{'s' if layers > 1 else ''} {number_range(first, layers)}")
    if any(stage.head for stage in stages):
        parts.append("head")
    return " + ".join(parts)


def where(stages: Sequence[PlannedStage]) -> str:
    """Write the GPUs of neighbouring stages: ``"n[001-004]:0-7"`` are GPUs 0 to 7 of each of four nodes."""
    gpus: dict[str, list[int]] = {}
    for stage in stages:
        for part in stage.gpus:
            gpus.setdefault(part.node, []).extend(range(part.first_gpu, part.first_gpu + part.count))
    nodes: dict[str, list[str]] = {}
    for node, indices in gpus.items():
        nodes.setdefault(_ranges(sorted(indices)), []).append(node)
    return ", ".join(f"{_spaced(compress_names(names))}:{indices}" for indices, names in nodes.items())


def strategy_text(strategy: Mapping[str, int | bool | str]) -> str:
    """Write what a strategy uses: ``"tp4 dp2 zero1 recompute=full"``; what is off, or of degree 1, is left out."""
    words = []
    for name, value in strategy.items():
        if isinstance(value, bool):
            words += [name] if value else []
        elif isinstance(value, int):
            # ZeRO 1 is a stage of ZeRO, the other numbers are degrees: 1 is no parallelism.
            words += [f"{name}{value}"] if value > (0 if name == "zero" else 1) else []
        elif value not in ("none", "off", ""):
            words.append(f"{name}={value}")
    return " ".join(words) or "-"


def number_range(first: int, length: int) -> str:
    """Write `length` numbers from `first` on, both ends included."""
    return f"{first}" if length == 1 else f"{first}-{first + length - 1}"


def _ranges(indices: Sequence[int]) -> str:
    """Write ascending numbers, runs as ranges."""
    runs = groupby(enumerate(indices), key=lambda item: item[1] - item[0])
    members = ([index for _, index in run] for _, run in runs)
    return "+".join(number_range(run[0], len(run)) for run in members)


def _spaced(names: str) -> str:
    """Let a long list wrap between names and not within them."""
    return names.replace(",", ", ")
