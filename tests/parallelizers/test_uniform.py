"""The built-in parallelizer: its interface, its bounds, and what its answers promise."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from array_model import array_model
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parallelizer_atoms import (
    GIGA,
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
from scalar_model import Choice, scalar_stage, stage_atoms

from tangram_opt.data.island import Island
from tangram_opt.data.model import AtomRun, Model
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers import ModelSlice, Parallelizer, SlicePlan, UniformParallelizer
from tangram_opt.parallelizers.cost import inner_transfers_ns
from tangram_opt.parallelizers.layout import layouts
from tangram_opt.parallelizers.memory import UNLIMITED, max_stages_after
from tangram_opt.parallelizers.variants import RECOMPUTE

UNIFORM = UniformParallelizer()
TIED = Model("tied", "gpt", GPT.runs)


def criteria(plan: SlicePlan) -> tuple[float, ...]:
    after = float("inf") if plan.max_stages_after is None else plan.max_stages_after
    return (
        max(stage.time_ns for stage in plan.stages),
        sum(stage.time_ns for stage in plan.stages) + 2 * sum(plan.inner_transfers_ns),
        len(plan.stages),
        -after,
        max(stage.sync_ns for stage in plan.stages),
        -plan.boundary_nodes,
    )


def test_it_is_a_parallelizer() -> None:
    assert isinstance(UNIFORM, Parallelizer)
    assert UNIFORM.name == "uniform"


def test_it_answers_the_same_in_another_process() -> None:
    case = (MOE, island(2, 4, memory=3 * GIGA), workload(), 1)
    sent = pickle.loads(pickle.dumps((UNIFORM, case)))
    assert sent[0].parallelize(*sent[1]) == UNIFORM.parallelize(*case) == UNIFORM.parallelize(*case)
    assert pickle.loads(pickle.dumps(UNIFORM.parallelize(*case))) == UNIFORM.parallelize(*case)


def test_a_model_is_the_concatenation_of_its_atoms() -> None:
    whole, *rest = UNIFORM.slice_model(TIED)
    for atom in rest:
        whole = UNIFORM.concatenate(whole, atom)
    assert whole == GPT
    assert len(rest) + 1 == GPT.length == 8
    assert [(run.signature, run.count) for run in whole.signature] == [("embedding", 1), ("gpt-1024", 6), ("head", 1)]


@given(slices(), slices(), slices())
def test_slices_concatenate_associatively(a: ModelSlice, b: ModelSlice, c: ModelSlice) -> None:
    join = UNIFORM.concatenate
    joined = join(a, join(b, c))
    assert joined == join(join(a, b), c)
    assert joined.length == a.length + b.length + c.length
    assert all(x.atom != y.atom for x, y in zip(joined.runs, joined.runs[1:], strict=False))


def test_the_profile_is_the_work_over_all_gpus() -> None:
    what = workload(4, 8, 1024)
    profile = UNIFORM.profile(sliced((gpt_layer(), 2)), island(2, 4), what)
    operations = 2 * 3 * (24 * 1024**2 + 4 * 1024 * 1024) * 4 * 1024
    assert profile.time_ns == operations * 10**9 // (8 * 86 * 10**12)
    assert profile.memory_bytes == 2 * 16 * (12 * 1024**2 + 13 * 1024)


@settings(max_examples=60)
@given(slices(), islands(), workloads())
def test_the_profile_bounds_every_plan_from_below(piece: ModelSlice, where: Island, what: Workload) -> None:
    profile = UNIFORM.profile(piece, where, what)
    for plan in UNIFORM.parallelize(piece, where, what, 0).plans:
        gpus = sum(stage.gpus for stage in plan.stages)
        assert gpus <= where.gpus
        assert max(stage.time_ns for stage in plan.stages) * gpus >= profile.time_ns * where.gpus
        assert sum(stage.time_ns * stage.gpus for stage in plan.stages) >= profile.time_ns * where.gpus
        assert sum(stage.static_bytes * stage.gpus for stage in plan.stages) >= profile.memory_bytes


@settings(max_examples=60)
@given(slices(), islands(), workloads())
def test_plans_are_those_of_the_scalar_model_rounded_up(piece: ModelSlice, where: Island, what: Workload) -> None:
    answer = UNIFORM.parallelize(piece, where, what, 0)
    assert answer.complete
    assert bool(answer.reason) == (not answer.plans)
    for plan in answer.plans:
        choice = Choice(**plan.strategy)  # type: ignore[arg-type]
        width = choice.tp * choice.cp * choice.dp
        sizes = tuple(stage.atoms for stage in plan.stages)
        assert sum(sizes) == piece.length
        assert len(plan.inner_transfers_ns) == len(sizes) - 1
        assert plan.boundary_nodes == max(1, width // where.gpus_per_node)
        for stage, atoms in zip(plan.stages, stage_atoms(piece, sizes), strict=True):
            expected = scalar_stage(atoms, where, what, choice)
            assert stage.gpus == width
            for found, exact in (
                (stage.forward_ns, 1e9 * expected.forward),
                (stage.backward_ns, 1e9 * expected.backward),
                (stage.sync_ns, 1e9 * expected.sync),
                (stage.static_bytes, expected.static),
                (stage.in_flight_bytes, expected.in_flight),
            ):
                assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-9) + 1


@settings(max_examples=40)
@given(slices(), islands(), workloads(), st.integers(1, 20))
def test_answers_for_more_stages_after_are_subsets(
    piece: ModelSlice, where: Island, what: Workload, stages_after: int
) -> None:
    every = UNIFORM.parallelize(piece, where, what, 0).plans
    tolerant = [plan for plan in every if plan.max_stages_after is None or plan.max_stages_after >= stages_after]
    assert list(UNIFORM.parallelize(piece, where, what, stages_after).plans) == tolerant


@settings(max_examples=40)
@given(slices(), islands(), workloads(), st.integers(1, 4 * GIGA))
def test_more_memory_never_slows_the_best_plan(piece: ModelSlice, where: Island, what: Workload, more: int) -> None:
    def best(where: Island) -> float:
        plans = UNIFORM.parallelize(piece, where, what, 0).plans
        return min((criteria(plan)[0] for plan in plans), default=float("inf"))

    larger = replace(where, gpu=replace(where.gpu, memory_bytes=where.gpu.memory_bytes + more))
    assert best(larger) <= best(where)


def every_plan(piece: ModelSlice, where: Island, what: Workload) -> np.ndarray:
    """Criteria of all plans that fit as the last ones, whether or not they are beaten."""
    rows = []
    for layout in layouts(piece, where, what):
        arrays = array_model(piece, where, what, layout)
        shape = arrays.memory.static.shape
        forward, backward, sync = (
            np.ceil(np.broadcast_to(time, shape))
            for time in (arrays.times.forward, arrays.times.backward, arrays.times.sync)
        )
        depth = max_stages_after(arrays.memory, where, what)
        transfers = np.ceil(inner_transfers_ns([layout], where, layout.pp, boundary_bytes(piece, what))).sum()
        for at in np.ndindex(depth.shape):
            time = forward[at] + backward[at]
            row = (
                time.max(),
                time.sum() + 2 * transfers,
                layout.pp,
                -(np.inf if depth[at] == UNLIMITED else depth[at]),
                sync[at].max(),
                -max(1, layout.width // where.gpus_per_node),
            )
            if depth[at] >= 0 and np.isfinite([row[1], row[4]]).all():
                rows.append(row)
    return np.array(sorted(set(rows))).reshape(-1, 6)


def boundary_bytes(piece: ModelSlice, what: Workload) -> int:
    return what.micro_batch * what.sequence_length * 2 * max(run.atom.hidden_size for run in piece.runs)


@settings(max_examples=40)
@given(slices(), islands(), workloads())
# Stages of one GPU side by side beat stages of a node only because activations cross the network both ways.
@example(sliced((scan_layer(), 2)), island(2, 2, memory=4 * GIGA, link=50 * GIGA, network=3 * GIGA), workload(2))
def test_exactly_the_plans_that_nothing_beats_are_returned(piece: ModelSlice, where: Island, what: Workload) -> None:
    rows = every_plan(piece, where, what)
    beats = (rows[:, None] <= rows[None, :]).all(axis=2) & (rows[:, None] < rows[None, :]).any(axis=2)
    front = rows[~beats.any(axis=0)]
    found = [criteria(plan) for plan in UNIFORM.parallelize(piece, where, what, 0).plans]
    assert sorted(found) == [tuple(row) for row in front.tolist()]


def test_tight_memory_makes_use_of_every_technique() -> None:
    seen: dict[str, set[object]] = {}
    for piece in (GPT, MOE, HYBRID):
        for memory in range(200, 6000, 200):
            for micro_batch in (1, 4, 8):
                where = island(2, 4, memory=memory * 10**6, host_memory=256 * GIGA)
                for plan in UNIFORM.parallelize(piece, where, workload(micro_batch, 16, 2048), 4).plans:
                    for name, value in plan.strategy.items():
                        seen.setdefault(name, set()).add(value)
    assert seen["recompute"] == set(RECOMPUTE)
    assert seen["offload"] == {False, True}
    assert seen["zero"] == {0, 1, 2, 3}
    assert seen["tp"] >= {1, 2, 4}
    assert min(len(seen[name]) for name in ("cp", "dp", "ep")) >= 2


def test_no_memory_is_explained_with_the_numbers() -> None:
    where, what = island(2, 4, memory=100 * 10**6), workload()
    answer = UNIFORM.parallelize(GPT, where, what, 3)
    assert answer.plans == ()
    assert answer.complete
    leanest = min(
        max(
            stage.static_bytes + min(what.micro_batches, behind + 3 + 1) * stage.in_flight_bytes
            for behind, stage in enumerate(reversed(plan.stages))
        )
        for plan in UNIFORM.parallelize(GPT, replace(where, gpu=replace(where.gpu, memory_bytes=10**15)), what, 3).plans
        if not plan.strategy["offload"]
    )
    need = float(answer.reason.split(" needs ")[1].split()[0])
    # The plans of an endless memory are the fast ones; the leanest of all needs no more than they do.
    assert what.recipe.usable_bytes(where.gpu) / 2**30 < need <= leanest / 2**30
    assert answer.reason.startswith("memory: the leanest plan needs ")
    assert answer.reason.endswith(" GiB on each example of 0.1 GiB with 3 stages after it")


@pytest.mark.parametrize("piece", [HYBRID, sliced((head(), 1))])
def test_the_leanest_plan_of_a_reason_is_feasible_with_just_that_memory(piece: ModelSlice) -> None:
    def plans(memory: int) -> bool:
        return bool(UNIFORM.parallelize(piece, island(1, 2, memory=memory), workload(), 2).plans)

    low, high = 1, 100 * GIGA
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if plans(middle) else (middle, high)
    reason = UNIFORM.parallelize(piece, island(1, 2, memory=low), workload(), 2).reason
    assert f"needs {high / 2**30:.1f} GiB" in reason


def test_missing_links_are_explained() -> None:
    answer = UNIFORM.parallelize(GPT, island(1, 4, link=0), workload(), 0)
    assert answer.plans == ()
    assert answer.reason == "speed: every layout on island example needs links without bandwidth, or takes years"


@pytest.mark.parametrize(
    ("where", "what", "reason"),
    [
        (island(1, 2), workload(2**20, 1, 2**31 - 1), "speed: every layout on island example "),
        (island(2, 2, link=1, network=1), workload(), "speed: every layout on island example "),
    ],
    ids=["work", "links"],
)
def test_figures_beyond_64_bits_are_no_plan_and_no_overflow(where: Island, what: Workload, reason: str) -> None:
    with np.errstate(all="raise"):
        answer = UNIFORM.parallelize(sliced((gpt_layer(2**20), 2)), where, what, 3)
    assert answer.plans == ()
    assert answer.reason.startswith(reason)


def test_missing_links_do_not_blame_the_network_for_memory() -> None:
    # One atom runs on one GPU without any link. Sharing it would need less memory, but cannot be done.
    atom = sliced((gpt_layer(8192, 64), 1))
    assert UNIFORM.parallelize(atom, island(1, 4, link=0, memory=50 * GIGA), workload(1), 0).plans
    reason = UNIFORM.parallelize(atom, island(1, 4, link=0, memory=5 * GIGA), workload(1), 0).reason
    assert reason.startswith("memory")
    assert float(reason.split(" needs ")[1].split()[0]) > 16 * 12 * 8192**2 / 2**30


@pytest.mark.parametrize("atom", [embedding(), head(), head(tied=True), scan_layer(), moe_layer(), gpt_layer()])
def test_every_kind_of_atom_is_planned_alone(atom: object) -> None:
    piece = ModelSlice((AtomRun(atom, 1),))  # type: ignore[arg-type]
    answer = UNIFORM.parallelize(piece, island(1, 1), workload(1), 0)
    assert [stage.gpus for plan in answer.plans for stage in plan.stages] == [1] * len(answer.plans)
    assert answer.plans
