"""From a finished search to a plan that names every stage, and to what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tangram_opt.composition import Evaluation, evaluate
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.data.model import Model
from tangram_opt.data.plan import Plan, PlannedStage, SearchReport, UnusedIsland
from tangram_opt.data.units import NS_PER_MS
from tangram_opt.islands import IslandGroup
from tangram_opt.pipeline import simulate_stages
from tangram_opt.planner.placement import PlacedStage, place
from tangram_opt.planner.search import Search
from tangram_opt.result import Outcome, Result

CostOfUsing = Callable[[str], Result[Composition] | None]


def plan_report(found: Search, cost_of_using: CostOfUsing) -> Plan:
    """Write the plan of the best trial.

    Parameters
    ----------
    found : Search
        A finished search.
    cost_of_using : callable
        For the name of an island class, the composition that uses one more island of it; None where that is too
        much to ask.

    Returns
    -------
    Plan
        With every stage in its place.
    """
    asked, best = found.problem, found.best
    composition = best.result.solution
    if composition is None or best.result.objective is None:
        raise ValueError("a plan needs a composition")
    problem, model, cluster = found.composition_problem, asked.model, asked.cluster
    evaluation = evaluate(problem, composition)
    placed = place(cluster, found.groups, problem, composition)
    stages = _planned_stages(problem, composition, evaluation, placed, model, found.groups)
    peaks = {node.name: node.gpu.peak_flops_per_s for node in cluster.nodes}
    classes = [problem.options[pick.option].island for pick in composition.picks]
    on_stages = sum(stage.gpu_count for stage in stages)
    in_used = sum(_group(found.groups, name).island.gpus for name in classes)
    bound = found.bound_ns
    proven = bound == best.result.objective
    return Plan(
        name=asked.name,
        cluster=cluster.name,
        model=model.name,
        layers=model.layers,
        parameters=model.parameters,
        active_parameters=model.active_parameters,
        flops_per_token=model.flops_per_token(asked.sequence_length),
        peak_flops_per_s=sum(part.count * peaks[part.node] for stage in stages for part in stage.gpus),
        cluster_gpus=cluster.gpus,
        global_batch=asked.global_batch,
        sequence_length=asked.sequence_length,
        micro_batch=best.workload.micro_batch,
        recipe=asked.recipe.name,
        stages=stages,
        outcome="optimal" if proven else "feasible",
        iteration_ns=best.result.objective,
        bound_ns=bound,
        simulated_ns=simulate_stages(stages, problem.micro_batches).makespan_ns,
        unused=_unused(found, Counter(classes), best.result.objective, cost_of_using),
        idle_gpus=in_used - on_stages,
        search=SearchReport(
            parallelizer=found.parallelizer.name,
            solver=best.result.solver,
            solver_version=best.result.solver_version,
            pairs=found.pairs,
            pruned=found.removed,
            queries=found.queries,
            options=sum(trial.options for trial in found.trials),
            micro_batches_tried=tuple(trial.workload.micro_batch for trial in found.trials),
            enumeration_s=found.enumeration_s,
            composition_s=found.composition_s,
            islands_proven=found.islands_proven,
            micro_batches_ruled_out=tuple(load.micro_batch for load in found.ruled_out),
        ),
        objective=problem.objective,
        depths=asked.depths,
    )


def _planned_stages(
    problem: CompositionProblem,
    composition: Composition,
    evaluation: Evaluation,
    placed: list[PlacedStage],
    model: Model,
    groups: tuple[IslandGroup, ...],
) -> tuple[PlannedStage, ...]:
    atoms = list(model.atoms())
    layers_before = [0]
    for atom in atoms:
        layers_before.append(layers_before[-1] + (atom.kind == "layer"))
    transfers = (*evaluation.transfers_ns, 0)
    stages, first = [], 0
    for number, where in enumerate(placed):
        option = problem.options[composition.picks[where.pick].option]
        stage = option.stages[where.stage]
        last = first + stage.atoms
        kinds = {atom.kind for atom in atoms[first:last]}
        layers = layers_before[last] - layers_before[first]
        stages.append(
            PlannedStage(
                island=where.island,
                gpu=_group(groups, option.island).island.gpu.name,
                gpus=where.gpus,
                first_atom=first,
                atoms=stage.atoms,
                embedding="embedding" in kinds,
                head="head" in kinds,
                first_layer=layers_before[first] if layers else None,
                layers=layers,
                strategy=option.strategy,
                forward_ns=stage.forward_ns,
                backward_ns=stage.backward_ns,
                transfer_ns=transfers[number],
                sync_ns=stage.sync_ns,
                static_bytes=stage.static_bytes,
                in_flight_bytes=stage.in_flight_bytes,
                in_flight=evaluation.in_flight[number],
                memory_limit_bytes=evaluation.memory_limit_bytes[number],
            )
        )
        first = last
    return tuple(stages)


def _unused(
    found: Search, used: Counter[str], iteration_ns: int, cost_of_using: CostOfUsing
) -> tuple[UnusedIsland, ...]:
    left_out = []
    for group in found.groups:
        name, left = group.island.name, group.count - used[group.island.name]
        if not left:
            continue
        forced = cost_of_using(name)
        extra = None if forced is None or forced.objective is None else forced.objective - iteration_ns
        if forced is None:
            reason = f"not worked out for one more of a class of which {used[name]} are in use"
        elif forced.outcome is Outcome.INFEASIBLE:
            why = f": {forced.log[0]}" if forced.log else ""
            reason = f"no plan with this micro-batch can use it{why}"
        elif extra is None:
            reason = "no plan that uses it was found in time"
        elif extra:
            at_most = "" if forced.outcome is Outcome.OPTIMAL else "at most "
            reason = (
                f"using it makes the iteration {at_most}{extra / NS_PER_MS:,.1f} ms longer ({extra / iteration_ns:.1%})"
            )
        else:
            reason = "using it makes no difference"
        left_out.append(UnusedIsland(name, left, left * group.island.gpus, extra, reason))
    return tuple(left_out)


def _group(groups: tuple[IslandGroup, ...], name: str) -> IslandGroup:
    return next(group for group in groups if group.island.name == name)
