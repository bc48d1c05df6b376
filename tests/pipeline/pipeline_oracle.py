"""A naive simulator of 1F1B with a queue of events, and pipelines for hypothesis. Shares no code with the package."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from tangram_opt.pipeline import Link, Pipeline

Event = tuple[str, int, int]
"""F or B (stage), A or G (boundary), and the micro-batch."""


def one_f_one_b(depth: int, n: int) -> list[tuple[str, int]]:
    """The order of passes of a stage, as the literature words it."""
    warm_up = min(depth - 1, n)
    order = [("F", m) for m in range(warm_up)]
    for m in range(n - warm_up):
        order += [("F", warm_up + m), ("B", m)]
    return order + [("B", m) for m in range(n - warm_up, n)]


def _waits_for(event: Event, stages: int) -> Event | None:
    kind, place, m = event
    if kind == "F":
        return ("A", place - 1, m) if place else None
    if kind == "B":
        return ("G", place, m) if place < stages - 1 else ("F", place, m)
    return ("F", place, m) if kind == "A" else ("B", place + 1, m)


def simulate_naively(pipe: Pipeline) -> tuple[dict[Event, int], int]:
    """Run every stage and link through its list, an event whenever what it waits for has happened."""
    p, n = pipe.stages, pipe.micro_batches
    lists: list[list[Event]] = [[(k, s, m) for k, m in one_f_one_b(pipe.depths[s], n)] for s in range(p)]
    shared = [[("A", s) for s in link.activations] + [("G", s) for s in link.gradients] for link in pipe.links]
    if any(shared):
        unit = replace(pipe, forward_ns=(1,) * p, backward_ns=(1,) * p, transfer_ns=(0,) * (p - 1), links=())
        ready, _ = simulate_naively(unit)
        for channels in shared:
            transfers = [(kind, s, m) for kind, s in channels for m in range(n)]
            lists.append(sorted(transfers, key=lambda t: (ready[t], t[0], t[1], t[2])))
    on_links = {channel for channels in shared for channel in channels}
    lists += [[(k, s, m)] for k in "AG" for s in range(p - 1) if (k, s) not in on_links for m in range(n)]

    durations = {"F": pipe.forward_ns, "B": pipe.backward_ns, "A": pipe.transfer_ns, "G": pipe.transfer_ns}
    listeners: defaultdict[Event, list[int]] = defaultdict(list)
    for number, events in enumerate(lists):
        for event in events:
            wanted = _waits_for(event, p)
            if wanted is not None:
                listeners[wanted].append(number)
    start: dict[Event, int] = {}
    done: set[Event] = set()
    queue: list[tuple[int, Event, int]] = []
    position, busy = [0] * len(lists), [False] * len(lists)

    def try_next(number: int, now: int) -> None:
        if busy[number] or position[number] == len(lists[number]):
            return
        event = lists[number][position[number]]
        wanted = _waits_for(event, p)
        if wanted is None or wanted in done:
            busy[number], start[event] = True, now
            heapq.heappush(queue, (now + durations[event[0]][event[1]], event, number))

    for number in range(len(lists)):
        try_next(number, 0)
    makespan = 0
    while queue:
        now, event, number = heapq.heappop(queue)
        done.add(event)
        busy[number] = False
        position[number] += 1
        if event[0] == "B" and event[2] == n - 1:
            makespan = max(makespan, now + pipe.sync_ns[event[1]])
        for other in (number, *listeners[event]):
            try_next(other, now)
    assert len(done) == sum(map(len, lists)), "deadlock"
    return start, makespan


@st.composite
def pipelines(
    draw: Callable[..., int],
    largest: int = 40,
    most_micro_batches: int = 12,
    any_depths: bool = False,
    shared_links: bool = False,
) -> Pipeline:
    p = draw(st.integers(1, 6))

    def times(count: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(0, largest)) for _ in range(count))

    depths = tuple(range(p, 0, -1))
    if any_depths:
        depths = (draw(st.integers(1, 2)),)
        for _ in range(p - 1):
            depths = (depths[0] + draw(st.sampled_from([1, 0, 2, 3])), *depths)
    links: list[Link] = []
    if shared_links and p > 1:
        # Each transfer of a boundary, each way, goes to one of two shared links or to none.
        places = [[draw(st.integers(0, 2)) for _ in range(p - 1)] for _ in range(2)]
        for number in (1, 2):
            ways = [tuple(s for s in range(p - 1) if way[s] == number) for way in places]
            links += [Link(f"link {number}", *ways)] if any(ways) else []
    n = draw(st.integers(1, most_micro_batches))
    return Pipeline(times(p), times(p), times(p - 1), times(p), n, depths, tuple(links))
