"""Every formulation of islands with every solver finds the best partition, level by level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from islands_oracle import best_value, indices, obeys, value
from islands_strategies import hard_problems, problems

from formulations.cpsat import CpSat
from formulations.highs import HighsSolver
from formulations.islands_choice import FORMULATIONS, choose
from formulations.islands_levels import Target
from formulations.pyomo import PyomoSolver
from formulations.search import OutOfTimeError, Search
from tangram_opt.backend import SolveOptions
from tangram_opt.crosscheck import generate_islands
from tangram_opt.crosscheck.shrink import subcluster
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.errors import InputError
from tangram_opt.islands import agglomerate, check, evaluate, split
from tangram_opt.result import Outcome, StopReason

SOLVERS = (CpSat(), HighsSolver(), PyomoSolver("highs"))
PAIRS = [(solver, formulation) for solver in SOLVERS for formulation in solver.islands.formulation_names]
each_pair = pytest.mark.parametrize(
    ("solver", "formulation"), PAIRS, ids=[f"{solver.name}-{formulation}" for solver, formulation in PAIRS]
)
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def node(name, compute=100, memory=100, bandwidth=100):
    return Node(name, Gpu("G", 1000, compute, memory, 1, 1), 2, ((0, bandwidth), (bandwidth, 0)))


def flat(*nodes, tolerances=Tolerances()):
    return IslandsProblem("flat", Cluster("c", nodes, TierNetwork((5,), ((),) * len(nodes))), tolerances)


# Boxes in three attributes that overlap in many ways.
BOXES = flat(
    *(
        node(f"n{i}", *figures)
        for i, figures in enumerate(
            [
                (100, 100, 144),
                (118, 100, 120),
                (122, 110, 120),
                (144, 120, 100),
                (120, 144, 144),
                (130, 121, 130),
                (110, 120, 121),
                (121, 132, 110),
            ]
        )
    )
)


@each_pair
def test_a_formulation_proves_what_brute_force_finds(solver, formulation):
    @settings(max_examples=50)
    @given(st.one_of(hard_problems(), problems(most=7)))
    def holds(problem):
        if formulation not in solver.formulations(problem):
            with pytest.raises(InputError, match=f"'{formulation}' is not exact for this problem: the network asks"):
                solver.solve(problem, SolveOptions(formulation=formulation))
            return
        best = best_value(problem)
        result = solver.solve(problem, SolveOptions(formulation=formulation))
        assert result.outcome is Outcome.OPTIMAL
        assert result.stop_reason is StopReason.PROVED
        assert (result.objective, result.bound) == (best[0], best[0])
        assert [(level.value, level.bound) for level in result.levels] == [(best[1],) * 2, (-best[2],) * 2]
        assert obeys(problem, result.solution)
        assert value(problem, indices(problem, result.solution)) == evaluate(problem, result.solution).costs == best
        assert (result.solver, result.formulation) in ((solver.name, formulation), (solver.name, "structure"))

    holds()


@settings(max_examples=60)
@given(st.one_of(hard_problems(), problems(most=7)), st.randoms(use_true_random=False))
def test_what_must_not_matter_does_not(problem, random):
    """Other names and another order, other units of bandwidth and compute."""
    best = CpSat().solve(problem, SolveOptions())
    order = list(range(len(problem.cluster.nodes)))
    random.shuffle(order)
    shuffled = subcluster(problem.cluster, order)
    renamed = replace(shuffled, nodes=tuple(replace(n, name=f"x{i}") for i, n in enumerate(shuffled.nodes)))
    again = CpSat().solve(replace(problem, cluster=renamed), SolveOptions())
    assert (again.objective, again.levels) == (best.objective, best.levels)

    network = problem.cluster.network
    if isinstance(network, MatrixNetwork):
        faster = MatrixNetwork(tuple(tuple(1000 * entry for entry in row) for row in network.matrix_bytes_per_s))
    else:
        faster = replace(network, bandwidths_bytes_per_s=tuple(1000 * b for b in network.bandwidths_bytes_per_s))
    fast = problem.tolerances.fast_link_bytes_per_s
    tolerances = replace(problem.tolerances, fast_link_bytes_per_s=None if fast is None else 1000 * fast)
    scaled = CpSat().solve(
        replace(problem, cluster=replace(problem.cluster, network=faster), tolerances=tolerances), SolveOptions()
    )
    assert (scaled.objective, scaled.levels[0]) == (best.objective, best.levels[0])
    assert scaled.levels[1].value == 1000 * best.levels[1].value


@settings(max_examples=60)
@given(st.one_of(hard_problems(), problems(most=7)), st.sampled_from([0.1, 0.3, 1.0]))
def test_more_tolerance_never_needs_more_islands(problem, more):
    """What was an island stays one: every condition only gets weaker."""
    t = problem.tolerances
    wider = replace(
        t,
        compute=t.compute + more,
        memory=t.memory + more,
        intra_bandwidth=t.intra_bandwidth + more,
        network=t.network + more,
    )
    before, after = (CpSat().solve(replace(problem, tolerances=each), SolveOptions()) for each in (t, wider))
    assert after.objective <= before.objective


@each_solver
def test_a_hint_is_taken_and_a_wrong_one_is_not(solver):
    best = CpSat().solve(BOXES, SolveOptions())
    hinted = solver.solve(BOXES, SolveOptions(hint=best.solution, time_limit_s=1e-9))
    assert evaluate(BOXES, hinted.solution) == evaluate(BOXES, best.solution)
    assert (hinted.outcome, hinted.stop_reason) == (Outcome.FEASIBLE, StopReason.TIME_LIMIT)
    everything = Partition("flat", (tuple(node.name for node in BOXES.cluster.nodes),))
    assert solver.solve(BOXES, SolveOptions(hint=everything)).objective == best.objective


@each_solver
def test_without_time_there_still_is_an_answer_and_a_bound(solver):
    result = solver.solve(BOXES, SolveOptions(time_limit_s=1e-9))
    assert check(BOXES, result.solution) == ()
    assert result.outcome is Outcome.FEASIBLE
    assert 1 <= result.bound <= result.objective
    assert result.levels[0].bound is None


@each_solver
def test_interruption_keeps_the_best_so_far(solver):
    def interrupt(progress):
        raise KeyboardInterrupt

    result = solver.solve(BOXES, SolveOptions(on_progress=interrupt))
    assert result.stop_reason is StopReason.INTERRUPTED
    assert check(BOXES, result.solution) == ()


@each_solver
def test_progress_never_gets_worse_and_ends_with_the_answer(solver):
    heard = []
    result = solver.solve(BOXES, SolveOptions(on_progress=heard.append))
    objectives = [progress.objective for progress in heard]
    assert objectives == sorted(objectives, reverse=True)
    assert all(progress.bound is None or progress.bound <= result.objective for progress in heard)
    assert heard[-1].objective == result.objective


@pytest.mark.parametrize("solver", SOLVERS[:2], ids=lambda solver: solver.name)
def test_users_can_add_constraints_about_any_nodes(solver):
    like = flat(node("a"), node("b", 110), node("c", 120))
    assert solver.solve(like, SolveOptions()).objective == 1

    def apart(opened):
        blocks = {like.cluster.nodes[block.nodes[0]].name: i for i, block in enumerate(opened.formulation.part.blocks)}
        assert blocks == {"a": 0, "b": 1, "c": 2}
        opened.model.add(opened.variables["x_1_0"] == 0) if solver.name == "cpsat" else opened.model.addConstr(
            opened.variables["x_1_0"] == 0
        )

    result = solver.solve(like, SolveOptions(on_model=apart))
    assert result.outcome is Outcome.OPTIMAL
    assert set(map(frozenset, result.solution.islands)) == {frozenset("a"), frozenset("bc")}

    def never(opened):
        apart(opened)
        model, own = opened.model, opened.variables["x_1_1"]
        model.add(own == 0) if solver.name == "cpsat" else model.addConstr(own == 0)

    result = solver.solve(like, SolveOptions(on_model=never))
    assert (result.outcome, result.stop_reason) == (Outcome.INFEASIBLE, StopReason.PROVED)


def test_an_unknown_formulation_is_refused():
    with pytest.raises(
        InputError, match="'sweep', expected one of auto, cover, set-partition, anchors, representatives"
    ):
        CpSat().solve(BOXES, SolveOptions(formulation="sweep"))


@each_solver
def test_the_same_answer_every_time(solver):
    first, second = (solver.solve(BOXES, SolveOptions(seed=3)) for _ in range(2))
    assert first.solution == second.solution


def test_compute_in_single_flops_is_proven_beyond_floating_point():
    """Compute lost of more than 2^53 FLOP/s, in which one FLOP/s decides."""
    figures = [(10**15 + i, 100 + 20 * (i % 3), 100 + 20 * (i % 2)) for i in (0, 1, 3, 4, 5, 7)]
    nodes = tuple(node(f"n{i}", *each) for i, each in enumerate([*figures, (12 * 10**14 - 7, 120, 110)]))
    problem = flat(*nodes)
    best = best_value(problem)
    result = CpSat().solve(problem, SolveOptions(formulation="representatives"))
    assert (result.objective, result.levels[0].value, result.levels[0].bound) == (best[0], best[1], best[1])


def test_the_greedy_islands_are_beaten_and_bounded():
    result = CpSat().solve(BOXES, SolveOptions())
    assert result.objective <= len(agglomerate(BOXES).islands)
    assert result.outcome is Outcome.OPTIMAL


def test_islands_get_names_where_a_cover_would_have_very_many_sets():
    def chosen(problem):
        (part,) = split(problem).parts
        known = len(agglomerate(problem).islands)
        return choose(part, Target(known_islands=known), tuple(FORMULATIONS), "auto", lambda: None)

    # Missing links leave tens of thousands of largest islands, of which a few are needed.
    assert chosen(generate_islands("speeds", 60, 1)) == "anchors"
    assert chosen(BOXES) == "cover"


@each_solver
def test_time_that_is_up_while_a_model_is_written_leaves_the_start_and_its_bound(solver, monkeypatch):
    def up(search):
        search.start -= 60
        raise OutOfTimeError

    monkeypatch.setattr(Search, "tick", up)
    result = solver.solve(BOXES, SolveOptions(time_limit_s=60))
    assert (result.outcome, result.stop_reason) == (Outcome.FEASIBLE, StopReason.TIME_LIMIT)
    assert check(BOXES, result.solution) == ()
    assert 1 <= result.bound <= result.objective
