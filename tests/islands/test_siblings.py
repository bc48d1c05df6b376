"""Where a note says that a sibling keeps a part of a machine from other machines, it does; the tolerance lifts it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from islands_oracle import best_value

from tangram_opt.data.cluster import Cluster, Gpu, MachinePart, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances
from tangram_opt.islands import explain, kept_apart
from tangram_opt.show import island_notes


def node(name: str, model: str, compute: int, machine: str | None = None) -> Node:
    gpu = Gpu(model, 2 * compute, compute, 100, 1, 1)
    return Node(name, gpu, 1, ((0,),), part_of=None if machine is None else MachinePart(machine, (0,)))


def machines(count: int, inside: int = 30, between: int = 10) -> IslandsProblem:
    """Machines with a slow and a fast GPU."""
    nodes = tuple(node(f"m{i}/{k}", k, c, f"m{i}") for i in range(count) for k, c in (("slow", 100), ("fast", 500)))
    positions = tuple((f"m{i // 2}",) for i in range(2 * count))
    return IslandsProblem("p", Cluster("c", nodes, TierNetwork((between, inside), positions)))


def test_parts_of_mixed_machines_are_kept_apart_and_the_tolerance_that_lifts_it_is_stated() -> None:
    problem = machines(3)
    assert best_value(problem)[0] == 6
    slow, fast = kept_apart(problem)
    assert (slow.machines, slow.gpu, slow.sibling) == (("m0", "m1", "m2"), "slow", "fast")
    assert (slow.inside_bytes_per_s, slow.outside_bytes_per_s, slow.network_tolerance) == (30, 10, 2.0)
    assert (fast.gpu, fast.sibling) == ("fast", "slow")
    *_, note, _ = island_notes(problem)
    assert "slow of machines m[0-2] is in no island with another machine" in note
    assert "--network-tolerance 2 or more lifts that" in note
    wide = replace(problem, tolerances=Tolerances(network=2.0))
    assert kept_apart(wide) == ()
    assert best_value(wide)[0] == 2
    assert best_value(replace(problem, tolerances=Tolerances(network=1.99)))[0] == 6


@pytest.mark.parametrize(
    "problem",
    [
        machines(1),
        machines(3, inside=10),
        replace(machines(3), tolerances=Tolerances(compute=5.0)),
        replace(machines(3), tolerances=Tolerances(fast_link_bytes_per_s=10)),
    ],
    ids=["no other machine", "no faster inside", "siblings alike", "fast links equal"],
)
def test_where_a_sibling_is_no_obstacle_nothing_is_said(problem: IslandsProblem) -> None:
    assert kept_apart(problem) == ()


@st.composite
def mixed(draw: st.DrawFn) -> IslandsProblem:
    nodes = []
    for i in range(draw(st.integers(1, 3))):
        kinds = draw(st.lists(st.sampled_from([100, 110, 150, 200]), min_size=1, max_size=2, unique=True))
        own = None if len(kinds) == 1 else f"m{i}"
        nodes += [node(f"m{i}/{c}", f"g{c}", c, own) for c in kinds]
    entry = st.sampled_from([0, 4, 5, 8])
    size = len(nodes)
    rows = tuple(tuple(0 if i == j else draw(entry) for j in range(size)) for i in range(size))
    tolerances = Tolerances(network=draw(st.sampled_from([0.0, 0.25, 0.6, 1.0])))
    return IslandsProblem("p", Cluster("c", tuple(nodes), MatrixNetwork(rows)), tolerances)


@given(mixed())
def test_a_part_that_is_kept_apart_is_in_no_island_with_another_machine(problem: IslandsProblem) -> None:
    nodes = problem.cluster.nodes
    for each in kept_apart(problem):
        for machine in each.machines:
            own = {n.name for n in nodes if n.part_of is not None and n.part_of.machine == machine}
            (part,) = (n.name for n in nodes if n.name in own and n.gpu.name == each.gpu)
            assert not any(explain(problem, part, n.name).together for n in nodes if n.name not in own)
        # Just below the tolerance it is still so.
        less = max(each.network_tolerance - 1e-4, problem.tolerances.network)
        again = kept_apart(replace(problem, tolerances=replace(problem.tolerances, network=less)))
        assert any((a.gpu, a.sibling) == (each.gpu, each.sibling) for a in again)
        more = replace(problem.tolerances, network=each.network_tolerance)
        lifted = kept_apart(replace(problem, tolerances=more))
        assert not any((a.gpu, a.sibling, a.machines) == (each.gpu, each.sibling, each.machines) for a in lifted)


def test_the_fastest_sibling_is_named() -> None:
    nodes = tuple(node(f"m/{c}", f"g{c}", c, "m") for c in (100, 200, 400))
    rows = ((0, 20, 30, 10), (20, 0, 20, 1), (30, 20, 0, 1), (10, 1, 1, 0))
    problem = IslandsProblem("p", Cluster("c", (*nodes, node("n", "g100", 100)), MatrixNetwork(rows)))
    (kept,) = kept_apart(problem)
    assert (kept.gpu, kept.sibling, kept.network_tolerance) == ("g100", "g400", 2.0)
