"""Which GPUs run which stage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import FAST, SLOW, cluster, node

from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage
from tangram_opt.data.island import Island
from tangram_opt.data.plan import GpuRange
from tangram_opt.islands import IslandGroup
from tangram_opt.planner.placement import PlacedStage, member_name, place

# Two equal islands of two nodes each, and one of a single node; the nodes of the islands take turns in the cluster.
CLUSTER = cluster(node("a", FAST, 4), node("b", FAST, 4), node("c", FAST, 4), node("d", FAST, 4), node("e", SLOW, 2))


def island(name: str, nodes: int, gpus: int) -> Island:
    return Island(name, FAST, nodes, gpus, tuple((0,) * gpus for _ in range(gpus)), 0)


PAIR = IslandGroup(island("pair", 2, 4), ((0, 2), (1, 3)))
LONE = IslandGroup(island("lone", 1, 2), ((4,),))


def where(*islands: tuple[str, tuple[int, ...]]) -> list[PlacedStage]:
    """Place options, each with an island class and the GPUs of its stages."""
    options = tuple(
        Option(
            name,
            (SignatureRun("layer", len(gpus)),),
            tuple(Stage(1, 1, 1, 0, 0, gpus=count) for count in gpus),
            (0,) * (len(gpus) - 1),
            None,
            "port",
            "port",
        )
        for name, gpus in islands
    )
    problem = CompositionProblem(
        name="by hand",
        micro_batches=1,
        atoms=(SignatureRun("layer", sum(len(gpus) for _, gpus in islands)),),
        islands=(IslandClass("pair", 2, 1), IslandClass("lone", 1, 1)),
        options=options,
        ports=("port",),
        transfer_ns=((0,),),
    )
    return place(CLUSTER, (PAIR, LONE), problem, placed(problem, range(len(options))))


def test_stages_follow_one_another_node_by_node() -> None:
    assert [stage.gpus for stage in where(("pair", (2, 4, 1, 1)))] == [
        (GpuRange("a", 0, 2),),
        (GpuRange("a", 2, 2), GpuRange("c", 0, 2)),
        (GpuRange("c", 2, 1),),
        (GpuRange("c", 3, 1),),
    ]


def test_a_stage_may_span_whole_nodes() -> None:
    (stage,) = where(("pair", (8,)))
    assert stage.gpus == (GpuRange("a", 0, 4), GpuRange("c", 0, 4))


def test_the_islands_of_a_class_are_taken_in_their_order_and_numbered() -> None:
    stages = where(("pair", (4, 4)), ("lone", (2,)), ("pair", (8,)))
    assert [(stage.pick, stage.stage, stage.island) for stage in stages] == [
        (0, 0, "pair #1"),
        (0, 1, "pair #1"),
        (1, 0, "lone"),
        (2, 0, "pair #2"),
    ]
    assert stages[2].gpus == (GpuRange("e", 0, 2),)
    assert stages[3].gpus == (GpuRange("b", 0, 4), GpuRange("d", 0, 4))


@pytest.mark.parametrize(("group", "member", "name"), [(PAIR, 0, "pair #1"), (PAIR, 1, "pair #2"), (LONE, 0, "lone")])
def test_only_islands_of_larger_classes_are_numbered(group: IslandGroup, member: int, name: str) -> None:
    assert member_name(group, member) == name


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=8).filter(lambda gpus: sum(gpus) <= 8), max_size=2))
def test_no_gpu_runs_two_stages_and_every_option_takes_the_first_gpus(sizes: list[list[int]]) -> None:
    stages = where(*(("pair", tuple(gpus)) for gpus in sizes), ("lone", (1,)))
    taken = [
        (stage.pick, part.node, gpu)
        for stage in stages
        for part in stage.gpus
        for gpu in range(part.first_gpu, part.first_gpu + part.count)
    ]
    assert len({(name, gpu) for _, name, gpu in taken}) == len(taken)
    for pick, gpus in enumerate(sizes):
        own = [(name, gpu) for owner, name, gpu in taken if owner == pick]
        nodes = [CLUSTER.nodes[index].name for index in PAIR.members[pick]]
        assert own == [(name, gpu) for name in nodes for gpu in range(4)][: sum(gpus)]
