"""A period that the pipeline has to keep where in-flight depths are chosen, for formulations that model the order.

A stage that keeps e more micro-batches in flight than 1F1B does may wait e periods longer for what is behind it; see
:mod:`tangram_opt.composition.potentials`. With P fixed this is linear stage by stage.

Sets
    v           where a suffix can start: an island of the circuit, a boundary of the arc flow
    P_v         placements that can stand at its front; P_vj those of at least j stages
    j           stages of a placement, counted from its last one

Data
    t_pj, h_pj  time of a stage, and both ways over the boundary behind it inside the option (0 for j = 1)
    k_pj        the most micro-batches that it may keep in flight, where memory does not hold all of them
    c_vw        both ways over the boundary between v and w
    E           no stage needs more: a boundary in front of a suffix with e extra micro-batches takes as many periods
                as both ways over it fill, rounded up; the slowest one, for all boundaries of the longest pipeline
    D           E + most stages; L = P (E + 1) + largest c_vw

Variables
    i_v  in [-P, PE]    excess over the period of what is behind the placement at v, with the boundary to it
    q_vj in [-P, PE]    that of the suffix from stage j on
    e_vj in {0..E}      micro-batches that stage j keeps in flight beyond 1F1B

Constraints
    (in_v_w)     i_v >= q_wJ + c_vw a_vw - L (1 - a_vw), where w may follow v and J is its front stage
    (around_v_j) q_v(j-1) + sum over p in P_vj of (t_pj + h_pj - P) x_p <= P e_vj + PE (1 - sum over P_vj of x_p)
    (head_v_j)   q_vj >= q_v(j-1) + sum over p in P_vj of (t_pj + h_pj - P) x_p,  q_v0 = i_v
    (own_v_j)    q_vj >= sum over p in P_vj of t_pj x_p - P + P e_vj
    (cap_v_j)    e_vj + stages behind v <= D - sum over p in P_vj with a cap of (D - k_pj + j) x_p
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulations.composition_data import CompositionData, StageLimits
from formulations.composition_period import Use
from formulations.composition_placements import Placement
from formulations.linear import LinearModel


class DepthRows:
    """The rows of a model, one suffix after the other.

    Parameters
    ----------
    model : LinearModel
        Where they go.
    data : CompositionData
        With the period to keep.
    starts : mapping of str to sequence of (Placement, int)
        For the name of each v its placements and their variables; at most one is used.
    behind : mapping of str to mapping of int to int
        For the name of each v the number of stages behind its placement, as terms.
    """

    def __init__(
        self,
        model: LinearModel,
        data: CompositionData,
        starts: Mapping[str, Sequence[Use]],
        behind: Mapping[str, Mapping[int, int]],
    ) -> None:
        self.model = model
        model.presolve = False
        self.period, self.longest = data.kept_period_ns, data.longest_boundary_ns
        self.most_extra = (data.most_stages - 1) * -(-self.longest // self.period)
        self.most = self.most_extra + data.most_stages
        self.inside = {v: self._add_maximum(f"in_{v}") for v in starts}
        self.head = {v: self._add_stages(v, uses, behind[v], data) for v, uses in starts.items()}

    def add_in(self, name: str, v: str, w: str, follows: Sequence[int], links: Mapping[int, int]) -> None:
        """Add a row in_v_w.

        Parameters
        ----------
        name : str
            Of the row, after "in": there may be several boundaries between v and w.
        v, w : str
            Where the longer and the shorter suffix start.
        follows : sequence of int
            Variables of which one is 1 where w follows v.
        links : mapping of int to int
            Both ways over the boundary in front of w, by the variables that say which it is.
        """
        margin = self.period * (self.most_extra + 1) + self.longest
        terms = {self.inside[v]: 1, self.head[w]: -1} | {link: -time for link, time in links.items()}
        for index in follows:
            terms[index] = terms.get(index, 0) - margin
        self.model.add_row(f"in_{name}", terms, lower=-margin)

    def _add_maximum(self, name: str) -> int:
        return self.model.add_maximum(name, -self.period, self.period * self.most_extra, 0)

    def _add_stages(self, v: str, uses: Sequence[Use], behind: Mapping[int, int], data: CompositionData) -> int:
        """Add the variables and rows of the stages at v; return the head of its suffix."""
        period, most_extra = self.period, self.most_extra
        limits: list[tuple[Placement, int, tuple[StageLimits, ...]]] = [(p, x, data.stage_limits(p)) for p, x in uses]
        head = self.inside[v]
        for j in range(1, max((p.stages for p, _ in uses), default=0) + 1):
            stages = [(x, each[-j]) for _, x, each in limits if j <= len(each)]
            extra = self.model.add_maximum(f"e_{v}_{j}", 0, most_extra, 0, integral=True)
            longer = self._add_maximum(f"q_{v}_{j}")
            excess = {x: stage.time_ns + stage.behind_ns - period for x, stage in stages}
            around = {x: over + period * most_extra for x, over in excess.items()}
            self.model.add_row(f"around_{v}_{j}", {head: 1, extra: -period, **around}, upper=period * most_extra)
            self.model.add_row(f"head_{v}_{j}", {longer: 1, head: -1} | {x: -e for x, e in excess.items()}, lower=0)
            own = {x: -stage.time_ns for x, stage in stages}
            self.model.add_row(f"own_{v}_{j}", {longer: 1, extra: -period, **own}, lower=-period)
            capped = {x: self.most - stage.cap + j for x, stage in stages if stage.cap is not None}
            if capped:
                terms = dict(behind)
                for x, less in capped.items():
                    terms[x] = terms.get(x, 0) + less
                self.model.add_row(f"cap_{v}_{j}", {extra: 1, **terms}, upper=self.most)
            head = longer
        return head
