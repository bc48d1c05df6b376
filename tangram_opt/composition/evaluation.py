"""What a composition is worth and whether it is allowed, without any solver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tangram_opt.composition.objective import iteration_of_parts_ns, makespan_ns, option_caps, slowest_part_ns
from tangram_opt.data.composition import Composition, CompositionProblem, Option
from tangram_opt.errors import InputError
from tangram_opt.pipeline import least_depths, standard_depths


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A composition stage by stage, front to back; all tuples but `transfers_ns` have one entry per stage.

    Attributes
    ----------
    times_ns, syncs_ns : tuple of int
        Forward and backward time of one micro-batch; gradient synchronisation.
    transfers_ns : tuple of int
        One-way transfer time over each boundary between neighbouring stages.
    stages_after, in_flight : tuple of int
        Stages behind it, and the micro-batches that it keeps in flight: ``min(n, stages after + 1)``, or, where
        depths are chosen, the least that keep the least period.
    memory_bytes, memory_limit_bytes : tuple of int
        What each of its GPUs needs at this place, and what it has.
    slowest_ns : int
        The slowest stage, or the period where that counts.
    objective_ns : int
        Iteration time by the problem's objective.
    """

    times_ns: tuple[int, ...]
    syncs_ns: tuple[int, ...]
    transfers_ns: tuple[int, ...]
    stages_after: tuple[int, ...]
    in_flight: tuple[int, ...]
    memory_bytes: tuple[int, ...]
    memory_limit_bytes: tuple[int, ...]
    slowest_ns: int
    objective_ns: int


def evaluate(problem: CompositionProblem, composition: Composition) -> Evaluation:
    """Evaluate a composition, allowed or not.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    composition : Composition
        Options in their places.

    Returns
    -------
    Evaluation
        Times, transfers and memory of every stage, and the iteration time.

    Raises
    ------
    InputError
        There is no pick, or one names an option that does not exist; or its pipeline is too large to be run, where
        that is the objective.
    """
    if not composition.picks:
        raise InputError(f"composition of {problem.name!r}: picks: none, expected at least one option")
    wrong = _indices_out_of_range(problem, composition)
    if wrong:
        raise InputError(f"composition of {problem.name!r}: {wrong[0]}")
    options = [problem.options[pick.option] for pick in composition.picks]
    stages = [stage for option in options for stage in option.stages]
    limits = [
        problem.islands[problem.class_index[option.island]].memory_bytes for option in options for _ in option.stages
    ]
    transfers: list[int] = []
    for i, option in enumerate(options):
        if i:
            transfers.append(_transfer_ns(problem, options[i - 1], option))
        transfers.extend(option.inner_transfers_ns)
    after = tuple(reversed(range(len(stages))))
    times = tuple(stage.time_ns for stage in stages)
    depths = standard_depths(len(stages))
    most = None
    if problem.depths == "chosen":
        caps = [cap for option in options for cap in option_caps(problem, option)]
        # What does not fit with the depths of 1F1B is not allowed anyway.
        most = [cap if cap is None else max(cap, depth) for cap, depth in zip(caps, depths, strict=True)]
    slowest_ns = slowest_part_ns(problem.objective, times, transfers, most)
    if most is not None:
        depths = least_depths(times, transfers, slowest_ns, most) or depths
    in_flight = tuple(min(problem.micro_batches, depth) for depth in depths)
    syncs = tuple(stage.sync_ns for stage in stages)
    if problem.objective == "simulated":
        objective_ns = makespan_ns(problem.name, problem.micro_batches, stages, transfers)
    else:
        objective_ns = iteration_of_parts_ns(
            problem.micro_batches, slowest_ns, sum(times) + 2 * sum(transfers), max(syncs)
        )
    return Evaluation(
        times_ns=times,
        syncs_ns=syncs,
        transfers_ns=tuple(transfers),
        stages_after=after,
        in_flight=in_flight,
        memory_bytes=tuple(
            stage.static_bytes + held * stage.in_flight_bytes for stage, held in zip(stages, in_flight, strict=True)
        ),
        memory_limit_bytes=tuple(limits),
        slowest_ns=slowest_ns,
        objective_ns=objective_ns,
    )


def check(problem: CompositionProblem, composition: Composition) -> tuple[str, ...]:
    """Name every condition that a composition violates.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    composition : Composition
        Options in their places.

    Returns
    -------
    tuple of str
        One sentence per violated condition; empty where the composition is allowed.
    """
    violations: list[str] = []
    if composition.problem != problem.name:
        violations.append(f"problem: {composition.problem!r}, expected {problem.name!r}")
    if not composition.picks:
        return (*violations, "picks: none, expected at least one option")
    wrong = _indices_out_of_range(problem, composition)
    if wrong:
        return (*violations, *wrong)
    violations += _tiling(problem, composition)
    used = Counter(problem.options[pick.option].island for pick in composition.picks)
    for island in problem.islands:
        if used[island.name] > island.count:
            violations.append(f"island class {island.name!r}: used {used[island.name]} times, it has {island.count}")
    violations += [
        f"island class {name!r}: not used, but it is required" for name in problem.required if not used[name]
    ]
    return (*violations, *_depth_and_memory(problem, composition))


def _indices_out_of_range(problem: CompositionProblem, composition: Composition) -> list[str]:
    return [
        f"picks[{i}].option: {pick.option}, expected 0 to {len(problem.options) - 1}"
        for i, pick in enumerate(composition.picks)
        if not 0 <= pick.option < len(problem.options)
    ]


def _tiling(problem: CompositionProblem, composition: Composition) -> list[str]:
    violations = []
    end = 0
    for i, pick in enumerate(composition.picks):
        option = problem.options[pick.option]
        if pick.first_atom != end:
            violations.append(
                f"picks[{i}].first_atom: {pick.first_atom}, expected {end}, the end of the slice before it"
            )
        atoms = tuple(run.signature for run in option.atoms for _ in range(run.count))
        end = pick.first_atom + len(atoms)
        if pick.first_atom < 0 or problem.signatures[pick.first_atom : end] != atoms:
            violations.append(
                f"picks[{i}]: the model's atoms {pick.first_atom} to {end - 1} are not those of option {pick.option}"
            )
    if end != problem.length:
        violations.append(f"picks: they end at atom {end}, expected the {problem.length} atoms of the model")
    return violations


def _depth_and_memory(problem: CompositionProblem, composition: Composition) -> list[str]:
    violations = []
    evaluation = evaluate(problem, composition)
    stage = 0
    for i, pick in enumerate(composition.picks):
        option = problem.options[pick.option]
        after = evaluation.stages_after[stage + len(option.stages) - 1]
        if option.max_stages_after is not None and after > option.max_stages_after:
            violations.append(
                f"picks[{i}]: {after} stages come after option {pick.option}, it allows {option.max_stages_after}"
            )
        violations += [
            f"stage {s} (option {pick.option}): {evaluation.memory_bytes[s]} bytes with "
            f"{evaluation.in_flight[s]} micro-batches in flight, "
            f"island class {option.island!r} has {evaluation.memory_limit_bytes[s]}"
            for s in range(stage, stage + len(option.stages))
            if evaluation.memory_bytes[s] > evaluation.memory_limit_bytes[s]
        ]
        stage += len(option.stages)
    return violations


def _transfer_ns(problem: CompositionProblem, front: Option, back: Option) -> int:
    return problem.transfer_ns[problem.port_index[front.exit_port]][problem.port_index[back.entry_port]]
