"""The memory model: published figures, position in the pipeline, and the scalar model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parallelizer_atoms import (
    GIGA,
    GPT,
    embedding,
    gpt_layer,
    head,
    island,
    islands,
    moe_layer,
    sliced,
    slices,
    workload,
    workloads,
)
from scalar_model import Choice, scalar_stage, stage_atoms

from tangram_opt.data.island import Island
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers import ModelSlice, SlicePlan, UniformParallelizer
from tangram_opt.parallelizers.figures import slice_figures
from tangram_opt.parallelizers.memory import (
    UNLIMITED,
    KeptBytes,
    StageMemory,
    StageParameters,
    kept_bytes,
    max_stages_after,
    stage_memory,
    stage_parameters,
)

UNIFORM = UniformParallelizer()


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_zero_paper_table_1() -> None:
    # 7.5 billion parameters on 64 ranks under mixed-precision Adam, before any buffer.
    parameters = StageParameters(*(np.array([[x]]) for x in (7.5e9, 0.0, 0.0, 0.0)))
    kept = KeptBytes(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)))
    static = stage_memory(parameters, kept, dp=ints(64), cp=ints(1), ep=ints(1), workload=workload()).static
    assert [round(x / 1e9, 1) for x in static[:, 0, 0, 0, 0].tolist()] == [120.0, 31.4, 16.6, 1.9]


@pytest.mark.parametrize("tp", [1, 2, 8])
@pytest.mark.parametrize("cp", [1, 4])
def test_activations_of_a_gpt_layer_are_those_of_the_megatron_paper(tp: int, cp: int) -> None:
    s, b, h, a = 2048, 4, 1024, 16
    figures = slice_figures(sliced((gpt_layer(h, a), 3)), s)
    counts = figures.stage_counts((1, 2))
    kept = kept_bytes(figures, counts, np.array([b * s / cp]), ints(tp))
    one = np.array([s * b * h * (34 + 5 * a * s / h), 34 * s * b * h, 2 * s * b * h]) / tp / cp
    # With sequence parallelism a layer's input is split, too. The second stage holds two layers.
    assert kept.in_flight[:, 0] == pytest.approx(np.outer(one, [1, 2]))
    # Dropped activations come back for one layer at a time.
    dropped = np.array([0, 5 * a * s * s * b, s * b * h * (34 + 5 * a * s / h)]) / tp / cp
    assert kept.working[:, 0] == pytest.approx(np.outer(dropped, [1, 1]))


def test_full_recomputation_keeps_embedding_and_logits() -> None:
    figures = slice_figures(sliced((embedding(1024), 1), (head(1024, 32_000), 1)), 512)
    kept = kept_bytes(figures, figures.stage_counts((1, 1)), np.array([512.0]), ints(1))
    assert kept.in_flight[:, 0].tolist() == [[512 * (8 + 1024), 512 * (4 * 1024 + 4 * 32_000)]] * 3
    assert not kept.working.any()


def test_a_tied_head_holds_a_copy_only_where_the_embedding_is_elsewhere() -> None:
    figures = slice_figures(sliced((embedding(64, 1000), 1), (gpt_layer(64, 4), 1), (head(64, 1000, tied=True), 1)), 8)
    layer = gpt_layer(64, 4).parameters
    one, two = ints(1), ints(2)
    assert stage_parameters(figures, figures.stage_counts((3,)), one, one).dense.tolist() == [[64_000 + layer + 64]]
    apart = stage_parameters(figures, figures.stage_counts((1, 2)), two, one)
    assert apart.dense.tolist() == [[32_000, (layer + 64_064) / 2]]
    # Under ZeRO 3 the copy is gathered whole, like any weight.
    assert apart.largest_dense.tolist() == [[32_000, 64_064 / 2]]


def test_experts_without_replicas_are_not_sharded() -> None:
    figures = slice_figures(sliced((moe_layer(experts=8), 2)), 128)
    counts = figures.stage_counts((2,))
    what = workload(recipe=replace(workload().recipe, reserved_bytes=0))

    def experts_static(ep: int) -> list[int]:
        parameters = stage_parameters(figures, counts, ints(1), ints(ep))
        only_experts = replace(parameters, dense=0 * parameters.dense, largest_dense=0 * parameters.dense)
        nothing = KeptBytes(np.zeros((3, 1, 1)), np.zeros((3, 1, 1)))
        return stage_memory(only_experts, nothing, ints(8), ints(1), ints(ep), what).static[:, 0, 0, 0, 0].tolist()

    each = moe_layer(experts=8).expert_parameters
    assert experts_static(8) == [2 * each // 8 * 16] * 4
    assert experts_static(1)[1:] == [
        2 * each * 4 + 2 * each // 8 * 12,
        2 * each * 2 + 2 * each // 8 * 14 + each * 2,
        2 * each // 8 * 16 + each * 4,
    ]


def memory_of(static: list[int], in_flight: list[int], host: list[int]) -> StageMemory:
    def shaped(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64).reshape(1, 1, 1, 1, -1)

    return StageMemory(shaped(static), shaped(in_flight), shaped(host))


@pytest.mark.parametrize(
    ("static", "in_flight", "host", "expected"),
    [
        ([90], [2], [0], 4),  # 5 micro-batches fit
        ([91], [2], [0], 3),
        ([90, 90], [2, 2], [0, 0], 3),  # the first stage has one more behind it
        ([90, 98], [2, 2], [0, 0], 0),
        ([84], [2], [0], UNLIMITED),  # all 8
        ([85], [2], [0], 6),
        ([100], [0], [0], UNLIMITED),
        ([101], [0], [0], -1),
        ([99], [2], [0], -1),
        ([98, 98], [2, 2], [0, 0], -1),
        ([0], [0], [10], 4),  # 50 bytes of host memory for each GPU
        ([0], [0], [6], UNLIMITED),
        ([0], [0], [51], -1),
    ],
)
def test_stages_after_by_hand(static: list[int], in_flight: list[int], host: list[int], expected: int) -> None:
    where = island(1, 2, memory=110, host_memory=101)
    what = workload(micro_batches=8, recipe=replace(workload().recipe, reserved_bytes=10))
    found = int(max_stages_after(memory_of(static, in_flight, host), where, what).item())
    assert found == expected if expected >= 0 else found < 0


@given(
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5),
    st.integers(1, 10),
    st.one_of(st.none(), st.integers(1, 100)),
)
def test_stages_after_is_the_largest_number_that_fits(
    stages: list[tuple[int, int, int]], micro_batches: int, host_memory: int | None
) -> None:
    where = island(1, 1, memory=100, host_memory=host_memory)

    def fits(after: int) -> bool:
        for behind, (static, in_flight, host) in enumerate(reversed(stages)):
            held = min(micro_batches, behind + after + 1)
            if static + held * in_flight > 100 or held * host > (host_memory or 0):
                return False
        return True

    found = int(
        max_stages_after(
            memory_of(*(list(column) for column in zip(*stages, strict=True))),
            where,
            workload(1, micro_batches),
        ).item()
    )
    if found < 0:
        assert not fits(0)
    elif found == UNLIMITED:
        assert fits(micro_batches - 1)
    else:
        assert fits(found)
        assert not fits(found + 1)


def host_bytes(plan: SlicePlan, piece: ModelSlice, where: Island, what: Workload) -> list[float]:
    """What an offloaded micro-batch in flight takes of the host, stage by stage."""
    if not plan.strategy["offload"]:
        return [0.0] * len(plan.stages)
    choice = Choice(**plan.strategy)  # type: ignore[arg-type]
    stages = stage_atoms(piece, tuple(stage.atoms for stage in plan.stages))
    return [scalar_stage(atoms, where, what, choice).kept for atoms in stages]


@settings(max_examples=80)
@given(slices(), islands(), workloads())
def test_every_plan_fits_behind_the_stages_it_tolerates_and_not_behind_one_more(
    piece: ModelSlice, where: Island, what: Workload
) -> None:
    limit = what.recipe.usable_bytes(where.gpu)
    host_share = (where.host_memory_bytes or 0) // where.gpus_per_node
    for plan in UNIFORM.parallelize(piece, where, what, 0).plans:
        host = host_bytes(plan, piece, where, what)

        def fits(after: int, plan: SlicePlan = plan, host: list[float] = host) -> bool:
            last = len(plan.stages) - 1
            counts = [min(what.micro_batches, last - s + after + 1) for s in range(last + 1)]
            return all(
                stage.static_bytes + n * stage.in_flight_bytes <= limit and n * on_host <= host_share
                for stage, on_host, n in zip(plan.stages, host, counts, strict=True)
            )

        if plan.max_stages_after is None:
            assert fits(what.micro_batches)
        else:
            assert fits(plan.max_stages_after)
            assert not fits(plan.max_stages_after + 1)


def test_offloading_needs_known_host_memory() -> None:
    def offloaded(host_memory: int | None) -> list[SlicePlan]:
        tight = island(1, 4, memory=1500 * 10**6, host_memory=host_memory)
        plans = UNIFORM.parallelize(GPT, tight, workload(micro_batches=32), 0).plans
        return [plan for plan in plans if plan.strategy["offload"]]

    assert not offloaded(None)
    assert not offloaded(1000)
    assert offloaded(500 * GIGA)


def test_memory_is_rounded_up() -> None:
    parameters = StageParameters(*(np.array([[x]]) for x in (1 / 3, 0.0, 0.0, 0.0)))
    kept = KeptBytes(np.full((3, 1, 1), 0.25), np.zeros((3, 1, 1)))
    memory = stage_memory(parameters, kept, ints(1), ints(1), ints(1), workload())
    assert memory.static[0, 0, :, 0, 0].tolist() == [6, 6]  # 16 / 3, and with two buffers 16 / 3 + 1 / 2
    assert memory.in_flight[0, 0, :, 0, 0].tolist() == [1, 0]
    assert memory.host_in_flight[0, 0, :, 0, 0].tolist() == [0, 1]
