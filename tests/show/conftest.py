"""Plans for the tests of what is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tangram_opt.data.plan import GpuRange, Plan, PlannedStage, SearchReport, UnusedIsland
from tangram_opt.pipeline import simulate

MS = 10**6
GIB = 2**30


def _stage(**changes: object) -> PlannedStage:
    base = PlannedStage(
        island="a100",
        gpu="A100-SXM4-80GB",
        gpus=(GpuRange("n001", 0, 8),),
        first_atom=1,
        atoms=7,
        embedding=False,
        head=False,
        first_layer=0,
        layers=7,
        strategy={"tp": 4, "dp": 2, "cp": 1, "zero": 1, "recompute": "full", "offload": "none"},
        forward_ns=20 * MS,
        backward_ns=43 * MS,
        transfer_ns=MS // 2,
        sync_ns=120 * MS,
        static_bytes=21 * GIB,
        in_flight_bytes=GIB * 3 // 4,
        in_flight=1,
        memory_limit_bytes=76 * GIB,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _plan(stages: list[PlannedStage], micro_batches: int, **changes: object) -> Plan:
    """Put stages in order: their atoms, layers, in-flight counts and the plan's times follow from it."""
    placed: list[PlannedStage] = []
    atom = layer = 0
    for number, item in enumerate(stages):
        last = number == len(stages) - 1
        atoms = item.layers + (number == 0 or item.embedding) + last
        placed.append(
            replace(
                item,
                first_atom=atom,
                atoms=atoms,
                embedding=number == 0,
                head=last,
                first_layer=layer if item.layers else None,
                transfer_ns=0 if last else item.transfer_ns,
                in_flight=min(micro_batches, len(stages) - number),
            )
        )
        atom, layer = atom + atoms, layer + item.layers
    times = [item.time_ns for item in placed]
    closed = (micro_batches - 1) * max(times) + sum(times) + 2 * sum(item.transfer_ns for item in placed)
    simulated = simulate(
        [item.forward_ns for item in placed],
        [item.backward_ns for item in placed],
        [item.transfer_ns for item in placed[:-1]],
        [item.sync_ns for item in placed],
        micro_batches,
    ).makespan_ns
    gpus = sum(item.gpu_count for item in placed)
    base = Plan(
        name="test",
        cluster="west",
        model="Llama-3-70B",
        layers=max(layer, 1),
        parameters=70_553_706_496,
        active_parameters=70_553_706_496,
        flops_per_token=15 * 10**10 * layer // 80,
        peak_flops_per_s=gpus * 312 * 10**12,
        cluster_gpus=gpus + 24,
        global_batch=2 * micro_batches,
        sequence_length=4096,
        micro_batch=2,
        recipe="bf16-adam",
        stages=tuple(placed),
        outcome="optimal",
        iteration_ns=closed,
        bound_ns=closed,
        simulated_ns=simulated,
        unused=(
            UnusedIsland("t4", 2, 16, 1_234_567_890, "a T4 stage would be the bottleneck"),
            UnusedIsland("v100", 1, 8, None, "no slice fits its 16 GiB"),
        ),
        idle_gpus=4,
        search=SearchReport(
            parallelizer="uniform",
            solver="dp",
            solver_version="0.1",
            pairs=12_345,
            pruned={"redundancy": 9_000, "imbalance": 2_100, "infeasibility": 12},
            queries=234,
            options=4_567,
            micro_batches_tried=(1, 2, 4),
            enumeration_s=3.21,
            composition_s=0.04,
        ),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def _uniform_plan(stages: int, micro_batches: int, **changes: object) -> Plan:
    """Equal stages, each on its own node."""
    return _plan([_stage(gpus=(GpuRange(f"n{s + 1:03}", 0, 8),)) for s in range(stages)], micro_batches, **changes)


def _mixed_plan(micro_batches: int, **changes: object) -> Plan:
    """Five stages on three islands, two of which share a node."""
    h100 = _stage(
        island="h100",
        gpu="H100-SXM5-80GB",
        gpus=(GpuRange("h1", 0, 8), GpuRange("h2", 0, 8)),
        layers=33,
        forward_ns=19 * MS,
        backward_ns=40 * MS,
    )
    half = _stage(gpus=(GpuRange("n001", 0, 4),), layers=12, strategy={"tp": 4}, forward_ns=18 * MS)
    v100 = _stage(
        island="v100",
        gpu="V100-SXM2-32GB",
        gpus=(GpuRange("v7", 0, 4),),
        layers=5,
        transfer_ns=6 * MS,
        strategy={"dp": 4, "zero": 3},
        memory_limit_bytes=30 * GIB,
        static_bytes=12 * GIB,
        sync_ns=0,
    )
    return _plan([v100, v100, half, replace(half, gpus=(GpuRange("n001", 4, 4),)), h100], micro_batches, **changes)


@pytest.fixture
def stage() -> Callable[..., PlannedStage]:
    return _stage


@pytest.fixture
def plan() -> Callable[..., Plan]:
    return _plan


@pytest.fixture
def uniform_plan() -> Callable[..., Plan]:
    return _uniform_plan


@pytest.fixture
def mixed_plan() -> Callable[..., Plan]:
    return _mixed_plan
