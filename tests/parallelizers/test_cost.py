"""The cost model against the scalar one, and relations that hold whatever the constants are."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from array_model import array_model
from hypothesis import given, settings
from hypothesis import strategies as st
from parallelizer_atoms import (
    GIGA,
    GPT,
    HYBRID,
    MOE,
    bridged_links,
    embedding,
    gpt_layer,
    gpu,
    head,
    island,
    islands,
    moe_layer,
    sliced,
    slices,
    workload,
    workloads,
)
from scalar_model import Choice, all_to_all, scalar_stage, stage_atoms

from tangram_opt.data.island import Island
from tangram_opt.data.model import Atom
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.cost import inner_transfers_ns
from tangram_opt.parallelizers.interface import ModelSlice
from tangram_opt.parallelizers.layout import Layout, layouts
from tangram_opt.parallelizers.variants import OFFLOAD, RECOMPUTE, ZERO_STAGES

Case = tuple[ModelSlice, Island, Workload, Layout]

NONE, SELECTIVE, FULL = range(3)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    piece, where, what = draw(slices()), draw(islands()), draw(workloads())
    return piece, where, what, draw(st.sampled_from(list(layouts(piece, where, what))))


@settings(max_examples=100)
@given(cases())
def test_arrays_hold_what_the_scalar_model_says_of_every_variant(case: Case) -> None:
    piece, where, what, layout = case
    arrays = array_model(*case)
    stages = stage_atoms(piece, arrays.sizes)
    shape = arrays.memory.static.shape
    forward, backward, sync = (
        np.broadcast_to(time, shape) for time in (arrays.times.forward, arrays.times.backward, arrays.times.sync)
    )
    for (z, zero), (r, recompute), (o, offload) in product(*map(enumerate, (ZERO_STAGES, RECOMPUTE, OFFLOAD))):
        if zero and layout.dp * layout.cp == 1:
            continue
        choice = Choice(layout.tp, layout.cp, layout.dp, layout.ep, zero, recompute, offload)
        for s, atoms in enumerate(stages):
            expected = scalar_stage(atoms, where, what, choice)
            at = (z, r, o, 0, s)
            assert forward[at] == pytest.approx(1e9 * expected.forward, rel=1e-9)
            assert backward[at] == pytest.approx(1e9 * expected.backward, rel=1e-9)
            assert sync[at] == pytest.approx(1e9 * expected.sync, rel=1e-9)
            assert 0 <= arrays.memory.static[at] - expected.static * (1 - 1e-12) <= 1.001
            assert 0 <= arrays.memory.in_flight[at] - expected.in_flight * (1 - 1e-12) <= 1.001
            host = expected.kept if offload else 0
            assert 0 <= arrays.memory.host_in_flight[at] - host * (1 - 1e-12) <= 1.001


def faster(where: Island, factor: int) -> Island:
    g = where.gpu
    return replace(
        where,
        gpu=replace(
            g,
            matmul_flops_per_s=factor * g.matmul_flops_per_s,
            memory_bytes_per_s=factor * g.memory_bytes_per_s,
            host_link_bytes_per_s=factor * g.host_link_bytes_per_s,
        ),
        link_bytes_per_s=tuple(tuple(factor * x for x in row) for row in where.link_bytes_per_s),
        network_bytes_per_s=factor * where.network_bytes_per_s,
    )


@settings(max_examples=50)
@given(cases())
def test_twice_the_rates_and_bandwidths_take_half_the_time(case: Case) -> None:
    piece, where, what, layout = case
    slow, fast = array_model(*case).times, array_model(piece, faster(where, 2), what, layout).times
    for name in ("forward", "backward", "sync"):
        np.testing.assert_allclose(2 * getattr(fast, name), getattr(slow, name), rtol=1e-12)


SLOWER: dict[str, Callable[[Island], Island]] = {
    "matrix products": lambda x: replace(x, gpu=replace(x.gpu, matmul_flops_per_s=x.gpu.matmul_flops_per_s // 2)),
    "memory": lambda x: replace(x, gpu=replace(x.gpu, memory_bytes_per_s=x.gpu.memory_bytes_per_s // 2)),
    "host link": lambda x: replace(x, gpu=replace(x.gpu, host_link_bytes_per_s=x.gpu.host_link_bytes_per_s // 2)),
    "links": lambda x: replace(x, link_bytes_per_s=tuple(tuple(b // 2 for b in row) for row in x.link_bytes_per_s)),
    "network": lambda x: replace(x, network_bytes_per_s=x.network_bytes_per_s // 2),
}


@settings(max_examples=40)
@given(cases(), st.sampled_from(sorted(SLOWER)))
def test_nothing_slower_ever_helps_a_layout(case: Case, what_is_slower: str) -> None:
    piece, where, what, layout = case
    before, after = array_model(*case).times, array_model(piece, SLOWER[what_is_slower](where), what, layout).times
    # Slower products may hide the ring of context parallelism, but never by more than they take longer.
    for name in ("forward", "backward", "sync"):
        assert (getattr(after, name) >= getattr(before, name) * (1 - 1e-12)).all()


@settings(max_examples=50)
@given(cases())
def test_full_recomputation_adds_one_forward_pass_of_the_layers(case: Case) -> None:
    piece = case[0]
    arrays = array_model(*case)
    stages = stage_atoms(piece, arrays.sizes)
    distinct = list(dict.fromkeys(run.atom for run in piece.runs))
    forward = dict(zip(distinct, arrays.passes.forward[0].tolist(), strict=True))
    expected = [sum(forward[atom] for atom in atoms if atom.kind == "layer") for atoms in stages]
    # Without ZeRO and offloading.
    added = arrays.times.backward[0, FULL, 0, 0] - arrays.times.backward[0, NONE, 0, 0]
    assert added == pytest.approx(expected, rel=1e-6)


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([256, 1024, 4096]))
def test_selective_recomputation_adds_the_scores_of_attention(tp: int, sequence: int) -> None:
    h, heads = 1024, 16
    piece, where, what = sliced((gpt_layer(h, heads), 1)), island(1, 8), workload(1, 1, sequence)
    backward = array_model(piece, where, what, Layout(tp, 1, 1, 1, 1)).times.backward[0, :, 0, 0, 0]
    flops, scores = 4 * h * sequence**2 / tp, 5 * heads * sequence**2 / tp
    expected = flops / where.gpu.matmul_flops_per_s + scores / where.gpu.memory_bytes_per_s
    assert backward[SELECTIVE] - backward[NONE] == pytest.approx(1e9 * expected)


def layer_ns(atom: Atom, where: Island, what: Workload, layout: Layout) -> tuple[float, float]:
    passes = array_model(sliced((atom, 1)), where, what, layout).passes
    return float(passes.forward[0, 0]), float(passes.backward[0, 0])


def test_a_large_gpt_layer_runs_at_the_rate_of_matrix_products() -> None:
    # 96 b s h^2 (1 + s / 6h) operations with recomputation, 72 without (Narayanan et al. 2021, equation 3).
    h, s, b = 12_288, 2048, 1
    forward, backward = layer_ns(gpt_layer(h, 96), island(1, 1), workload(b, 1, s), Layout(1, 1, 1, 1, 1))
    operations = 72 * b * s * h**2 * (1 + s / 6 / h)
    assert (forward + backward) / 1e9 == pytest.approx(operations / gpu().matmul_flops_per_s, rel=0.03)
    assert (forward + backward) / 1e9 > operations / gpu().matmul_flops_per_s


def test_tensor_parallelism_costs_two_all_reduces_in_each_pass() -> None:
    what, layout = workload(4, 1, 1024), Layout(4, 1, 1, 1, 1)
    quick, slow = island(1, 4, link=10**20), island(1, 4, link=10 * GIGA)
    message = 4 * 1024 * 2 * 1024  # tokens, bytes a value, hidden size
    expected = 2 * 2 * 3 / 4 * message / 10  # ns at 10 GB/s
    quick_ns, slow_ns = (layer_ns(gpt_layer(), where, what, layout) for where in (quick, slow))
    assert [b - a for a, b in zip(quick_ns, slow_ns, strict=True)] == pytest.approx([expected, expected], rel=1e-6)


@pytest.mark.parametrize(("atom", "expected"), [(embedding(), (1, 0)), (head(), (0, 1))])
def test_a_split_vocabulary_costs_one_all_reduce(atom: Atom, expected: tuple[int, int]) -> None:
    what, layout = workload(4, 1, 1024), Layout(4, 1, 1, 1, 1)
    quick_ns, slow_ns = (layer_ns(atom, island(1, 4, link=rate), what, layout) for rate in (10**20, 10 * GIGA))
    one = 2 * 3 / 4 * 4 * 1024 * 2 * 1024 / 10
    assert [b - a for a, b in zip(quick_ns, slow_ns, strict=True)] == pytest.approx([one * n for n in expected])


def test_looking_tokens_up_does_not_read_the_whole_table() -> None:
    what, layout = workload(1, 1, 128), Layout(1, 1, 1, 1, 1)
    few, many = (layer_ns(embedding(1024, words), island(1, 1), what, layout) for words in (10_000, 1_000_000))
    assert few == many


def test_reading_weights_bounds_a_few_tokens_from_below() -> None:
    what, layout = workload(1, 1, 1), Layout(1, 1, 1, 1, 1)
    forward, _ = layer_ns(gpt_layer(8192, 64), island(1, 1), what, layout)
    assert forward >= 2 * 12 * 8192**2 / 900 * 1.0
    # One token visits 2 of 8 experts: the other six are not read.
    few, _ = layer_ns(moe_layer(8192, 64), island(1, 1), what, layout)
    many, _ = layer_ns(moe_layer(8192, 64), island(1, 1), workload(1, 1, 8), layout)
    expert_ns = 2 * 6 * 8192**2 / 900
    assert 2 * expert_ns < few < 3 * expert_ns
    assert 8 * expert_ns < many < 9 * expert_ns
    # Four GPUs with a token each: together they visit both experts of every GPU.
    shared, _ = layer_ns(moe_layer(8192, 64), island(1, 4, link=10**20), workload(4, 1, 1), Layout(1, 1, 4, 4, 1))
    assert 2 * expert_ns < shared < 3 * expert_ns


def test_a_ring_that_attention_hides_is_free_and_one_that_it_does_not_costs_the_rest() -> None:
    h, s, cp = 1024, 4096, 4
    what, layout = workload(1, 1, s), Layout(1, cp, 1, 1, 1)
    free, hidden, exposed = (
        layer_ns(gpt_layer(h), island(1, cp, link=link), what, layout) for link in (10**20, 100 * GIGA, GIGA)
    )
    assert free == hidden
    tokens = s // cp
    step = tokens * 4 * h / 1  # ns at 1 GB/s
    attention = tokens * 4 * h * s * 1e9 / gpu().matmul_flops_per_s
    extra = (cp - 1) * (step - attention / cp)
    assert extra > 0
    # Keys and values; in the backward pass their gradients as well, beside twice the attention.
    assert exposed[0] - free[0] == pytest.approx(extra)
    assert exposed[1] - free[1] == pytest.approx(2 * extra)


def test_copied_key_value_heads_are_sent_by_every_rank() -> None:
    what, where = workload(1, 1, 256), island(1, 8, link=GIGA // 100)

    def ring_ns(tp: int) -> float:
        layer = replace(moe_layer(key_value_heads=2), tensor_parallel_all_reduces=0)
        forward, _ = layer_ns(layer, where, what, Layout(tp, 2, 1, 1, 1))
        free, _ = layer_ns(
            layer,
            replace(where, link_bytes_per_s=island(1, 8, link=10**20).link_bytes_per_s),
            what,
            Layout(tp, 2, 1, 1, 1),
        )
        return forward - free

    # Two heads are shared by two ranks; four ranks have a whole head each as well.
    assert ring_ns(2) == pytest.approx(ring_ns(1) / 2, rel=0.01)
    assert ring_ns(4) == pytest.approx(ring_ns(2), rel=0.01)


def test_expert_parallelism_costs_two_all_to_alls_in_each_pass() -> None:
    what, layout = workload(4, 1, 1024), Layout(1, 1, 4, 4, 1)
    where = island(1, 4, link=10 * GIGA)
    quick_ns = layer_ns(moe_layer(), island(1, 4, link=10**20), what, layout)
    slow_ns = layer_ns(moe_layer(), where, what, layout)
    one = all_to_all(where, 1024 * 2 * 2 * 1024, 4, 1)  # tokens, copies, bytes a value, hidden size
    assert [b - a for a, b in zip(quick_ns, slow_ns, strict=True)] == pytest.approx([2e9 * one] * 2, rel=1e-6)


def test_experts_split_both_ways_gather_copies_rather_than_tokens() -> None:
    # Four tensor ranks, two expert ranks; the all-to-all crosses nodes, the all-reduces do not.
    what = workload(2, 1, 1024)

    def tensor_ns(visited: int, ep: int) -> float:
        times = [
            layer_ns(moe_layer(visited=visited), island(2, 4, link=link, network=10**20), what, Layout(4, 1, 2, ep, 1))
            for link in (10**20, 10 * GIGA)
        ]
        return times[1][0] - times[0][0]

    one = 2 * 3 / 4 * 1024 * 2 * 1024 / 10
    assert tensor_ns(visited=6, ep=1) == pytest.approx(2 * one, rel=1e-6)
    assert tensor_ns(visited=6, ep=2) == pytest.approx((1 + 6) * one, rel=1e-6)
    assert tensor_ns(visited=1, ep=2) == pytest.approx(2 * one, rel=1e-6)


def test_zero_moves_as_often_as_its_paper_says() -> None:
    # Volumes in parameters: 2 per iteration for ZeRO 0 and 1; ZeRO 2 and 3 work in every micro-batch of a pipeline.
    what, layout = workload(4, 1, 128), Layout(1, 1, 4, 1, 1)
    piece = sliced((gpt_layer(), 2))
    quick, slow = (array_model(piece, island(1, 4, link=rate), what, layout).times for rate in (10**20, GIGA))
    one = 3 / 4 * 2 * gpt_layer().parameters * 2  # bytes of all weights, or of all gradients, but for the own share

    def moved(name: str, zero: int) -> float:
        at = (min(zero, getattr(quick, name).shape[0] - 1), 0, 0, 0, 0)
        return float(getattr(slow, name)[at] - getattr(quick, name)[at]) / one

    volumes = [[round(moved(name, zero), 6) for name in ("forward", "backward", "sync")] for zero in ZERO_STAGES]
    assert volumes == [[0, 0, 2], [0, 0, 2], [0, 1, 1], [1, 2, 0]]


def test_the_optimizer_reads_and_writes_its_share_of_the_state() -> None:
    what, layout = workload(4, 1, 128), Layout(1, 1, 4, 1, 1)
    sync = array_model(sliced((gpt_layer(), 1)), island(1, 4, link=10**20), what, layout).times.sync[:, 0, 0, 0, 0]
    everything = 2 * 16 * gpt_layer().parameters / 900
    assert sync == pytest.approx([everything, everything / 4, everything / 4, everything / 4], rel=1e-6)


def test_offloading_takes_at_least_as_long_as_the_host_link() -> None:
    what, layout = workload(4, 1, 1024), Layout(1, 1, 1, 1, 1)
    slow_link = replace(island(1, 1), gpu=replace(gpu(), host_link_bytes_per_s=GIGA))
    arrays = array_model(sliced((gpt_layer(), 1)), slow_link, what, layout)
    kept = 4 * 1024 * (34 * 1024 + 5 * 16 * 1024)
    assert arrays.times.forward[0, NONE, 1, 0, 0] == arrays.times.backward[0, NONE, 1, 0, 0] == pytest.approx(kept)
    assert arrays.times.forward[0, NONE, 0, 0, 0] < kept
    # A layer's input is moved sooner than the pass ends.
    quick = array_model(sliced((gpt_layer(), 1)), island(1, 1), what, layout).times
    assert quick.backward[0, FULL, 1, 0, 0] == quick.backward[0, FULL, 0, 0, 0] > 4 * 1024 * 2 * 1024 / 16


@pytest.mark.parametrize(
    ("width", "stages", "expected"),
    [
        (1, 8, [8, 8, 8, 4, 8, 8, 8]),  # one GPU sends at 8 GB/s inside, 4 GB/s to the other node
        (2, 4, [16, 4, 16]),  # two at once inside
        (4, 2, [4]),  # a node sends over its link
    ],
)
def test_inner_transfers_follow_the_nodes(width: int, stages: int, expected: list[int]) -> None:
    where = replace(island(2, 4, network=4 * GIGA), link_bytes_per_s=bridged_links(2, 200 * GIGA, 8 * GIGA))
    times = inner_transfers_ns([Layout(width, 1, 1, 1, stages)], where, stages, 16 * GIGA)
    assert times.tolist() == [[16e9 / rate for rate in expected]]


def test_stages_of_two_nodes_send_over_two_links() -> None:
    times = inner_transfers_ns([Layout(4, 2, 1, 1, 2)], island(4, 4, network=4 * GIGA), 2, 16 * GIGA)
    assert times.tolist() == [[2e9]]


def test_times_over_missing_links_are_infinite() -> None:
    for piece in (GPT, MOE, HYBRID):
        times = array_model(piece, island(1, 4, link=0), workload(4), Layout(4, 1, 1, 1, 1)).times
        assert not np.isfinite(times.forward).any()
        synced = array_model(piece, island(1, 4, link=0), workload(4), Layout(1, 1, 4, 1, 1)).times.sync
        assert not np.isfinite(synced[:3]).any()
