"""The layouts of a slice on an island: how many GPUs each kind of parallelism takes.

GPUs are numbered node by node. Tensor parallelism takes neighbours, then context, then data parallelism; a
stage is ``tp * cp * dp`` neighbouring GPUs, and pipeline stages follow one another. Expert parallelism shares the
GPUs of data and context parallelism (Megatron-LM's order of ranks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from tangram_opt.data.island import Island
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.interface import ModelSlice


@dataclass(frozen=True, slots=True)
class Layout:
    """Degrees of tensor, context, data, expert and pipeline parallelism inside an island."""

    tp: int
    cp: int
    dp: int
    ep: int
    pp: int

    @property
    def width(self) -> int:
        """GPUs of one pipeline stage."""
        return self.tp * self.cp * self.dp


def layouts(model_slice: ModelSlice, island: Island, workload: Workload) -> Iterator[Layout]:
    """Enumerate the layouts of a slice on an island.

    Parameters
    ----------
    model_slice : ModelSlice
        What is to be run.
    island : Island
        Where.
    workload : Workload
        Its micro-batch bounds data parallelism, its sequence length context parallelism.

    Yields
    ------
    Layout
        Tensor parallelism stays inside a node and divides the heads; context parallelism cuts the sequence into
        pairs of equal chunks (Ring Attention with load balancing); data parallelism divides the micro-batch;
        expert parallelism divides the experts. As many pipeline stages follow as fit the island and the slice.
        A stage fills nodes or divides one, and so does a group of context or of expert parallelism, so that none
        straddles two nodes without need.
    """
    node = island.gpus_per_node
    reachable = island.gpus if island.network_bytes_per_s > 0 else node
    layers = [run.atom for run in model_slice.runs if run.atom.kind == "layer"]
    experts = gcd(*(atom.experts for atom in layers if atom.experts)) if layers else 0
    context_parallel = all(atom.attention_heads for atom in layers)
    for tp in divisors(node):
        if not all(_splits_heads(tp, atom.attention_heads, atom.key_value_heads) for atom in layers):
            continue
        for cp in _powers_of_two(reachable // tp):
            if cp > 1 and (not context_parallel or workload.sequence_length % (2 * cp)):
                continue
            for dp in divisors(workload.micro_batch):
                width = tp * cp * dp
                if width > reachable or not (_aligned(width, node) and _aligned(tp * cp, node)):
                    continue
                pp = min(reachable // width, model_slice.length)
                for ep in divisors(gcd(dp * cp, experts)) if experts else (1,):
                    if _aligned(tp * ep, node):
                        yield Layout(tp, cp, dp, ep, pp)


def divisors(number: int) -> tuple[int, ...]:
    """All divisors of a positive number, in increasing order."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)


def _aligned(gpus: int, node: int) -> bool:
    return node % gpus == 0 or gpus % node == 0


def _powers_of_two(limit: int) -> Iterator[int]:
    power = 1
    while power <= limit:
        yield power
        power *= 2


def _splits_heads(tp: int, heads: int, key_value_heads: int) -> bool:
    """Whether `tp` GPUs can share the heads evenly; key/value heads may be copied when there are fewer of them."""
    return heads % tp == 0 and (key_value_heads % tp == 0 or tp % key_value_heads == 0) if heads else True
