"""Pipeline composition as a positioned arc flow over layer boundaries, for CP-SAT.

Sets
    B        boundaries 0..L between atoms: before the first, between neighbours, behind the last
    K        island classes; R a subset of K, the required ones
    P        positioned options p = (o, i): option o with its first atom i; they begin at boundary i, end at i + len(o)
    P-(b)    those that end at b;  P+(b) those that begin at b;  P(a) those that hold atom a;  P(k) those of class k
    X, E     exit ports and entry ports
Parameters
    n        micro-batches
    t_o      slowest stage;  s_o  sum of stage times and twice the inner transfers;  y_o  longest synchronisation
    S_o      number of stages;  D_o  most stages that may come after it (by memory and by its own limit)
    m_k      islands of class k
    c_xe     one-way transfer time from exit port x to entry port e
Variables
    use_p    in {0, 1}: p is in the pipeline
    link_bxe in {0, 1}: at boundary b activations leave at port x and arrive at port e
    after_b  in 0..L: stages behind boundary b
    M, Y     slowest stage and longest synchronisation of the pipeline
Objective
    min  (n-1) M + sum_p s_o use_p + 2 sum_bxe c_xe link_bxe + Y
Constraints
    (1) first       sum of use over P+(0) = 1
    (2) last        sum of use over P-(L) = 1
    (3) exit_b_x    for inner b and each x:  sum of use over P-(b) with exit x  = sum_e link_bxe
    (4) entry_b_e   for inner b and each e:  sum of use over P+(b) with entry e = sum_x link_bxe
    (5) islands_k   sum of use over P(k) <= m_k
    (6) required_k  for k in R:  sum of use over P(k) >= 1
    (7) slowest_a   for each atom a:  M >= sum of t_o use_p over P(a)
    (8) sync_a      for each atom a:  Y >= sum of y_o use_p over P(a)
    (9) stages_p    use_p implies after_i >= after_(i + len) + S_o;  after_L = 0
    (10) depth_p    use_p implies after_(i + len) <= D_o

Exactly one chosen option holds an atom, so (7) and (8) bound the maxima by whole sums: far tighter than a row for each
option. The flow of (1) to (4) is one path from front to back, with one link between each two options on it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from tangram_opt.composition import check, depth_limit, evaluate, positions
from tangram_opt.data.composition import Composition, CompositionProblem, Pick

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar


@dataclass(frozen=True)
class ArcFlow:
    """The model and its variables, for whoever wants to add side constraints.

    Attributes
    ----------
    model : CpModel
        The model.
    use : dict of (int, int) to IntVar
        By option and first atom.
    link : dict of (int, str, str) to IntVar
        By boundary, exit port and entry port.
    after : list of IntVar
        By boundary.
    slowest, sync : IntVar
        M and Y.
    """

    model: CpModel
    use: dict[tuple[int, int], IntVar]
    link: dict[tuple[int, str, str], IntVar]
    after: list[IntVar]
    slowest: IntVar
    sync: IntVar


def build(problem: CompositionProblem) -> ArcFlow:
    """Write the model.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.

    Returns
    -------
    ArcFlow
        The model with the variables that the module's docstring names.
    """
    from ortools.sat.python.cp_model import CpModel, LinearExpr

    model = CpModel()
    model.name = "composition_arc_flow"
    atoms, options = problem.length, problem.options
    placed = [
        (o, first, first + option.length, depth_limit(option, _island(problem, o), problem.micro_batches))
        for o, option in enumerate(options)
        for first in positions(problem, option)
    ]
    placed = [(o, first, end, limit) for o, first, end, limit in placed if limit is None or limit >= 0]

    use = {(o, first): model.new_bool_var(f"use_{o}_{first}") for o, first, _, _ in placed}
    begin: dict[int, list[tuple[int, IntVar]]] = defaultdict(list)
    end_at: dict[int, list[tuple[int, IntVar]]] = defaultdict(list)
    holding: dict[int, list[tuple[int, IntVar]]] = defaultdict(list)
    for o, first, end, _ in placed:
        begin[first].append((o, use[o, first]))
        end_at[end].append((o, use[o, first]))
        for atom in range(first, end):
            holding[atom].append((o, use[o, first]))
    port = problem.port_index
    exits = {b: sorted({options[o].exit_port for o, _ in end_at[b]}, key=port.__getitem__) for b in range(1, atoms)}
    entries = {b: sorted({options[o].entry_port for o, _ in begin[b]}, key=port.__getitem__) for b in range(1, atoms)}
    link = {
        (b, x, e): model.new_bool_var(f"link_{b}_{port[x]}_{port[e]}")
        for b in range(1, atoms)
        for x, e in product(exits[b], entries[b])
    }
    after = [model.new_int_var(0, atoms, f"after_{b}") for b in range(atoms)]
    after.append(model.new_int_var(0, 0, f"after_{atoms}"))
    slowest = model.new_int_var(0, max((option.bottleneck_ns for option in options), default=0), "slowest")
    sync = model.new_int_var(0, max((option.sync_ns for option in options), default=0), "sync")

    model.minimize(
        (problem.micro_batches - 1) * slowest
        + LinearExpr.weighted_sum([use[o, i] for o, i, _, _ in placed], [options[o].sum_ns for o, _, _, _ in placed])
        + LinearExpr.weighted_sum(list(link.values()), [2 * problem.transfer_ns[port[x]][port[e]] for _, x, e in link])
        + sync
    )

    model.add(sum(v for _, v in begin[0]) == 1).with_name("first")  # (1)
    model.add(sum(v for _, v in end_at[atoms]) == 1).with_name("last")  # (2)
    for b in range(1, atoms):
        for x in exits[b]:  # (3)
            leaving = LinearExpr.sum([v for o, v in end_at[b] if options[o].exit_port == x])
            model.add(leaving == sum(link[b, x, e] for e in entries[b])).with_name(f"exit_{b}_{port[x]}")
        for e in entries[b]:  # (4)
            arriving = LinearExpr.sum([v for o, v in begin[b] if options[o].entry_port == e])
            model.add(arriving == sum(link[b, x, e] for x in exits[b])).with_name(f"entry_{b}_{port[e]}")
    for k, island in enumerate(problem.islands):
        used = LinearExpr.sum([use[o, i] for o, i, _, _ in placed if options[o].island == island.name])
        model.add(used <= island.count).with_name(f"islands_{k}")  # (5)
        if island.name in problem.required:
            model.add(used >= 1).with_name(f"required_{k}")  # (6)
    for atom in range(atoms):
        held = holding[atom]
        times = LinearExpr.weighted_sum([v for _, v in held], [options[o].bottleneck_ns for o, _ in held])
        model.add(slowest >= times).with_name(f"slowest_{atom}")  # (7)
        syncs = LinearExpr.weighted_sum([v for _, v in held], [options[o].sync_ns for o, _ in held])
        model.add(sync >= syncs).with_name(f"sync_{atom}")  # (8)
    for o, first, end, limit in placed:
        chosen = use[o, first]
        grows = model.add(after[first] >= after[end] + len(options[o].stages))  # (9)
        grows.only_enforce_if(chosen).with_name(f"stages_{o}_{first}")
        if limit is not None and limit < atoms:
            model.add(after[end] <= limit).only_enforce_if(chosen).with_name(f"depth_{o}_{first}")  # (10)
    return ArcFlow(model, use, link, after, slowest, sync)


def add_hint(problem: CompositionProblem, flow: ArcFlow, hint: Composition) -> None:
    """Give every variable the value that it has in a composition; one that is not allowed is ignored."""
    if check(problem, hint):
        return
    chosen = {(pick.option, pick.first_atom) for pick in hint.picks}
    for place, variable in flow.use.items():
        flow.model.add_hint(variable, place in chosen)
    picked = [problem.options[pick.option] for pick in hint.picks]
    joints = {(back.first_atom, picked[i].exit_port, picked[i + 1].entry_port) for i, back in enumerate(hint.picks[1:])}
    for joint, variable in flow.link.items():
        flow.model.add_hint(variable, joint in joints)
    behind = [0] * (problem.length + 1)
    stages = 0
    for pick, option in zip(reversed(hint.picks), reversed(picked), strict=True):
        # Boundaries inside a slice carry no condition.
        stages += len(option.stages)
        behind[pick.first_atom] = stages
    for boundary, variable in enumerate(flow.after):
        flow.model.add_hint(variable, behind[boundary])
    evaluation = evaluate(problem, hint)
    flow.model.add_hint(flow.slowest, max(evaluation.times_ns))
    flow.model.add_hint(flow.sync, max(evaluation.syncs_ns))


def read(problem: CompositionProblem, flow: ArcFlow, solver: CpSolver | Any) -> Composition:
    """Read the composition from a solver that has a solution."""
    picks = [Pick(o, first) for (o, first), variable in flow.use.items() if solver.boolean_value(variable)]
    return Composition(problem.name, tuple(sorted(picks, key=lambda pick: pick.first_atom)))


def _island(problem: CompositionProblem, option: int) -> Any:
    return problem.islands[problem.class_index[problem.options[option].island]]
