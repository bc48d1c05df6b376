"""A period that the pipeline has to keep, for formulations that model the order.

Every stretch of k neighbouring stages may take at most k P, with the transfers between them both ways; see
:mod:`tangram_opt.composition.potentials`. Read from the back, the excess of a suffix over the period is summarised by
its head. With P fixed all of this is linear, and for a placement as a whole it is three constants.

Sets and data
    v           where a suffix can start: a node of the circuit, a boundary of the arc flow
    P_v         placements that can stand at its front
    g_p, h_p, t_p   head, tail and through of a placement: the largest excess of stretches from its first stage, of
                those up to its last one, and of all of it; none is positive, as every placement keeps P by itself
    B           the least g_p

Variables
    e_v in [B, 0]   head of the suffix that starts at v

Constraints
    (head_v)       e_v >= sum over p in P_v of g_p x_p + B (1 - sum of x_p)
    (through_v_w)  e_v >= sum over p in P_v of t_p x_p + c_vw a_vw + e_w + (B - H) (1 - a_vw), w follows v
    (tail_v_w)     sum over p in P_v of h_p x_p + c_vw a_vw + e_w <= 0

Where w does not follow v the last two must hold anyway. In the circuit they do with H = 0, as t_p, h_p and e_w are not
positive. In the arc flow v and w are boundaries, a is the sum of x_p over the placements between them, and what is in
front of w and costs c may be another placement: tail is one row for all that end at w, and H the largest -h_p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formulations.composition_data import CompositionData
from formulations.composition_placements import Placement
from formulations.linear import LinearModel

Use = tuple[Placement, int]
"""A placement and the variable that says whether it is used."""


class PeriodRows:
    """The rows of a model, one suffix after the other.

    Parameters
    ----------
    model : LinearModel
        Where they go.
    data : CompositionData
        With the period to keep.
    starts : mapping of str to sequence of (Placement, int)
        For the name of each v its placements and their variables; at most one is used.
    """

    def __init__(self, model: LinearModel, data: CompositionData, starts: Mapping[str, Sequence[Use]]) -> None:
        self.model = model
        model.presolve = False
        self.excess = {p.name: data.potential(p) for p in data.placements}
        self.least = min((head for head, _, _ in self.excess.values()), default=0)
        self.starts = starts
        self.head = {v: model.add_maximum(f"e_{v}", self.least, 0, 0) for v in starts}
        for v, uses in starts.items():
            above = {x: self.least - self.excess[p.name][0] for p, x in uses}
            model.add_row(f"head_{v}", {self.head[v]: 1, **above}, lower=self.least)

    def add_through(
        self, v: str, w: str, uses: Sequence[Use], follows: Sequence[int], links: Mapping[int, int], margin: int = 0
    ) -> None:
        """Add the row through_v_w.

        Parameters
        ----------
        v, w : str
            Where the longer and the shorter suffix start.
        uses : sequence of (Placement, int)
            Placements that can be between them.
        follows : sequence of int
            Variables of which one is 1 where w follows v.
        links : mapping of int to int
            Both ways over the boundary in front of w, by the variables that say which it is.
        margin : int
            H.
        """
        terms = {x: -self.excess[p.name][2] for p, x in uses}
        terms |= {self.head[v]: 1, self.head[w]: -1} | {link: -time for link, time in links.items()}
        for index in follows:
            terms[index] = terms.get(index, 0) + self.least - margin
        self.model.add_row(f"through_{v}_{w}", terms, lower=self.least - margin)

    def add_tail(self, name: str, w: str, uses: Sequence[Use], links: Mapping[int, int]) -> None:
        """Add the row tail for the suffix that starts at w; see :meth:`add_through`."""
        terms = {x: self.excess[p.name][1] for p, x in uses} | {self.head[w]: 1, **links}
        self.model.add_row(f"tail_{name}", terms, upper=0)
