from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tangram_opt import documents
from tangram_opt.cli.app import run
from tangram_opt.data.composition import (
    Composition,
    CompositionProblem,
    IslandClass,
    Option,
    Pick,
    SignatureRun,
    Stage,
)

CLUSTER = """
format: tangram-opt/cluster
version: 1
name: box
nodes:
  - {name: fast, count: 2, gpu: A100-SXM4-80GB, gpus_per_node: 2, intra_node_gb_per_s: 300}
  - {name: slow, count: 2, gpu: V100-SXM2-32GB, gpus_per_node: 2, intra_node_gb_per_s: 100}
network:
  between_groups_gb_per_s: {fast: {fast: 10, slow: 1}, slow: {slow: 10}}
"""
MODEL = {
    "model_type": "gpt2",
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_layer": 6,
    "n_head": 12,
}


def option(island: str, atoms: int, time_ns: int) -> Option:
    stage = Stage(atoms, forward_ns=time_ns, backward_ns=2 * time_ns, static_bytes=10, in_flight_bytes=1)
    return Option(island, (SignatureRun("layer", atoms),), (stage,), (), None, island, island)


# Two islands and four layers; a takes 30 ns for a layer, b 60 ns. Three layers on a and one on b: slowest stage 90 ns,
# sum 150 ns, one transfer of 5 ns each way, with 3 micro-batches (3 - 1) * 90 + 150 + 10 = 340 ns. Two and two:
# 2 * 120 + 180 + 10 = 430 ns; one and three is worse still, and neither island can hold all four.
PROBLEM = CompositionProblem(
    name="by-hand",
    micro_batches=3,
    atoms=(SignatureRun("layer", 4),),
    islands=(IslandClass("a", 1, 100), IslandClass("b", 1, 100)),
    options=tuple(option("a", n, 10 * n) for n in (1, 2, 3)) + tuple(option("b", n, 20 * n) for n in (1, 2, 3)),
    ports=("a", "b"),
    transfer_ns=((5, 5), (5, 5)),
)
OPTIMUM_NS = 340
OPTIMUM = Composition("by-hand", (Pick(2, 0), Pick(3, 3)))


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def tangram(capsys):
    """Run the command line in this process."""

    def call(*arguments: object) -> Ran:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write one small document of every kind that a command reads."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    documents.save(PROBLEM, tmp_path / "composition-problem.json")
    documents.save(OPTIMUM, tmp_path / "composition.json")
    islands = {"format": "tangram-opt/islands-problem", "version": 1, "name": "islands", "cluster": "cluster.yaml"}
    planning = {
        "format": "tangram-opt/planning-problem",
        "version": 1,
        "name": "planning",
        "cluster": "cluster.yaml",
        "model": "model.json",
        "global_batch": 8,
        "sequence_length": 128,
        "micro_batch": 2,
        "recipe": "mixed-adam",
    }
    (tmp_path / "islands-problem.json").write_text(json.dumps(islands))
    (tmp_path / "planning-problem.json").write_text(json.dumps(planning))
    return tmp_path
