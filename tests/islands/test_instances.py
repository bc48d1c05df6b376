"""The cluster files of the repository: each loads, and falls into the islands that it was written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tangram_opt.backend import SolveOptions
from tangram_opt.data.island import IslandsProblem
from tangram_opt.documents import load_cluster
from tangram_opt.islands import AgglomerativeBackend, agglomerate, build_islands, check

CLUSTERS = Path(__file__).parents[2] / "instances" / "clusters"

EXPECTED = {
    "c1": {"T4 x16": 4, "V100-PCIE-16GB x16": 4},
    "c1-16t4": {"T4 x16": 4},
    "c1-12t4-4v100": {"T4 x12": 3, "V100-PCIE-16GB x4": 1},
    "c1-8t4-8v100": {"T4 x8": 2, "V100-PCIE-16GB x8": 2},
    "c1-4t4-12v100": {"T4 x4": 1, "V100-PCIE-16GB x12": 3},
    "c1-16v100": {"V100-PCIE-16GB x16": 4},
    "c1-4t4-4v100": {"T4 x4": 1, "V100-PCIE-16GB x4": 1},
    "c2": {"A100-80GB-PCIe x8": 2, "H100-NVL-94GB x8": 4},
    "c2-half": {"A100-80GB-PCIe x4": 1, "H100-NVL-94GB x4": 2},
    "c3-4a100": {"A100-80GB-PCIe x4": 1},
    "c3-4a100-8v100": {"A100-80GB-PCIe x4": 1, "V100-SXM2-32GB x8": 1},
    "c3-4a100-8v100-4v100": {"A100-80GB-PCIe x4": 1, "V100-SXM2-32GB x8": 1, "V100-PCIE-16GB x4": 1},
    "c3-4a100-8v100-4v100-4t4": {
        "A100-80GB-PCIe x4": 1,
        "V100-SXM2-32GB x8": 1,
        "V100-PCIE-16GB x4": 1,
        "T4 x4": 1,
    },
    "h100-64-a100-128": {"H100-SXM5-80GB x64": 8, "A100-SXM4-80GB x128": 16},
    "mixed-1024": {"H800-SXM-80GB x512": 64, "H100-SXM5-80GB x256": 32, "A800-SXM4-80GB x256": 32},
    "mixed-10240": {
        "H100-SXM5-80GB x3072": 384,
        "A100-SXM4-80GB x2048": 256,
        "H200-SXM-141GB x2048": 256,
        "A800-SXM4-80GB x2048": 256,
        "MI300X x1024": 128,
    },
    "consumer-8gpu": {"RTX-3090 x4": 1, "RTX-4090 x4": 1},
}


def test_every_cluster_file_is_expected() -> None:
    assert {path.stem for path in CLUSTERS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_cluster_falls_into_its_islands(name: str) -> None:
    cluster = load_cluster(CLUSTERS / f"{name}.yaml")
    problem = IslandsProblem(name, cluster)
    partition = agglomerate(problem)
    assert check(problem, partition) == ()
    groups = build_islands(cluster, partition)
    assert {group.island.name: group.island.nodes for group in groups} == EXPECTED[name]
    assert all(group.count == 1 for group in groups)
    assert sum(group.count * group.island.gpus for group in groups) == cluster.gpus
    assert cluster.name == name


@pytest.mark.parametrize("name", ["c1", "c2", "c3-4a100-8v100-4v100-4t4", "consumer-8gpu"])
def test_the_likeness_of_nodes_alone_proves_these_islands_fewest(name: str) -> None:
    problem = IslandsProblem(name, load_cluster(CLUSTERS / f"{name}.yaml"))
    result = AgglomerativeBackend().solve(problem, SolveOptions())
    assert result.bound == result.objective == len(EXPECTED[name])


def test_the_largest_cluster_has_10240_gpus() -> None:
    assert load_cluster(CLUSTERS / "mixed-10240.yaml").gpus == 10_240
