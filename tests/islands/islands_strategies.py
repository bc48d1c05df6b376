"""Small islands problems for property tests: ties, zeros, asymmetry, tiers, slack and caps."""

from __future__ import annotations

from hypothesis import strategies as st

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances

VALUES = [100, 110, 120, 121, 132, 144, 145]
SLACKS = (0.0, 0.0, 0.1, 0.25, 1.0)


@st.composite
def problems(draw: st.DrawFn, most: int = 6) -> IslandsProblem:
    size = draw(st.integers(1, most))
    values = st.sampled_from(draw(st.sampled_from([(100,), (100, 110, 120, 121, 144)])))
    compute = st.sampled_from([100, 110, 120, 121, 144])
    nodes = []
    for i in range(size):
        gpus, bandwidth = draw(st.sampled_from([1, 2, 2, 2])), draw(values)
        links = tuple(tuple(0 if a == b else bandwidth for b in range(gpus)) for a in range(gpus))
        nodes.append(Node(f"n{i}", Gpu("G", 1000, draw(compute), draw(values), 1, 1), gpus, links))
    network: MatrixNetwork | TierNetwork
    if draw(st.booleans()):
        entry = st.integers(draw(st.integers(0, 1)), draw(st.integers(1, 9)))
        network = MatrixNetwork(tuple(tuple(0 if i == j else draw(entry) for j in range(size)) for i in range(size)))
    else:
        bandwidths = tuple(sorted(draw(st.lists(st.integers(0, 9), min_size=3, max_size=3))))
        place = st.sampled_from(["x", "y"])
        network = TierNetwork(bandwidths, tuple((draw(place), draw(place)) for _ in range(size)))
    fast = draw(st.sampled_from([None, None, 3, 5]))
    tolerances = Tolerances(network=draw(st.sampled_from(SLACKS)), fast_link_bytes_per_s=fast)
    return IslandsProblem("p", Cluster("c", tuple(nodes), network), tolerances)


@st.composite
def hard_problems(draw: st.DrawFn, most: int = 8) -> IslandsProblem:
    """Problems of which structure settles little: many boxes that overlap, and links most of which are equally fast."""
    size = draw(st.integers(4, most))
    figures = st.sampled_from(draw(st.sampled_from([VALUES, [100, 110, 120, 121]])))
    memory = figures if draw(st.booleans()) else st.just(100)
    nodes = []
    for i in range(size):
        bandwidth = draw(memory)
        nodes.append(
            Node(f"n{i}", Gpu("G", 1000, draw(figures), draw(memory), 1, 1), 2, ((0, bandwidth), (bandwidth, 0)))
        )
    speeds = draw(st.sampled_from([(9,), (9, 9, 9, 5), (9, 9, 8, 5), (9, 9, 9, 9, 8, 10)]))
    # Nodes that are equally close to all others, among some that are not, make third nodes necessary.
    even = [draw(st.booleans()) for _ in range(size)]
    entries = [st.just(9) if even[i] else st.sampled_from(speeds) for i in range(size)]
    network = MatrixNetwork(tuple(tuple(0 if i == j else draw(entries[i]) for j in range(size)) for i in range(size)))
    wide = draw(st.sampled_from([0.2, 0.33]))
    tolerances = Tolerances(0.2, wide, wide, draw(st.sampled_from(SLACKS)))
    return IslandsProblem("p", Cluster("c", tuple(nodes), network), tolerances)
