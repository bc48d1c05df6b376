"""The planner works on islands that are proven fewest: those of the paper on its clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tangram_opt.data.cluster import Cluster, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.documents import load_planning_problem
from tangram_opt.errors import InputError
from tangram_opt.islands import agglomerate
from tangram_opt.planner.islands import find_islands

PLANNING = Path(__file__).parents[2] / "instances" / "planning"


def islands_of(problem: PlanningProblem) -> dict[str, int]:
    groups, _, _ = find_islands(problem, time_limit_s=None, threads=1, seed=0)
    return {group.island.name: group.count for group in groups}


@pytest.mark.parametrize(
    ("name", "islands"),
    [
        ("c1-8t4-8v100-gpt3-6.7b", ["T4 x8", "V100-PCIE-16GB x8"]),
        ("c2-8a100-8h100-mixtral-8x7b", ["A100-80GB-PCIe x8", "H100-NVL-94GB x8"]),
        (
            "c3-4a100-8v100-4v100-4t4-gpt3-13b",
            ["A100-80GB-PCIe x4", "V100-SXM2-32GB x8", "V100-PCIE-16GB x4", "T4 x4"],
        ),
    ],
)
def test_the_clusters_of_the_paper_fall_into_its_islands(name: str, islands: list[str]) -> None:
    assert islands_of(load_planning_problem(PLANNING / f"{name}.json")) == dict.fromkeys(islands, 1)


def clustered(compute: tuple[int, ...], network: TierNetwork | MatrixNetwork) -> PlanningProblem:
    problem = load_planning_problem(PLANNING / "c1-4t4-4v100-moe-2.4b.json")
    gpu = problem.cluster.nodes[0].gpu
    nodes = tuple(
        Node(f"n{i}", replace(gpu, matmul_flops_per_s=10**9 * each), 1, ((0,),)) for i, each in enumerate(compute)
    )
    return replace(problem, cluster=Cluster("c", nodes, network))


def test_islands_are_fewest_where_the_greedy_method_has_too_many() -> None:
    # The middle two are most alike: joined, they leave the outer two alone.
    problem = clustered((1000, 1190, 1210, 1430), TierNetwork((10**9,), ((),) * 4))

    assert len(agglomerate(IslandsProblem("i", problem.cluster)).islands) == 3
    assert sum(islands_of(problem).values()) == 2


def test_islands_without_a_link_are_refused() -> None:
    problem = clustered((1000, 2000), MatrixNetwork(((0, 5), (0, 0))))
    with pytest.raises(InputError, match="no link from island 'T4 x1 b' to island 'T4 x1 a'"):
        islands_of(problem)
