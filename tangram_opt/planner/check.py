"""Whether a plan is what it says, by nothing but its planning problem."""

from __future__ import annotations

from collections.abc import Iterator

from tangram_opt.composition.objective import iteration_of_plan_ns
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.data.units import NS_PER_S
from tangram_opt.pipeline import simulate_stages


def check(problem: PlanningProblem, plan: Plan) -> tuple[str, ...]:
    """Name every way in which a plan contradicts its problem or itself.

    Parameters
    ----------
    problem : PlanningProblem
        What was asked.
    plan : Plan
        The answer.

    Returns
    -------
    tuple of str
        One sentence each: names, batch and model figures, atoms and layers that do not add up, GPUs that do not
        exist, are of another model, are used twice or go missing, micro-batches in flight, memory above the limit
        or below the training state, times below what the GPUs can do at their peak, and times that do not follow
        from the stages. Empty for a sound plan.
    """
    return (
        *_figures(problem, plan),
        *_contents(problem, plan),
        *_gpus(problem, plan),
        *_memory(problem, plan),
        *_physics(problem, plan),
        *_times(plan),
    )


def _figures(problem: PlanningProblem, plan: Plan) -> Iterator[str]:
    model = problem.model
    expected = {
        "name": problem.name,
        "cluster": problem.cluster.name,
        "model": model.name,
        "layers": model.layers,
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "flops_per_token": model.flops_per_token(problem.sequence_length),
        "cluster_gpus": problem.cluster.gpus,
        "global_batch": problem.global_batch,
        "sequence_length": problem.sequence_length,
        "recipe": problem.recipe.name,
        "depths": problem.depths,
    }
    for name, value in expected.items():
        if getattr(plan, name) != value:
            yield f"{name}: {getattr(plan, name)!r}, expected {value!r}"
    if plan.global_batch % plan.micro_batch:
        yield f"micro_batch: {plan.micro_batch}, expected a divisor of the global batch {plan.global_batch}"
    if problem.micro_batch is not None and plan.micro_batch != problem.micro_batch:
        yield f"micro_batch: {plan.micro_batch}, expected {problem.micro_batch}"


def _contents(problem: PlanningProblem, plan: Plan) -> Iterator[str]:
    atoms = list(problem.model.atoms())
    end = layers = 0
    for number, stage in enumerate(plan.stages):
        if stage.first_atom != end:
            yield f"stages[{number}].first_atom: {stage.first_atom}, expected {end}, where the stage before it ends"
        held = atoms[stage.first_atom : stage.first_atom + stage.atoms]
        kinds = [atom.kind for atom in held]
        if len(held) != stage.atoms:
            yield f"stages[{number}].atoms: {stage.atoms} from {stage.first_atom} on, the model has {len(atoms)}"
        if (stage.embedding, stage.head) != ("embedding" in kinds, "head" in kinds):
            yield f"stages[{number}]: embedding {stage.embedding}, head {stage.head}, its atoms say otherwise"
        if stage.layers != kinds.count("layer"):
            yield f"stages[{number}].layers: {stage.layers}, its atoms hold {kinds.count('layer')}"
        if stage.first_layer != (layers if stage.layers else None):
            yield f"stages[{number}].first_layer: {stage.first_layer}, expected {layers if stage.layers else None}"
        end = stage.first_atom + stage.atoms
        layers += stage.layers
    if end != len(atoms):
        yield f"stages: they end at atom {end}, expected the {len(atoms)} atoms of the model"
    if layers != problem.model.layers:
        yield f"stages: they hold {layers} layers, expected the {problem.model.layers} layers of the model"


def _gpus(problem: PlanningProblem, plan: Plan) -> Iterator[str]:
    nodes = {node.name: node for node in problem.cluster.nodes}
    taken: dict[tuple[str, int], int] = {}
    peak = on_stages = 0
    for number, stage in enumerate(plan.stages):
        if not stage.gpus:
            yield f"stages[{number}].gpus: none, expected at least one"
        for part in stage.gpus:
            node = nodes.get(part.node)
            if node is None:
                yield f"stages[{number}].gpus: node {part.node!r} is not in the cluster"
                continue
            peak += part.count * node.gpu.peak_flops_per_s
            on_stages += part.count
            # An island of several models, alike within the tolerances, names them all.
            if f"/{node.gpu.name}/" not in f"/{stage.gpu}/":
                yield f"stages[{number}].gpu: {stage.gpu!r}, but {part.node!r} has {node.gpu.name!r}"
            if part.first_gpu + part.count > node.gpus:
                last = part.first_gpu + part.count - 1
                yield f"stages[{number}].gpus: GPU {last} of {part.node!r}, which has {node.gpus} GPUs"
            for gpu in range(part.first_gpu, min(part.first_gpu + part.count, node.gpus)):
                if (part.node, gpu) in taken:
                    other = taken[part.node, gpu]
                    yield f"stages[{number}].gpus: GPU {gpu} of {part.node!r} runs stage {other} already"
                taken[part.node, gpu] = number
    if plan.peak_flops_per_s != peak:
        yield f"peak_flops_per_s: {plan.peak_flops_per_s}, the GPUs of the stages have {peak}"
    unused = sum(island.gpus for island in plan.unused)
    if on_stages + plan.idle_gpus + unused != problem.cluster.gpus:
        yield (
            f"idle_gpus: {plan.idle_gpus}, with {on_stages} GPUs on stages and {unused} in unused islands they are "
            f"not the {problem.cluster.gpus} GPUs of the cluster"
        )


