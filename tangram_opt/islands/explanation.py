"""Why two nodes can or cannot be in one island: the chain of reasons of the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tangram_opt.data.island import IslandsProblem
from tangram_opt.errors import InputError
from tangram_opt.islands.bandwidths import reach
from tangram_opt.islands.likeness import attributes, figures, ratio_limits, unlike
from tangram_opt.islands.network import links_of


@dataclass(frozen=True, slots=True)
class Step:
    """With two nodes in an island a third is in it.

    Attributes
    ----------
    first, second : str
        Names of the two nodes.
    third : str
        Name of the node to which the first one has a faster link than to the second.
    slow_bytes_per_s, fast_bytes_per_s : int
        From the first to the second, and from the first to the third.
    """

    first: str
    second: str
    third: str
    slow_bytes_per_s: int
    fast_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Apart:
    """Two nodes that no island can hold.

    Attributes
    ----------
    first, second : str
        Their names; the first has less of what they differ in.
    what : str
        ``GPUs per node``, ``compute``, ``memory``, ``intra-node bandwidth`` or ``link``.
    less, more : int
        What each of them has, in FLOP/s, bytes or bytes/s. Of a missing link: 0, from the first to the second, and the
        bandwidth of the way back.
    """

    first: str
    second: str
    what: str
    less: int
    more: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether two nodes can be in one island, and why.

    Attributes
    ----------
    together : bool
        Whether they can.
    steps : tuple of Step
        In an order in which each follows from those before. Where the two can be together, all that puts others into
        their island; where not, what brings those together that are `apart`.
    apart : Apart or None
        Why they cannot.
    island : tuple of str
        The smallest island that holds both, in the order of the cluster; empty where there is none.
    """

    together: bool
    steps: tuple[Step, ...]
    apart: Apart | None
    island: tuple[str, ...]


def explain(problem: IslandsProblem, first: str, second: str) -> Explanation:
    """Explain whether two nodes can be in one island.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.
    first, second : str
        Names of two nodes.

    Returns
    -------
    Explanation
        The first contradiction that comes up when the island of the two is grown step by step.

    Raises
    ------
    InputError
        There is no such node, or it is one node twice.
    """
    index = {node.name: i for i, node in enumerate(problem.cluster.nodes)}
    for name in (first, second):
        if name not in index:
            raise InputError(f"node {name!r}: expected a node of {problem.cluster.name!r}")
    if first == second:
        raise InputError(f"node {first!r} twice: expected two nodes")
    return _Propagation(problem).explain(index[first], index[second])


class _Propagation:
    """The growth of an island, with the reason of everyone in it."""

    def __init__(self, problem: IslandsProblem) -> None:
        self.problem = problem
        self.nodes = problem.cluster.nodes
        self.links = links_of(problem)
        self.limits = ratio_limits(problem.tolerances)
        self.inside = np.zeros(len(self.nodes), dtype=bool)
        self.reasons: dict[int, tuple[int, int] | None] = {}
        self.extremes: list[int] = []

    def explain(self, first: int, second: int) -> Explanation:
        """Grow the island of two nodes until two in it are apart, or nobody is missing."""
        found = self._join([first, second], None) or self._unlinked(first, second) or self._unlinked(second, first)
        done = 0
        while found is None and done < len(self.reasons):
            members = list(self.reasons)
            done = len(members)
            for u in members:
                found = self._draw(u)
                if found is not None:
                    break
        if found is None:
            island = tuple(self.nodes[i].name for i in np.flatnonzero(self.inside))
            return Explanation(True, self._steps(set(self.reasons)), None, island)
        return Explanation(False, self._steps(self._needed(found)), self._apart(*found), ())

    def _draw(self, u: int) -> tuple[int, int] | None:
        """Put in those to whom a member has a faster link than to somebody inside; name two that are apart, if any."""
        row, others = self.links.row(u), np.flatnonzero(self.inside)
        v = int(others[row[others].argmin()])
        if row[v] == 0:
            return u, v
        (top,) = reach(row[[v]], self.links.limit)
        return self._join([int(w) for w in np.flatnonzero((row > top) & ~self.inside)], (u, v))

    def _join(self, nodes: list[int], reason: tuple[int, int] | None) -> tuple[int, int] | None:
        """Put nodes into the island; stop at the first that is unlike somebody in it, and name both."""
        for node in nodes:
            self.inside[node] = True
            self.reasons[node] = reason
            # Those with the least and the most of something are the first to be unlike a new one.
            for other in self.extremes:
                if self._unlike(other, node) is not None:
                    return other, node
            known = [*self.extremes, node]
            values = [attributes(self.nodes[i]) for i in known]
            columns = list(zip(*values, strict=True))
            self.extremes = list({known[column.index(pick(column))] for column in columns for pick in (min, max)})
        return None

    def _needed(self, pair: tuple[int, int]) -> set[int]:
        """Everyone that the reasons of a pair go back to."""
        needed: set[int] = set()
        stack = list(pair)
        while stack:
            node = stack.pop()
            if node not in needed:
                needed.add(node)
                stack += self.reasons[node] or ()
        return needed

    def _steps(self, of: set[int]) -> tuple[Step, ...]:
        network, steps = self.problem.cluster.network, []
        for third, reason in self.reasons.items():
            if reason is not None and third in of:
                first, second = reason
                one, two, three = (self.nodes[i].name for i in (first, second, third))
                slow, fast = (network.bandwidth_bytes_per_s(first, other) for other in (second, third))
                steps.append(Step(one, two, three, slow, fast))
        return tuple(steps)

    def _apart(self, one: int, other: int) -> Apart:
        """In what two nodes are apart that no island can hold."""
        unlike = self._unlike(one, other)
        if unlike is not None:
            return unlike
        network = self.problem.cluster.network
        back = network.bandwidth_bytes_per_s(other, one)
        return Apart(self.nodes[one].name, self.nodes[other].name, "link", 0, back)

    def _unlike(self, one: int, other: int) -> Apart | None:
        """The first respect in which two nodes are not alike."""
        found = next(unlike({i: figures(self.nodes[i]) for i in (one, other)}, self.limits), None)
        if found is None:
            return None
        low, high = self.nodes[found.low], self.nodes[found.high]
        return Apart(low.name, high.name, found.what, found.least, found.most)

    def _unlinked(self, one: int, other: int) -> tuple[int, int] | None:
        return (one, other) if self.links.row(one)[other] == 0 else None
