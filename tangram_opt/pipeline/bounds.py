"""What an iteration takes at least and at most, without running it: bounds for pruning, and the period form."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import ceil

from tangram_opt.pipeline.data import Pipeline
from tangram_opt.pipeline.period import critical_cycle


def period_form_ns(pipeline: Pipeline) -> int:
    """Estimate the iteration time: (n-1) P + sum t + 2 sum c + max sync, P being the period in whole nanoseconds.

    It is never too low where no link is shared and max f + max b is at most P, for example where all stages have the
    same ratio of backward to forward: then it is :func:`upper_bound_ns`.
    """
    return int(_steady(pipeline, Fraction(ceil(critical_cycle(pipeline).period_ns))))


def upper_bound_ns(pipeline: Pipeline) -> int | None:
    """Bound the iteration time from above: (n-1) max(P, max f + max b) + sum t + 2 sum c + max sync.

    A longest path of the event graph goes forward to some stage e and back, with more tokens (micro-batches) along
    the way than its cycles hold: k_e - 1 among the warm-up forwards, where a micro-batch costs at most max f, and
    k_e - 1 among the last backwards, where it costs at most max b. One of each make up for the k_e - 1 micro-batches
    that lie between a forward of stage e and the backward after it; every other micro-batch costs at most P.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths.

    Returns
    -------
    int or None
        Nanoseconds; None where links are shared, of which the argument says nothing.
    """
    if pipeline.links:
        return None
    pair = max(pipeline.forward_ns) + max(pipeline.backward_ns)
    return int(_steady(pipeline, max(critical_cycle(pipeline).period_ns, Fraction(pair))))


def lower_bound_ns(pipeline: Pipeline) -> int:
    """Bound the iteration time from below by what each stage does, and must wait for.

    Stage s starts when the first micro-batch has come to it. The round trip from it to the back, D, can hide behind
    its other k = min(depth, n) - 1 forwards before the first backward; and, where n exceeds its depth, behind as many
    backwards after the last forward. What is not hidden is idle time. Or else: every depth micro-batches there is one
    round trip. After its last backward the stages in front run theirs, and synchronise.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths and links; links count as not shared.

    Returns
    -------
    int
        Nanoseconds.
    """
    n, t, c = pipeline.micro_batches, pipeline.times_ns, (*pipeline.transfer_ns, 0)
    arrival = list(accumulate((f + hop for f, hop in zip(pipeline.forward_ns, c, strict=True)), initial=0))
    behind = [0]  # D of each stage, from the last one
    for s in reversed(range(pipeline.stages - 1)):
        behind.append(behind[-1] + t[s + 1] + 2 * c[s])
    behind.reverse()
    longest, tail = 0, 0
    for s in range(pipeline.stages):
        tail = max(pipeline.sync_ns[s], tail + pipeline.backward_ns[s - 1] + c[s - 1] if s else 0)
        away, k = behind[s], min(pipeline.depths[s], n) - 1
        idle = max(0, away - k * pipeline.forward_ns[s])
        if n > pipeline.depths[s]:
            idle += max(0, away - k * pipeline.backward_ns[s])
        round_trips = ((n - 1) // pipeline.depths[s] + 1) * (t[s] + away)
        longest = max(longest, arrival[s] + max(n * t[s] + idle, round_trips) + tail)
    return longest


def _steady(pipeline: Pipeline, per_micro_batch: Fraction) -> Fraction:
    once = sum(pipeline.times_ns) + 2 * sum(pipeline.transfer_ns) + max(pipeline.sync_ns)
    return (pipeline.micro_batches - 1) * per_micro_batch + once