def _memory(problem: PlanningProblem, plan: Plan) -> Iterator[str]:
    nodes = {node.name: node for node in problem.cluster.nodes}
    for number, stage in enumerate(plan.stages):
        in_flight = min(plan.micro_batches, len(plan.stages) - number)
        most = plan.micro_batches if plan.depths == "chosen" else in_flight
        if not in_flight <= stage.in_flight <= most:
            expected = f"the {in_flight} of 1F1B" if plan.depths == "standard" else f"{in_flight} to {most}"
            yield f"stages[{number}].in_flight: {stage.in_flight}, expected {expected} at this place"
        gpus = [nodes[part.node].gpu for part in stage.gpus if part.node in nodes]
        limit = min((problem.recipe.usable_bytes(gpu) for gpu in gpus), default=0)
        if stage.memory_limit_bytes > limit:
            yield f"stages[{number}].memory_limit_bytes: {stage.memory_limit_bytes}, its GPUs have {limit}"
        if stage.memory_bytes > stage.memory_limit_bytes:
            yield f"stages[{number}]: it needs {stage.memory_bytes} bytes, the limit is {stage.memory_limit_bytes}"


def _physics(problem: PlanningProblem, plan: Plan) -> Iterator[str]:
    """What no parallelizer can beat: the peak of the GPUs, and the training state held once."""
    nodes = {node.name: node for node in problem.cluster.nodes}
    atoms = list(problem.model.atoms())
    tokens, length = plan.micro_batch * problem.sequence_length, problem.sequence_length
    for number, stage in enumerate(plan.stages):
        held = atoms[stage.first_atom : stage.first_atom + stage.atoms]
        flops = sum(atom.forward_flops_per_token(length) + atom.backward_flops_per_token(length) for atom in held)
        peak = sum(part.count * nodes[part.node].gpu.peak_flops_per_s for part in stage.gpus if part.node in nodes)
        if stage.time_ns * peak < flops * tokens * NS_PER_S:
            yield (
                f"stages[{number}]: forward and backward take {stage.time_ns} ns, its GPUs need at least "
                f"{-(-flops * tokens * NS_PER_S // max(1, peak))} ns at their peak"
            )
        parameters = sum(atom.parameters + atom.expert_parameters for atom in held)
        state = parameters * problem.recipe.state_bytes
        if stage.static_bytes * stage.gpu_count < state:
            yield (
                f"stages[{number}].static_bytes: {stage.static_bytes} on each of {stage.gpu_count} GPUs, "
                f"the training state of its atoms is {state} bytes"
            )


def _times(plan: Plan) -> Iterator[str]:
    stages = plan.stages
    iteration = iteration_of_plan_ns(plan, plan.objective)
    if plan.iteration_ns != iteration:
        yield f"iteration_ns: {plan.iteration_ns}, expected {iteration} from the stages"
    if stages[-1].transfer_ns:
        yield f"stages[{len(stages) - 1}].transfer_ns: {stages[-1].transfer_ns}, expected 0 behind the last stage"
    try:
        simulated = simulate_stages(stages, plan.micro_batches).makespan_ns
    except ValueError as error:
        yield f"simulated_ns: {plan.simulated_ns}, but no such pipeline can run: {error}"
    else:
        if plan.simulated_ns != simulated:
            yield f"simulated_ns: {plan.simulated_ns}, expected {simulated} from the stages"
    if plan.bound_ns is not None and plan.bound_ns > plan.iteration_ns:
        yield f"bound_ns: {plan.bound_ns}, expected at most the iteration time {plan.iteration_ns}"
    if (plan.outcome == "optimal") != (plan.bound_ns == plan.iteration_ns):
        yield f"outcome: {plan.outcome} with bound {plan.bound_ns} ns and iteration time {plan.iteration_ns} ns"
