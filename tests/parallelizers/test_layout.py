"""Layouts against a filter over all degrees."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from parallelizer_atoms import (
    GPT,
    HYBRID,
    MOE,
    embedding,
    gpt_layer,
    head,
    island,
    islands,
    moe_layer,
    scan_layer,
    sliced,
    slices,
    workload,
    workloads,
)

from tangram_opt.data.island import Island
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.interface import ModelSlice
from tangram_opt.parallelizers.layout import Layout, divisors, layouts


def allowed(layout: Layout, piece: ModelSlice, where: Island, what: Workload) -> bool:
    node = where.gpus_per_node
    reachable = where.gpus if where.network_bytes_per_s else node
    layers = [run.atom for run in piece.runs if run.atom.kind == "layer"]
    tp, cp, dp, ep = layout.tp, layout.cp, layout.dp, layout.ep

    def heads_split(heads: int, key_value_heads: int) -> bool:
        return heads % tp == 0 and (key_value_heads % tp == 0 or tp % key_value_heads == 0)

    def aligned(gpus: int) -> bool:
        return node % gpus == 0 or gpus % node == 0

    return (
        node % tp == 0
        and all(heads_split(x.attention_heads, x.key_value_heads) for x in layers if x.attention_heads)
        and cp.bit_count() == 1
        and (cp == 1 or all(x.attention_heads for x in layers))
        and (cp == 1 or what.sequence_length % (2 * cp) == 0)
        and what.micro_batch % dp == 0
        and dp * cp % ep == 0
        and all(x.experts % ep == 0 for x in layers if x.experts)
        and (ep == 1 or any(x.experts for x in layers))
        and all(aligned(gpus) for gpus in (tp * cp * dp, tp * cp, tp * ep))
        and tp * cp * dp <= reachable
        and layout.pp == min(reachable // (tp * cp * dp), piece.length)
    )


@settings(max_examples=60)
@given(slices(), islands(), workloads())
def test_all_allowed_layouts_are_enumerated_once(piece: ModelSlice, where: Island, what: Workload) -> None:
    found = list(layouts(piece, where, what))
    everything = (
        Layout(tp, cp, dp, ep, pp)
        for tp, cp, dp in product(range(1, where.gpus + 1), repeat=3)
        if tp * cp * dp <= where.gpus
        for ep in range(1, dp * cp + 1)
        for pp in {min(reach // (tp * cp * dp), piece.length) for reach in (where.gpus, where.gpus_per_node)}
    )
    assert len(found) == len(set(found))
    assert set(found) == {layout for layout in everything if allowed(layout, piece, where, what)}


def degrees(name: str, *args: object) -> set[int]:
    return {getattr(layout, name) for layout in layouts(*args)}  # type: ignore[arg-type]


def test_71_heads_leave_no_tensor_parallelism() -> None:
    falcon_7b = replace(gpt_layer(64 * 71, 71), key_value_heads=1)
    assert degrees("tp", sliced((falcon_7b, 32)), island(2, 8), workload()) == {1}


@pytest.mark.parametrize(("key_value_heads", "expected"), [(16, {1, 2, 4, 8}), (2, {1, 2, 4, 8}), (3, {1})])
def test_key_value_heads_are_split_or_copied(key_value_heads: int, expected: set[int]) -> None:
    layer = replace(gpt_layer(1024, 16), key_value_heads=key_value_heads)
    assert degrees("tp", sliced((layer, 2)), island(1, 8), workload()) == expected


def test_context_parallelism_needs_attention_and_two_chunks_per_rank() -> None:
    where = island(1, 8)
    assert degrees("cp", GPT, where, workload(sequence_length=1000)) == {1, 2, 4}
    assert degrees("cp", GPT, where, workload(sequence_length=1024)) == {1, 2, 4, 8}
    assert degrees("cp", HYBRID, where, workload(sequence_length=1024)) == {1}


def test_data_parallelism_divides_the_micro_batch_not_the_gpus() -> None:
    assert degrees("dp", GPT, island(1, 8), workload(micro_batch=6)) == {1, 2}
    assert degrees("dp", GPT, island(1, 8), workload(micro_batch=8)) == {1, 2, 4, 8}
    assert degrees("dp", sliced((scan_layer(), 9)), island(1, 6), workload(micro_batch=12)) == {1, 2, 3, 6}


def test_expert_parallelism_divides_the_experts_of_every_layer() -> None:
    mixed = sliced((moe_layer(experts=8), 2), (gpt_layer(), 1), (moe_layer(experts=12), 2))
    assert degrees("ep", mixed, island(2, 8), workload(micro_batch=8)) == {1, 2, 4}
    assert degrees("ep", MOE, island(2, 8), workload(micro_batch=8)) == {1, 2, 4, 8}
    assert degrees("ep", GPT, island(2, 8), workload(micro_batch=8)) == {1}


def test_no_group_straddles_nodes_without_need() -> None:
    # Nodes of 6 GPUs: a context ring of 4 would lie across two of them every other time.
    assert 4 not in degrees("cp", GPT, island(2, 6), workload(micro_batch=3))
    # Three expert ranks in nodes of 8 would, too, unless tensor parallelism makes each of them a node.
    odd = list(layouts(sliced((moe_layer(experts=9), 4)), island(3, 8), workload(micro_batch=24)))
    assert {(layout.tp, layout.ep) for layout in odd if layout.ep > 1} == {(8, 3)}


def test_unconnected_nodes_keep_the_slice_inside_one() -> None:
    found = list(layouts(GPT, island(4, 4, network=0), workload(micro_batch=16)))
    assert max(layout.width for layout in found) == 4
    assert all(layout.width * layout.pp <= 4 for layout in found)


def test_a_slice_has_no_more_stages_than_atoms() -> None:
    assert degrees("pp", sliced((embedding(), 1), (head(), 1)), island(1, 8), workload(micro_batch=1)) <= {1, 2}


def test_divisors() -> None:
    assert [divisors(n) for n in (1, 7, 12)] == [(1,), (1, 7), (1, 2, 3, 4, 6, 12)]
