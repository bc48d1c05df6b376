"""Slice/island pairs, and the three policies that remove those not worth a query (paper section 5.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tangram_opt.data.island import Island
from tangram_opt.data.model import Model
from tangram_opt.data.planning import Pruning
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration.slices import model_slices
from tangram_opt.islands import IslandGroup
from tangram_opt.parallelizers.interface import ModelSlice, Parallelizer

REDUNDANCY, IMBALANCE, INFEASIBILITY = "redundancy", "imbalance", "infeasibility"


@dataclass(frozen=True)
class Pair:
    """A slice and the island class that may run it."""

    model_slice: ModelSlice
    island: Island


@dataclass(frozen=True)
class PairReport:
    """The pairs to query, and what became of the others.

    Attributes
    ----------
    pairs : tuple of Pair
        To query.
    total : int
        Pairs before pruning: every slice of the model with every island.
    removed : mapping of str to int
        Pairs removed, by policy.
    """

    pairs: tuple[Pair, ...]
    total: int
    removed: Mapping[str, int]


def enumerate_pairs(
    parallelizer: Parallelizer,
    model: Model,
    groups: Sequence[IslandGroup],
    workload: Workload,
    pruning: Pruning,
) -> PairReport:
    """Pair slices with islands and prune.

    Parameters
    ----------
    parallelizer : Parallelizer
        Slices the model and profiles the slices.
    model : Model
        What is trained.
    groups : sequence of IslandGroup
        Island classes with their members.
    workload : Workload
        One iteration.
    pruning : Pruning
        Which policies apply.

    Returns
    -------
    PairReport
        Each removed pair counts for the first policy that removes it, in the order redundancy (equal slices, and
        islands of one class), imbalance, infeasibility.
    """
    slices = list(model_slices(parallelizer, model))
    islands = [group.island for group in groups for _ in group.members]
    total = len(slices) * len(islands)
    removed: Counter[str] = Counter({REDUNDANCY: 0, IMBALANCE: 0, INFEASIBILITY: 0})
    if pruning.redundancy:
        slices = list({piece.signature: piece for piece in slices}.values())
        islands = [group.island for group in groups]
        removed[REDUNDANCY] = total - len(slices) * len(islands)
    whole = max(slices, key=lambda piece: piece.length)
    whole_ns = {group.island: parallelizer.profile(whole, group.island, workload).time_ns for group in groups}
    speed = {island: 1 / max(1, time_ns) for island, time_ns in whole_ns.items()}
    cluster_speed = sum(speed[group.island] * group.count for group in groups)
    alone = sum(group.count for group in groups) == 1
    window = pruning.imbalance_window
    pairs = []
    for island in islands:
        share = speed[island] / cluster_speed
        for piece in slices:
            profile = parallelizer.profile(piece, island, workload)
            demand = profile.time_ns / max(1, whole_ns[island])
            if window is not None and not share / window <= demand <= share * window:
                removed[IMBALANCE] += 1
            elif pruning.infeasibility and (
                profile.memory_bytes > island.gpus * workload.recipe.usable_bytes(island.gpu)
                # The only island there is has to hold the whole model.
                or (alone and piece.length < whole.length)
            ):
                removed[INFEASIBILITY] += 1
            else:
                pairs.append(Pair(piece, island))
    return PairReport(tuple(pairs), total, dict(removed))
