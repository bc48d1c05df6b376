"""Answers become a composition problem: options, ports and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from small_problems import FAST, HIDDEN, RECIPE, cluster, groups_of, node, planning_problem, twin_islands, workload_of

from tangram_opt import load_composition_problem, save
from tangram_opt.data.composition import CompositionProblem, SignatureRun, Stage
from tangram_opt.data.model import AtomRun
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.enumeration import PairAnswer, Query, composition_problem, enumerate_pairs, run_queries
from tangram_opt.enumeration.pairs import Pair
from tangram_opt.islands import IslandGroup
from tangram_opt.parallelizers import ModelSlice, SlicePlan, UniformParallelizer

LINKS = ((0, 3 * 10**9), (7 * 10**9, 0))
BOUNDARY_BYTES = 128 * HIDDEN * 2


def plan(boundary_nodes: int = 1, time_ns: int = 100, after: int | None = None, **strategy: int) -> SlicePlan:
    return SlicePlan((Stage(6, time_ns, 2 * time_ns, 10, 1),), (), after, boundary_nodes, strategy)


def answer(asked: PlanningProblem, group: IslandGroup, plans: Sequence[SlicePlan], micro_batch: int = 1) -> PairAnswer:
    pair = Pair(ModelSlice(asked.model.runs), group.island)
    return PairAnswer(Query(pair, workload_of(asked, micro_batch)), tuple(plans), 1, "")


def composed(
    plans: Sequence[Sequence[SlicePlan]],
    asked: PlanningProblem | None = None,
    micro_batch: int = 1,
    links: Sequence[Sequence[int]] = LINKS,
) -> CompositionProblem:
    """The problem in which each island class has the given plans of the whole model."""
    asked = asked or planning_problem()
    groups = groups_of(asked)
    answers = [answer(asked, group, known, micro_batch) for group, known in zip(groups, plans, strict=True)]
    return composition_problem("p", asked.model, groups, links, workload_of(asked, micro_batch), answers)


def test_a_port_is_a_class_with_the_nodes_that_hold_a_boundary() -> None:
    problem = composed([[plan(2), plan(1)], [plan(1)]])
    assert problem.ports == ("Fast x2 / 1 node", "Fast x2 / 2 nodes", "Slow x2 / 1 node")
    assert [(option.entry_port, option.exit_port) for option in problem.options] == [
        ("Fast x2 / 2 nodes",) * 2,
        ("Fast x2 / 1 node",) * 2,
        ("Slow x2 / 1 node",) * 2,
    ]


@pytest.mark.parametrize("micro_batch", [1, 2, 4])
def test_a_boundary_crosses_as_many_links_as_both_sides_have_nodes(micro_batch: int) -> None:
    problem = composed([[plan(4)], [plan(1), plan(3)]], micro_batch=micro_batch)
    assert problem.ports == ("Fast x2 / 4 nodes", "Slow x2 / 1 node", "Slow x2 / 3 nodes")
    message = micro_batch * BOUNDARY_BYTES
    there = problem.transfer_ns[0]
    for found, links in zip(there[1:], (1, 3), strict=True):
        rate = links * LINKS[0][1]
        # Rounded up to the next nanosecond, in integers.
        assert (found - 1) * rate < message * 10**9 <= found * rate
    assert there[1] > there[2]


def test_asymmetric_links_go_from_the_row_to_the_column() -> None:
    problem = composed([[plan()], [plan()]], links=((0, 10**9), (2 * 10**9, 0)))
    assert problem.transfer_ns == ((0, BOUNDARY_BYTES), (BOUNDARY_BYTES // 2, 0))


def test_the_widest_activation_counts_on_every_boundary() -> None:
    asked = planning_problem()
    embedding, layer, head = asked.model.runs
    wide = AtomRun(replace(layer.atom, hidden_size=3 * HIDDEN), layer.count)
    asked = replace(asked, model=replace(asked.model, runs=(embedding, wide, head)))
    assert composed([[plan()], [plan()]], asked, links=((0, 10**9), (10**9, 0))).transfer_ns[0][1] == 3 * BOUNDARY_BYTES


def test_equal_plans_are_one_option() -> None:
    problem = composed([[plan(tp=2), plan(dp=2), plan(after=3), plan(2), plan(time_ns=99)], [plan()]])
    assert len(problem.options) == 5
    assert problem.options[0].strategy == {"tp": 2}


def test_options_say_what_their_plans_say() -> None:
    stages = (Stage(2, 5, 6, 7, 8, 9, 1), Stage(4, 1, 2, 3, 4, 5, 1))
    problem = composed([[SlicePlan(stages, (11,), 12, 1, {"tp": 1})], []])
    (option,) = problem.options
    assert (option.stages, option.inner_transfers_ns, option.max_stages_after) == (stages, (11,), 12)
    assert (option.island, option.strategy) == ("Fast x2", {"tp": 1})
    assert option.atoms == (SignatureRun("embedding", 1), SignatureRun("layer", 4), SignatureRun("head", 1))


def test_classes_have_their_islands_and_what_the_reserve_leaves() -> None:
    asked = planning_problem(cluster=twin_islands())
    problem = composed([[plan()], [plan()]], asked, links=((10**9, 2 * 10**9), (2 * 10**9, 0)))
    assert [(each.name, each.count, each.memory_bytes) for each in problem.islands] == [
        ("Fast x2", 2, 9 * 10**8),
        ("Slow x2", 1, 5 * 10**8),
    ]
    assert problem.transfer_ns[0][0] == BOUNDARY_BYTES, "between two islands of the class"


def test_the_atoms_are_those_of_the_model() -> None:
    problem = composed([[plan()], []])
    assert problem.signatures == tuple(atom.signature for atom in planning_problem().model.atoms())
    assert problem.micro_batches == 4


def test_what_uniform_answers_survives_being_saved(tmp_path: Path) -> None:
    problem = composed_by_uniform(planning_problem())
    assert len(problem.options) > 20
    save(problem, tmp_path / "problem.json")
    assert load_composition_problem(tmp_path / "problem.json") == problem


def test_a_class_without_usable_memory_still_makes_a_document(tmp_path: Path) -> None:
    tiny = replace(FAST, name="Tiny", memory_bytes=RECIPE.reserved_bytes, matmul_flops_per_s=10**12)
    asked = planning_problem(cluster=cluster(node("fast", FAST), node("tiny", tiny)))
    problem = composed_by_uniform(asked)
    assert {option.island for option in problem.options} == {"Fast x2"}
    save(problem, tmp_path / "problem.json")
    assert load_composition_problem(tmp_path / "problem.json") == problem


def composed_by_uniform(asked: PlanningProblem) -> CompositionProblem:
    groups, workload = groups_of(asked), workload_of(asked)
    report = enumerate_pairs(UniformParallelizer(), asked.model, groups, workload, asked.pruning)
    answers = list(run_queries(UniformParallelizer(), [Query(pair, workload) for pair in report.pairs]))
    return composition_problem(asked.name, asked.model, groups, LINKS, workload, answers)
