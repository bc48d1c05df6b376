"""The scheduling model against brute force, known zero-bubble schedules, and relations that must hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import pytest
from ortools.sat.python import cp_model

from formulations.schedule_cpsat import Model, ScheduleSolver, build
from tangram_opt import solve
from tangram_opt.backend import SolveOptions
from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule, SplitStage
from tangram_opt.errors import InputError
from tangram_opt.pipeline.split import check_schedule, iteration_ns
from tangram_opt.pipeline.split_schedules import as_one_f_one_b
from tangram_opt.result import Outcome, Result

Pass = tuple[str, int]


@cache
def orders(n: int) -> tuple[tuple[Pass, ...], ...]:
    """All orders of the passes of a stage, each kind in the order of the micro-batches."""

    def extend(done: tuple[Pass, ...], f: int, b: int, w: int) -> Iterator[tuple[Pass, ...]]:
        if w == n:
            yield done
        if f < n:
            yield from extend((*done, ("F", f)), f + 1, b, w)
        if b < f:
            yield from extend((*done, ("B", b)), f, b + 1, w)
        if w < b:
            yield from extend((*done, ("W", w)), f, b, w + 1)

    return tuple(extend((), 0, 0, 0))


def fits(stage: SplitStage, order: tuple[Pass, ...]) -> bool:
    held = 0
    change = {"F": stage.activation_bytes, "B": stage.kept_bytes - stage.activation_bytes, "W": -stage.kept_bytes}
    for kind, _ in order:
        held += change[kind]
        if held > stage.limit_bytes:
            return False
    return True


def earliest(problem: ScheduleProblem, chosen: tuple[tuple[Pass, ...], ...]) -> int | None:
    """Iteration time with a barrier when every stage runs its passes in a given order; None for a deadlock."""
    last = len(problem.stages) - 1
    end: dict[tuple[str, int, int], int] = {}
    free, position = [0] * (last + 1), [0] * (last + 1)
    moved = True
    while moved:
        moved = False
        for s, order in enumerate(chosen):
            stage = problem.stages[s]
            duration = {"F": stage.forward_ns, "B": stage.input_gradient_ns, "W": stage.weight_gradient_ns}
            while position[s] < len(order):
                kind, m = order[position[s]]
                if kind == "W" or (kind == "F" and s == 0):
                    ready: int | None = 0
                elif kind == "F":
                    ready = None if ("F", s - 1, m) not in end else end["F", s - 1, m] + problem.transfer_ns[s - 1]
                elif s == last:
                    ready = end["F", s, m]
                else:
                    ready = None if ("B", s + 1, m) not in end else end["B", s + 1, m] + problem.transfer_ns[s]
                if ready is None:
                    break
                free[s] = end[kind, s, m] = max(free[s], ready) + duration[kind]
                position[s] += 1
                moved = True
    if any(position[s] < len(order) for s, order in enumerate(chosen)):
        return None
    return max(time + stage.sync_ns for time, stage in zip(free, problem.stages, strict=True))


def by_brute_force(problem: ScheduleProblem) -> int:
    fitting = [[order for order in orders(problem.micro_batches) if fits(stage, order)] for stage in problem.stages]
    times = (earliest(problem, chosen) for chosen in product(*fitting))
    return min(time for time in times if time is not None)


def possible_without_barrier(problem: ScheduleProblem, chosen: tuple[tuple[Pass, ...], ...], time: int) -> bool:
    """Whether the passes can run in given orders with no stage busy for longer than a time: longest paths."""
    last = len(problem.stages) - 1
    arcs = []
    for s, (order, stage) in enumerate(zip(chosen, problem.stages, strict=True)):
        duration = {"F": stage.forward_ns, "B": stage.input_gradient_ns, "W": stage.weight_gradient_ns}
        arcs += [((s, one), (s, two), duration[one[0]]) for one, two in pairwise(order)]
        arcs.append(((s, order[-1]), (s, order[0]), duration[order[-1][0]] + stage.sync_ns - time))
        if s < last:
            turns, hop = range(problem.micro_batches), problem.transfer_ns[s]
            behind = problem.stages[s + 1].input_gradient_ns
            arcs += [((s, ("F", m)), (s + 1, ("F", m)), stage.forward_ns + hop) for m in turns]
            arcs += [((s + 1, ("B", m)), (s, ("B", m)), behind + hop) for m in turns]
    start = dict.fromkeys((node for arc in arcs for node in arc[:2]), 0)
    for _ in range(len(start) + 1):
        late = [(two, start[one] + length) for one, two, length in arcs if start[one] + length > start[two]]
        if not late:
            return True
        for node, at in late:
            start[node] = max(start[node], at)
    return False


def by_brute_force_without_barrier(problem: ScheduleProblem, known: int) -> int:
    fitting = [[order for order in orders(problem.micro_batches) if fits(stage, order)] for stage in problem.stages]
    best = known
    while any(possible_without_barrier(problem, chosen, best - 1) for chosen in product(*fitting)):
        best -= 1
    return best


def drawn(seed: int) -> ScheduleProblem:
    rng = random.Random(seed)
    p, n = rng.choice([(1, 3), (2, 2), (2, 2), (2, 3), (3, 1), (3, 2)])

    def stage() -> SplitStage:
        whole = rng.randint(1, 4)
        times = [rng.randint(0, 6) for _ in range(3)]
        return SplitStage(*times, rng.randint(0, 3), whole, rng.randint(0, whole), whole + rng.randint(0, 5))

    return ScheduleProblem(f"drawn {seed}", tuple(stage() for _ in range(p)), tuple(rng.choices(range(4), k=p - 1)), n)


def proven(problem: ScheduleProblem) -> Result[SplitSchedule]:
    result: Result[SplitSchedule] = solve(problem, time_limit=60)
    assert result.outcome is Outcome.OPTIMAL
    assert result.solution is not None
    assert check_schedule(problem, result.solution) == ()
    assert iteration_ns(problem, result.solution) == result.objective == result.bound
    return result


@pytest.mark.parametrize("seed", range(25))
def test_optimum_equals_brute_force(seed: int) -> None:
    problem = drawn(seed)
    assert proven(problem).objective == by_brute_force(problem)


@pytest.mark.parametrize("seed", range(25, 45))
def test_optimum_without_a_barrier_equals_brute_force(seed: int) -> None:
    problem = replace(drawn(seed), barrier=False)
    optimum = proven(problem).objective
    assert optimum is not None
    assert by_brute_force_without_barrier(problem, optimum + 2) == optimum


def equal_passes(p: int, n: int, limit: int, *, barrier: bool) -> ScheduleProblem:
    stages = (SplitStage(10, 10, 10, 0, 1, 1, limit),) * p
    return ScheduleProblem("equal", stages, (0,) * (p - 1), n, barrier=barrier)


@pytest.mark.parametrize(("p", "n"), [(2, 4), (3, 6), (4, 8)])
def test_zero_bubble_schedules_are_found_where_they_exist(p: int, n: int) -> None:
    # Known of equal passes (Qi et al. 2023): 1F1B is idle for 3 (p-1) passes; ZB-H1, in the memory of 1F1B, for p-1;
    # ZB-H2, in that of 2p-1 micro-batches, never.
    work = 3 * n * 10
    assert iteration_ns(equal_passes(p, n, p, barrier=False), as_one_f_one_b(equal_passes(p, n, p, barrier=False))) == (
        work + 3 * (p - 1) * 10
    )
    assert proven(equal_passes(p, n, p, barrier=False)).objective == work + (p - 1) * 10
    assert proven(equal_passes(p, n, 2 * p - 1, barrier=False)).objective == work


def test_without_a_barrier_back_stages_may_end_later_than_an_iteration_after_the_start() -> None:
    # In 240 ns the last of four stages must start 30 ns after the first one, and ends 30 ns after it.
    built = build(equal_passes(4, 8, 7, barrier=False), 240)
    solver = cp_model.CpSolver()
    assert solver.solve(built.model) == cp_model.OPTIMAL
    assert solver.value(built.weight_gradient[3][-1]) + 10 >= 270


def test_with_a_barrier_the_last_stage_still_waits_for_the_first_micro_batch() -> None:
    assert proven(equal_passes(4, 8, 4, barrier=True)).objective == (3 * 8 + 3) * 10


def test_with_memory_for_one_micro_batch_they_run_one_after_the_other() -> None:
    assert proven(equal_passes(3, 4, 1, barrier=True)).objective == 4 * (3 + 3 + 1) * 10


def test_more_memory_is_never_worse_and_no_barrier_never_either() -> None:
    problem = replace(drawn(3), micro_batches=3)
    ample = replace(problem, stages=tuple(replace(s, limit_bytes=2 * s.limit_bytes) for s in problem.stages))
    optimum = proven(problem).objective
    assert optimum is not None
    for other in (ample, replace(problem, barrier=False)):
        better = proven(other).objective
        assert better is not None
        assert better <= optimum


@pytest.mark.parametrize("seed", [2, 7])
def test_longer_units_of_time_scale_the_optimum(seed: int) -> None:
    problem = drawn(seed)
    stages = tuple(
        replace(
            stage,
            forward_ns=1000 * stage.forward_ns,
            input_gradient_ns=1000 * stage.input_gradient_ns,
            weight_gradient_ns=1000 * stage.weight_gradient_ns,
            sync_ns=1000 * stage.sync_ns,
        )
        for stage in problem.stages
    )
    scaled = replace(problem, stages=stages, transfer_ns=tuple(1000 * hop for hop in problem.transfer_ns))
    assert proven(scaled).objective == 1000 * (proven(problem).objective or 0)


def test_the_search_that_is_stopped_says_how_good_its_schedule_is() -> None:
    rng = random.Random(1)
    stages = tuple(SplitStage(*(rng.randint(50, 150) for _ in range(3)), 0, 2, 1, 9) for _ in range(8))
    problem = ScheduleProblem("long", stages, (20,) * 7, 16)
    result = solve(problem, parameters={"max_deterministic_time": 0.1})
    assert result.outcome is Outcome.FEASIBLE
    assert result.bound is not None
    assert result.bound < result.objective <= iteration_ns(problem, as_one_f_one_b(problem))
    assert check_schedule(problem, result.solution) == ()


def test_a_hint_that_is_allowed_is_never_lost() -> None:
    problem = equal_passes(3, 6, 3, barrier=True)
    best = proven(problem).solution
    hinted = solve(problem, hint=best, parameters={"max_deterministic_time": 1e-9})
    assert hinted.objective == iteration_ns(problem, best)
    renamed = replace(best, problem="other")
    assert ScheduleSolver().solve(problem, SolveOptions(hint=renamed)).objective == hinted.objective


def test_constraints_of_the_user_count() -> None:
    problem = equal_passes(2, 3, 2, barrier=True)

    # The third micro-batch waits for memory until the first one has ended at 120: F, B, B and W of it follow.
    def late(built: Model) -> None:
        built.model.add(built.weight_gradient[1][0] >= 110)

    def never(built: Model) -> None:
        built.model.add(built.time <= 100)
        built.model.add(built.time >= 101)

    assert proven(problem).objective == 100
    delayed = solve(problem, on_model=late)
    assert (delayed.outcome, delayed.objective) == (Outcome.OPTIMAL, 160)
    assert solve(problem, on_model=never).outcome is Outcome.INFEASIBLE


def test_other_solvers_say_that_they_cannot() -> None:
    with pytest.raises(InputError, match="cannot take 'equal'"):
        solve(equal_passes(2, 3, 2, barrier=True), solver="dp")


def test_numbers_beyond_exact_floating_point_are_refused() -> None:
    stages = tuple(SplitStage(2**52 + s, 2**52, 2**52, 0, 1, 1, 1) for s in range(2))
    with pytest.raises(InputError, match="less than 2\\^53"):
        solve(ScheduleProblem("huge", stages, (0,), 2))
