"""Circuit formulation: in which order islands follow one another, for transfer times that depend on the neighbours.

The pipeline is a circuit through a depot, which stands for outside, and some of the nodes. A node is an island with
one of the pairs of ports (entry, exit) that its placements have, so that an arc between two nodes has one transfer
time. Atoms need not be modelled: all but the first and the last are alike, so slices may stand in any order and only
have to add up.

Sets
    i in I       islands, one by one, k(i) their class
    v in V       nodes (island, entry port, exit port); 0 is the depot
    p in P_v     placements of a node; F, H: those with the first, and with the last atom of the model, where these
                 form runs of their own

Data
    n_p(r), N_r, S_p, D_p, s_p, b_p, y_p, B   as in :mod:`formulations.composition_deadline`
    c_vw         both ways from the exit port of v to the entry port of w

Variables
    x_{i,p}, a_{v,w} in {0,1}    island i uses p; w follows v
    f_{v,w} in {0..B}            stages after v (all of them for the depot) where w follows v, otherwise 0

    M, Y                         slowest stage and longest sync, see :mod:`formulations.composition_minmax`

Objective
    (n - 1) M + sum s_p x_{i,p} + sum c_vw a_{v,w} + Y

Constraints
    (cover_r)      sum n_p(r) x_{i,p} = N_r
    (island_i)     sum over p of x_{i,p} <= 1
    (leave_v)      sum_w a_{v,w} = sum over p in P_v of x_{i,p};  (arrive_v) sum_u a_{u,v} likewise
    (front), (back)  sum_v a_{0,v} = 1;  sum_v a_{v,0} = 1
    (first_v)      sum over p in P_v and F of x_{i,p} = a_{0,v}, where the first atom is a run of its own
    (last_v)       sum over p in P_v and H of x_{i,p} = a_{v,0}, where the last atom is one
    (required_k)   sum over i of class k, p of x_{i,p} >= 1
    (carries_v_w)  f_{v,w} <= B a_{v,w}
    (stages_v)     sum_u f_{u,v} - sum_w f_{v,w} = sum over p in P_v of S_p x_{i,p}
    (memory_v)     sum_w f_{v,w} <= sum over p in P_v of D_p x_{i,p}
    (order_i)      of islands of one class the first in the list comes first in the pipeline: F_i >= F_i' + S_i',
                   F and S the stages after an island and its own
    and those of due dates (:mod:`formulations.composition_due_dates`), which the flow implies and the relaxation does
    not, of the maxima, and of a period to keep (:mod:`formulations.composition_period`, or
    :mod:`formulations.composition_depths` where depths are chosen).

The flow f rules out circuits that leave the depot aside. Exact where the model is one run of equal atoms, with or
without a single first atom and a single last atom of other kinds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from formulations.composition_data import CompositionData
from formulations.composition_depths import DepthRows
from formulations.composition_due_dates import Unary, add_due_dates, encode_due_dates
from formulations.composition_minmax import Maximum, Use, add_maximum
from formulations.composition_period import PeriodRows
from formulations.composition_placements import Placement
from formulations.linear import LinearModel
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import Composition

Node = tuple[int, int, int]
"""Island, entry port, exit port."""

DEPOT: Node = (-1, -1, -1)


def not_exact(data: CompositionData) -> str | None:
    """Say why this formulation does not apply to a problem; None where it does."""
    if _middle(data) is None:
        return "the atoms between the first and the last are not all alike"
    return None


def arcs(data: CompositionData) -> int:
    """Count the arcs between nodes: the size of the model."""
    pairs: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for p in data.placements:
        pairs[p.island].add((p.entry, p.exit))
    return sum(count * len(pairs[k]) for k, count in enumerate(data.counts)) ** 2


def _middle(data: CompositionData) -> int | None:
    """Index of the run whose atoms are free, None where there is more than one such run."""
    counts = [run.count for run in data.runs]
    for middle in range(len(counts)):
        if middle <= 1 and len(counts) - middle <= 2 and all(c == 1 for r, c in enumerate(counts) if r != middle):
            return middle
    return None


@dataclass(frozen=True)
class Circuit:
    """The model of a problem, and the way to compositions and back.

    Attributes
    ----------
    data : CompositionData
        The problem.
    linear : LinearModel
        The model.
    islands : tuple of int
        Class of each island.
    nodes : mapping of Node to tuple of Placement
        The nodes, without the depot, and their placements.
    x : mapping of (int, str) to int
        Variable of an island and the name of a placement.
    a, f : mapping of (Node, Node) to int
        Variables of the arcs.
    z : mapping of int to mapping of int to int
        Variables of the due dates.
    sync, slowest : Maximum
        The maxima; the slowest stage may be free.
    """

    data: CompositionData
    linear: LinearModel
    islands: tuple[int, ...]
    nodes: Mapping[Node, tuple[Placement, ...]]
    x: Mapping[tuple[int, str], int]
    a: Mapping[tuple[Node, Node], int]
    f: Mapping[tuple[Node, Node], int]
    z: Unary
    sync: Maximum
    slowest: Maximum | None = None

    def comes_first(self, island: str) -> list[str]:
        """Name the variables of which one is 1 where an island of a class comes first in the pipeline."""
        k = self.data.problem.class_index[island]
        arcs = (index for (v, w), index in self.a.items() if v == DEPOT and self.islands[w[0]] == k)
        return [self.linear.variables[index].name for index in arcs]

    def decode(self, values: Sequence[int]) -> Composition:
        """Follow the circuit from the depot."""
        follower = {v: w for (v, w), index in self.a.items() if values[index]}
        options = []
        node = follower[DEPOT]
        while node != DEPOT:
            options += [p.option for p in self.nodes[node] if values[self.x[node[0], p.name]]]
            node = follower[node]
        return placed(self.data.problem, options)

    def encode(self, composition: Composition) -> list[int]:
        """Write a composition, with better stand-ins for options that are not placed, as a solution."""
        values = [0] * len(self.linear.variables)
        used = self.data.placements_of(composition)
        free = {k: iter([i for i, island in enumerate(self.islands) if island == k]) for k in set(self.islands)}
        after = sum(p.stages for p in used)
        node = DEPOT
        for p in used:
            front, node = node, (next(free[p.island]), p.entry, p.exit)
            values[self.x[node[0], p.name]] = 1
            values[self.a[front, node]] = 1
            values[self.f[front, node]] = after
            after -= p.stages
        values[self.a[node, DEPOT]] = 1
        encode_due_dates(values, self.z, used)
        self.sync.encode(values, max(p.sync_ns for p in used))
        if self.slowest is not None:
            self.slowest.encode(values, max(p.bottleneck_ns for p in used))
        return values if self.data.period_ns is None else self.linear.settled(values)


def circuit(data: CompositionData) -> Circuit:
    """Build the model of a problem.

    Parameters
    ----------
    data : CompositionData
        The problem; see :func:`not_exact`.

    Returns
    -------
    Circuit
        The model.
    """
    model = circuit_without_slowest(data)
    slowest = _uses(model.x, data, lambda p: p.bottleneck_ns)
    weight, once = data.micro_batches - 1, [1] * len(model.islands)
    return replace(model, slowest=add_maximum(model.linear, "slowest", weight, slowest, once))


def circuit_without_slowest(data: CompositionData) -> Circuit:
    """Build the model without M: the slowest stage is free, for whoever limits it by leaving placements out."""
    model = LinearModel()
    islands = tuple(k for k, count in enumerate(data.counts) for _ in range(count))
    nodes = _nodes(data, islands)
    x = {
        (node[0], p.name): model.add_binary(f"{p.name}_{node[0]}", p.sum_ns)
        for node, placements in nodes.items()
        for p in placements
    }
    a = {(v, w): model.add_binary(_name("a", v, w), _round_trip_ns(data, v, w)) for v, w in _arcs(nodes)}
    most = data.most_stages
    f = {(v, w): model.add_variable(_name("f", v, w), 0, most) for v, w in a if w != DEPOT}
    chosen = {v: {x[v[0], p.name]: 1 for p in placements} for v, placements in nodes.items()}

    for r, run in enumerate(data.runs):
        atoms = {x[v[0], p.name]: p.atoms_of(r, run.count) for v, placements in nodes.items() for p in placements}
        model.add_row(f"cover_{r}", atoms, lower=run.count, upper=run.count)
    for i in range(len(islands)):
        model.add_row(f"island_{i}", {index: 1 for (j, _), index in x.items() if j == i}, upper=1)
    leaving, arriving = _ends(a)
    for v in nodes:
        uses = dict.fromkeys(chosen[v], -1)
        model.add_row(_name("leave", v), {**dict.fromkeys(leaving[v], 1), **uses}, lower=0, upper=0)
        model.add_row(_name("arrive", v), {**dict.fromkeys(arriving[v], 1), **uses}, lower=0, upper=0)
    model.add_row("front", dict.fromkeys(leaving[DEPOT], 1), lower=1, upper=1)
    model.add_row("back", dict.fromkeys(arriving[DEPOT], 1), lower=1, upper=1)
    _add_first_and_last(model, data, nodes, x, a)
    for k in data.required:
        model.add_row(f"required_{k}", {index: 1 for (i, _), index in x.items() if islands[i] == k}, lower=1)
    _add_flow(model, data, islands, nodes, x, a, f)
    z = add_due_dates(model, data, _variables(x))
    sync = add_maximum(model, "sync", 1, _uses(x, data, lambda p: p.sync_ns), [1] * len(islands))
    if data.period_ns is not None and data.chooses_depths:
        _add_depths(model, data, islands, nodes, x, a, f)
    elif data.period_ns is not None:
        _add_period(model, data, nodes, x, a)
    return Circuit(data, model, islands, nodes, x, a, f, z, sync)


def _add_period(
    model: LinearModel,
    data: CompositionData,
    nodes: Mapping[Node, Sequence[Placement]],
    x: Mapping[tuple[int, str], int],
    a: Mapping[tuple[Node, Node], int],
) -> None:
    """Add the rows of :mod:`formulations.composition_period`."""
    uses = {v: [(p, x[v[0], p.name]) for p in placements] for v, placements in nodes.items()}
    names = {v: _name("at", v) for v in nodes}
    rows = PeriodRows(model, data, {names[v]: uses[v] for v in nodes})
    for (v, w), index in a.items():
        if DEPOT not in (v, w):
            link = {index: _round_trip_ns(data, v, w)}
            rows.add_through(names[v], names[w], uses[v], [index], link)
            rows.add_tail(f"{names[v]}_{names[w]}", names[w], uses[v], link)


def _add_depths(
    model: LinearModel,
    data: CompositionData,
    islands: Sequence[int],
    nodes: Mapping[Node, Sequence[Placement]],
    x: Mapping[tuple[int, str], int],
    a: Mapping[tuple[Node, Node], int],
    f: Mapping[tuple[Node, Node], int],
) -> None:
    """Add the rows of :mod:`formulations.composition_depths`: a suffix starts at an island."""
    uses: dict[str, list[tuple[Placement, int]]] = {f"at_{i}": [] for i in range(len(islands))}
    behind: dict[str, dict[int, int]] = {f"at_{i}": {} for i in range(len(islands))}
    leaving, _ = _ends(f)
    for v, placements in nodes.items():
        uses[f"at_{v[0]}"] += [(p, x[v[0], p.name]) for p in placements]
        behind[f"at_{v[0]}"] |= dict.fromkeys(leaving[v], 1)
    rows = DepthRows(model, data, uses, behind)
    for (v, w), index in a.items():
        if DEPOT not in (v, w):
            link = {index: _round_trip_ns(data, v, w)}
            rows.add_in(_name("at", v, w), f"at_{v[0]}", f"at_{w[0]}", [index], link)


def _variables(x: Mapping[tuple[int, str], int]) -> dict[str, list[int]]:
    """Variables of each placement over all islands."""
    variables: defaultdict[str, list[int]] = defaultdict(list)
    for (_, name), index in x.items():
        variables[name].append(index)
    return variables


def _uses(x: Mapping[tuple[int, str], int], data: CompositionData, value_ns: Callable[[Placement], int]) -> list[Use]:
    placements = {p.name: p for p in data.placements}
    return [Use(f"{name}_{i}", index, 1, i, value_ns(placements[name])) for (i, name), index in x.items()]


def add_circuit(model: Any, variables: Sequence[Any], circuit: Circuit) -> None:
    """Tell CP-SAT that the arcs are a circuit: it propagates more than the rows do.

    Parameters
    ----------
    model : CpModel
        The linear model as CP-SAT has it.
    variables : sequence of IntVar
        Its variables.
    circuit : Circuit
        The model.
    """
    number = {node: index for index, node in enumerate([DEPOT, *circuit.nodes])}
    arcs = [(number[v], number[w], variables[index]) for (v, w), index in circuit.a.items()]
    for v, placements in circuit.nodes.items():
        unused = model.new_bool_var(_name("unused", v))
        model.add_exactly_one([unused, *(variables[circuit.x[v[0], p.name]] for p in placements)])
        arcs.append((number[v], number[v], unused))
    model.add_circuit(arcs)


def _nodes(data: CompositionData, islands: Sequence[int]) -> dict[Node, tuple[Placement, ...]]:
    nodes: defaultdict[Node, tuple[Placement, ...]] = defaultdict(tuple)
    for i, k in enumerate(islands):
        for p in data.placements:
            if p.island == k:
                nodes[i, p.entry, p.exit] += (p,)
    return dict(nodes)


def _arcs(nodes: Mapping[Node, object]) -> Iterator[tuple[Node, Node]]:
    for v in nodes:
        yield DEPOT, v
        yield v, DEPOT
        yield from ((v, w) for w in nodes if v[0] != w[0])


def _round_trip_ns(data: CompositionData, v: Node, w: Node) -> int:
    return 0 if DEPOT in (v, w) else data.round_trip_ns[v[2]][w[1]]


def _name(what: str, *nodes: Node) -> str:
    return "_".join([what, *("depot" if v == DEPOT else f"{v[0]}_{v[1]}_{v[2]}" for v in nodes)])


def _ends(arcs: Mapping[tuple[Node, Node], int]) -> tuple[dict[Node, list[int]], dict[Node, list[int]]]:
    """Variables of the arcs that leave, and that arrive at, each node."""
    leaving: defaultdict[Node, list[int]] = defaultdict(list)
    arriving: defaultdict[Node, list[int]] = defaultdict(list)
    for (v, w), index in arcs.items():
        leaving[v].append(index)
        arriving[w].append(index)
    return leaving, arriving


def _add_first_and_last(
    model: LinearModel,
    data: CompositionData,
    nodes: Mapping[Node, Sequence[Placement]],
    x: Mapping[tuple[int, str], int],
    a: Mapping[tuple[Node, Node], int],
) -> None:
    """Add the rows first_v and last_v."""
    middle, last_run = _middle(data), len(data.runs) - 1
    for v, placements in nodes.items():
        if middle != 0:
            first = {x[v[0], p.name]: 1 for p in placements if p.first_run == 0}
            model.add_row(_name("first", v), {**first, a[DEPOT, v]: -1}, lower=0, upper=0)
        if middle != last_run:
            last = {x[v[0], p.name]: 1 for p in placements if p.last_run == last_run}
            model.add_row(_name("last", v), {**last, a[v, DEPOT]: -1}, lower=0, upper=0)


def _add_flow(
    model: LinearModel,
    data: CompositionData,
    islands: Sequence[int],
    nodes: Mapping[Node, Sequence[Placement]],
    x: Mapping[tuple[int, str], int],
    a: Mapping[tuple[Node, Node], int],
    f: Mapping[tuple[Node, Node], int],
) -> None:
    """Add the rows carries_v_w, stages_v, memory_v and order_i."""
    most = data.most_stages
    for arc, index in f.items():
        model.add_row(_name("carries", *arc), {index: 1, a[arc]: -most}, upper=0)
    leaving, arriving = _ends(f)
    for v, placements in nodes.items():
        own = {x[v[0], p.name]: -p.stages for p in placements}
        behind = dict.fromkeys(leaving[v], 1)
        flow = {**dict.fromkeys(arriving[v], 1), **dict.fromkeys(leaving[v], -1), **own}
        model.add_row(_name("stages", v), flow, lower=0, upper=0)
        limits = {x[v[0], p.name]: -(most if p.limit is None else p.limit) for p in placements}
        model.add_row(_name("memory", v), {**behind, **limits}, upper=0)
    for i, (front, back) in enumerate(pairwise(islands)):
        if front == back:
            after = {index: -1 for (v, _), index in f.items() if v[0] == i}
            after_next = {index: 1 for (v, _), index in f.items() if v[0] == i + 1}
            own = {x[v[0], p.name]: p.stages for v, placements in nodes.items() for p in placements if v[0] == i + 1}
            model.add_row(f"order_{i}", {**after, **after_next, **own}, upper=0)
