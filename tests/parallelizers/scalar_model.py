"""The cost and memory models again: one stage of one layout and variant, in plain Python, GPU by GPU.

Written from the formulas of the papers that the package cites; it shares no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import inf

from tangram_opt.data.island import Island
from tangram_opt.data.model import Atom
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.interface import ModelSlice


def seconds(message_bytes: float, rate: float) -> float:
    if message_bytes == 0:
        return 0.0
    return message_bytes / rate if rate else inf


def groups(island: Island, size: int, stride: int) -> list[list[int]]:
    """All groups of `size` GPUs that lie `stride` apart, as far as they fit the island."""
    span = size * stride
    return [
        [start + offset + i * stride for i in range(size)]
        for start in range(0, island.gpus - span + 1, span)
        for offset in range(stride)
    ]


def slowest(island: Island, gpus: range) -> float:
    """Slowest link between GPUs of one node."""
    numbers = [gpu % island.gpus_per_node for gpu in gpus]
    return min(island.link_bytes_per_s[i][j] for i in numbers for j in numbers if i != j)


@cache
def ring_rate(island: Island, size: int, stride: int) -> float:
    """Rate of the slowest of all rings at work together."""
    if size == 1:
        return inf
    node, span = island.gpus_per_node, size * stride
    crossing = [0] * island.nodes
    rate = inf
    for ring in groups(island, size, stride):
        first = ring[0] - ring[0] % span
        at = [gpu // node for gpu in ring]
        if len(set(at)) == 1:
            rate = min(rate, slowest(island, range(first, first + span)))
            continue
        for here, there in pairwise([*at, at[0]]):
            if here != there:
                crossing[here] += 1
            else:
                rate = min(rate, slowest(island, range(here * node, (here + 1) * node)))
    return min(rate, island.network_bytes_per_s / max(crossing)) if max(crossing) else rate


def all_reduce(message: float, size: int, rate: float) -> float:
    return 2 * seconds(message * (size - 1) / size, rate)


@cache
def all_to_all(island: Island, message: float, size: int, stride: int) -> float:
    """Every rank of every group sends to every other: the busiest network link, or the busiest GPU."""
    node = island.gpus_per_node
    sent = [0.0] * island.nodes
    neighbours = 1
    for group in groups(island, size, stride):
        for source in group:
            near = sum(target // node == source // node for target in group)
            neighbours = max(neighbours, near)
            sent[source // node] += message / size * (size - near)
    inside = seconds(message / size * (neighbours - 1), ring_rate(island, neighbours, stride))
    return max(seconds(max(sent), island.network_bytes_per_s), inside)


@dataclass(frozen=True)
class Choice:
    tp: int
    cp: int
    dp: int
    ep: int
    zero: int
    recompute: str
    offload: bool


@dataclass(frozen=True)
class ScalarStage:
    """Seconds and bytes of one stage; `kept` is what a micro-batch in flight keeps on the GPU or on the host."""

    forward: float
    backward: float
    sync: float
    static: float
    in_flight: float
    kept: float


def scalar_stage(atoms: list[Atom], island: Island, work: Workload, x: Choice) -> ScalarStage:
    forward = backward = 0.0
    for atom in atoms:
        f, b = pass_seconds(atom, island, work, x)
        forward, backward = forward + f, backward + b
    gather, scatter = (shard_seconds(atoms, island, work, x, n) for n in (bytes_of(work)[0], bytes_of(work)[1]))
    sync = {0: 2 * scatter, 1: scatter + gather, 2: gather, 3: 0.0}[x.zero]
    backward += {0: 0.0, 1: 0.0, 2: scatter, 3: gather + scatter}[x.zero]
    forward += gather if x.zero == 3 else 0.0

    dense, expert = held(atoms, x)
    ranks, expert_ranks = x.dp * x.cp, x.dp * x.cp // x.ep
    updated = dense / ranks + expert / expert_ranks if x.zero else dense + expert
    sync += 2 * updated * sum(bytes_of(work)) / island.gpu.memory_bytes_per_s

    kept = sum(kept_bytes(atom, work, x) for atom in atoms)
    if x.offload:
        host = island.gpu.host_link_bytes_per_s
        if island.gpus_per_node > 1:
            host = min(host, int(slowest(island, range(island.gpus_per_node))))
        forward, backward = max(forward, seconds(kept, host)), max(backward, seconds(kept, host))
    static = state_bytes(atoms, work, x) + max(dropped_bytes(atom, work, x) for atom in atoms)
    return ScalarStage(
        forward,
        backward,
        sync,
        static=static + (2 * kept if x.offload else 0),
        in_flight=0 if x.offload else kept,
        kept=kept,
    )


def tokens_of(work: Workload, x: Choice) -> float:
    return work.micro_batch * work.sequence_length / x.dp / x.cp


def bytes_of(work: Workload) -> tuple[int, int, int]:
    return work.recipe.weight_bytes, work.recipe.gradient_bytes, work.recipe.optimizer_bytes


def score_bytes(atom: Atom, work: Workload) -> int:
    return atom.attention_activation_bytes_per_pair * atom.attended_tokens(work.sequence_length)


def pass_seconds(atom: Atom, island: Island, work: Workload, x: Choice) -> tuple[float, float]:
    gpu, tokens = island.gpu, tokens_of(work, x)
    hidden = 2 * atom.hidden_size * tokens
    read = 2 * (atom.parameters + atom.tied_parameters) / x.tp
    if atom.kind == "embedding":
        read = min(read, hidden / x.tp)
    products = max(
        atom.linear_flops_per_token * tokens / x.tp / gpu.matmul_flops_per_s,
        read / gpu.memory_bytes_per_s,
    )
    if atom.experts:
        visits = tokens * x.ep * atom.experts_per_token
        read = 2 * atom.expert_parameters / x.tp / x.ep * min(1, visits / atom.experts)
        products += max(
            atom.expert_flops_per_token * tokens / x.tp / gpu.matmul_flops_per_s,
            read / gpu.memory_bytes_per_s,
        )
    pairs = atom.attended_tokens(work.sequence_length)
    attention = atom.attention_flops_per_pair * pairs * tokens / x.tp / gpu.matmul_flops_per_s
    products += attention
    scores = score_bytes(atom, work) * tokens / x.tp / gpu.memory_bytes_per_s
    written = atom.activation_bytes_per_token * tokens / x.tp / gpu.memory_bytes_per_s + scores

    tensor = ring_rate(island, x.tp, 1)
    copies = 2 * atom.experts_per_token * atom.hidden_size * tokens
    routed = all_reduce(copies, x.tp, tensor) - all_reduce(hidden, x.tp, tensor) if atom.experts and x.ep > 1 else 0
    reduced = atom.tensor_parallel_all_reduces * all_reduce(hidden, x.tp, tensor) + routed
    returned = {"embedding": 0.0, "layer": reduced, "head": all_reduce(hidden, x.tp, tensor)}[atom.kind]

    step_bytes = atom.key_value_bytes_per_token * tokens / min(x.tp, max(atom.key_value_heads, 1))
    step = seconds(step_bytes, ring_rate(island, x.cp, x.tp))
    exposed = sum(max(0.0, step - attention / x.cp) for _ in range(x.cp - 1))
    dispatched = 2 * all_to_all(island, copies / x.tp, x.ep, x.tp)

    forward = products + written + reduced + exposed + dispatched
    backward = 2 * products + written + returned + 2 * exposed + dispatched
    if x.recompute == "full" and atom.kind == "layer":
        backward += forward
    if x.recompute == "selective":
        backward += attention + scores
    return forward, backward


def held(atoms: list[Atom], x: Choice) -> tuple[float, float]:
    """Dense and expert parameters on one GPU."""
    return sum(dense_of(atom, atoms) for atom in atoms) / x.tp, sum(a.expert_parameters for a in atoms) / x.tp / x.ep


def dense_of(atom: Atom, stage: list[Atom]) -> int:
    borrowed = any(other.kind == "embedding" for other in stage)
    return atom.parameters + (0 if borrowed else atom.tied_parameters)


def shard_seconds(atoms: list[Atom], island: Island, work: Workload, x: Choice, bytes_each: int) -> float:
    dense, expert = held(atoms, x)
    ranks = x.dp * x.cp
    expert_ranks = ranks // x.ep
    return (
        all_reduce(dense * bytes_each, ranks, ring_rate(island, ranks, x.tp)) / 2
        + all_reduce(expert * bytes_each, expert_ranks, ring_rate(island, expert_ranks, x.tp * x.ep)) / 2
    )


def state_bytes(atoms: list[Atom], work: Workload, x: Choice) -> float:
    total = 0.0
    replicas = {"dense": x.dp * x.cp, "expert": x.dp * x.cp // x.ep}
    sizes = {
        "dense": [dense_of(atom, atoms) / x.tp for atom in atoms],
        "expert": [atom.expert_parameters / x.tp / x.ep for atom in atoms],
    }
    for kind, parts in sizes.items():
        for needed_at, each in zip((3, 2, 1), bytes_of(work), strict=True):
            sharded = x.zero >= needed_at and replicas[kind] > 1
            total += sum(parts) * each / (replicas[kind] if sharded else 1)
            # Weights and gradients of the atom at work are whole; the optimizer never needs them so.
            total += max(parts) * each if sharded and needed_at > 1 else 0
    return total


def kept_bytes(atom: Atom, work: Workload, x: Choice) -> float:
    local = tokens_of(work, x) / x.tp
    if x.recompute == "full" and atom.kind == "layer":
        return atom.input_bytes_per_token * local
    scores = score_bytes(atom, work) if x.recompute == "none" else 0
    return (atom.activation_bytes_per_token + scores) * local


def dropped_bytes(atom: Atom, work: Workload, x: Choice) -> float:
    local = tokens_of(work, x) / x.tp
    if x.recompute == "full" and atom.kind == "layer":
        return (atom.activation_bytes_per_token + score_bytes(atom, work)) * local
    return score_bytes(atom, work) * local if x.recompute == "selective" else 0


def stage_atoms(model_slice: ModelSlice, sizes: tuple[int, ...]) -> list[list[Atom]]:
    atoms = iter([run.atom for run in model_slice.runs for _ in range(run.count)])
    return [[next(atoms) for _ in range(size)] for size in sizes]
