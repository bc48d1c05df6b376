"""Families of islands problems, as documents: clusters in groups and tiers, so that large ones stay small files."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Document = dict[str, Any]

GENERATIONS = {
    "A100-SXM4-80GB": 300.0,
    "H100-SXM5-80GB": 450.0,
    "H200-SXM-141GB": 450.0,
    "B200-SXM-180GB": 900.0,
}
"""GPU models of a data centre that grew, with the NVLink bandwidth of a GPU in one direction (vendors' data sheets)."""


def generate(family: str, nodes: int, seed: int) -> Document:
    """Make a problem.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    nodes : int
        Nodes of the cluster.
    seed : int
        The same seed gives the same problem.

    Returns
    -------
    dict
        An islands problem, without ``format`` and ``version``.
    """
    name = f"{family}-{nodes}-{seed}"
    problem = FAMILIES[family](nodes, random.Random(name))
    return {"name": name, **problem, "cluster": {"name": name, **problem["cluster"]}}


def superpod(nodes: int, rng: random.Random) -> Document:
    """A fat tree of leaf groups in pods, of several generations; some leaf groups hold two, some nodes run hot."""
    groups = []
    left = nodes
    for leaf in range(-(-nodes // 32)):
        here = min(32, left)
        left -= here
        models = rng.sample(list(GENERATIONS), 2)
        first = here if rng.random() < 0.6 or here < 2 else rng.randint(1, here - 1)
        for model, size in zip(models, (first, here - first), strict=True):
            if size:
                group = _group(f"l{leaf}-{model[:4].lower()}", model, 8, GENERATIONS[model], count=size)
                group["position"] = [f"pod-{leaf // 8}", f"leaf-{leaf}"]
                _heat(group, 0.03, rng)
                groups.append(group)
    tiers = [("cluster", 100), ("pod", 200), ("leaf", 400)]
    return {"cluster": {"nodes": groups, "network": _tiers(tiers)}}


def rail(nodes: int, rng: random.Random) -> Document:
    """Rail-optimised: groups of nodes at full speed of the slower one's ports, half of it through the spine."""
    kinds = [("H100-SXM5-80GB", 8), ("H100-SXM5-80GB", 4), ("A100-SXM4-80GB", 8), ("A100-SXM4-80GB", 4)]
    groups, place = [], []
    for number, size in enumerate(_sizes(nodes, 4, 12, rng)):
        model, ports = rng.choice(kinds)
        groups.append(_group(f"g{number}", model, 8, GENERATIONS[model], count=size))
        place.append((number // 3, ports))
    rows = [[min(p, q) * 50 / (1 if a == b else 2) for b, q in place] for a, p in place]
    return {"cluster": {"nodes": groups, "network": {"between_groups_gb_per_s": rows}}}


def geo(nodes: int, rng: random.Random) -> Document:
    """Regions all over the world: bandwidth falls with distance, and is not quite the same both ways."""
    models = ["A100-SXM4-40GB", "A100-SXM4-80GB", "L40S", "V100-SXM2-32GB", "A10"]
    regions = [(rng.random(), rng.random()) for _ in range(max(2, round(nodes**0.5)))]
    groups, place = [], []
    for number, size in enumerate(_sizes(nodes, 1, 8, rng)):
        model = rng.choice(models)
        gpus = rng.choice([2, 4, 8])
        groups.append(_group(f"g{number}", model, gpus, rng.choice([25.0, 64.0]), count=size))
        place.append(rng.randrange(len(regions)))
    inside = [rng.choice([3.1, 6.2, 12.5]) for _ in regions]

    def speed(a: int, b: int) -> float:
        if a == b:
            return inside[a]
        distance = ((regions[a][0] - regions[b][0]) ** 2 + (regions[a][1] - regions[b][1]) ** 2) ** 0.5
        return round(rng.uniform(0.9, 1.1) * 2 / (1 + 8 * distance), 2)

    between = [[speed(a, b) for b in range(len(regions))] for a in range(len(regions))]
    rows = [[between[a][b] for b in place] for a in place]
    return {"cluster": {"nodes": groups, "network": {"between_groups_gb_per_s": rows}}}


def asymmetric(nodes: int, rng: random.Random) -> Document:
    """Arbitrary links that differ by direction; small sets of nodes happen to be close to each other."""
    close = [number for number, size in enumerate(_sizes(nodes, 1, 6, rng)) for _ in range(size)]
    rows = [
        [
            0 if i == j else rng.randint(45, 60) if close[i] == close[j] and rng.random() < 0.98 else rng.randint(1, 45)
            for j in range(nodes)
        ]
        for i in range(nodes)
    ]
    groups = [_measured(f"n{i}", 240 + 20 * rng.randint(0, 4), 80, 300) for i in range(nodes)]
    return {"cluster": {"nodes": groups, "network": {"matrix_gb_per_s": rows}}}


def noisy(nodes: int, rng: random.Random) -> Document:
    """Measurements of racks in two rows, a few per cent off; the slack keeps links that differ by noise alike."""
    rack = [number for number, size in enumerate(_sizes(nodes, 3, 8, rng)) for _ in range(size)]
    kind = [rng.choice([(250, 80), (250, 80), (700, 80)]) for _ in range(nodes)]

    def link(i: int, j: int) -> float:
        base = 40 if rack[i] == rack[j] else 12 if rack[i] % 2 == rack[j] % 2 else 5
        return round(base * rng.uniform(0.96, 1.04), 1)

    rows = [[0 if i == j else link(i, j) for j in range(nodes)] for i in range(nodes)]
    groups = [
        _measured(f"n{i}", round(kind[i][0] * rng.uniform(0.9, 1), 1), 80, round(300 * rng.uniform(0.97, 1), 1))
        for i in range(nodes)
    ]
    return {"cluster": {"nodes": groups, "network": {"matrix_gb_per_s": rows}}, "tolerances": {"network": 0.1}}


def equal(nodes: int, rng: random.Random) -> Document:
    """One switch: the network says nothing, what is left is to cover points by few boxes."""
    groups = [
        _measured(f"n{i}", *(round(base * rng.uniform(1, 2), 1) for base in (200.0, 40.0, 100.0))) for i in range(nodes)
    ]
    return {"cluster": {"nodes": groups, "network": _tiers([("switch", 25)])}}


def nvl72(nodes: int, rng: random.Random) -> Document:
    """NVLink domains of 72 GPUs in 18 nodes, some short of a node or running hot, beside racks of older nodes."""
    groups, left, domain = [], nodes, 0
    while left:
        old = rng.random() < 0.25
        here = min(left, 16 if old else rng.choice([18, 18, 18, 17]))
        group = (
            _group(f"d{domain}", "H100-SXM5-80GB", 8, 450, count=here)
            if old
            else _group(f"d{domain}", "GB200", 4, 900, count=here)
        )
        group["position"] = [f"hall-{domain // 8}", f"domain-{domain}"]
        if old:
            group["position"][1] = f"rack-{domain}"
        if rng.random() < 0.3:
            group["gpu_overrides"] = {"derate": rng.choice([0.95, 0.9, 0.8])}
        _heat(group, 0.02, rng)
        groups.append(group)
        left, domain = left - here, domain + 1
    return {"cluster": {"nodes": groups, "network": _tiers([("cluster", 50), ("hall", 100), ("domain", 400)])}}


def greedy(nodes: int, rng: random.Random) -> Document:
    """Fours of nodes whose middle two are most alike: joining them leaves the outer two alone, 3 islands for 2.

    On a logarithmic scale with the tolerance as unit their compute is 0, 0.95, 1.05 and 2, each up to 0.02 further in.
    """
    groups = []
    for number in range(nodes // 4):
        memory, intra = 10 * 2.0 ** (number % 8), 10 * 2.0 ** (number // 8)
        places = (rng.uniform(0, 0.02), 0.95, 1.05, 2 - rng.uniform(0, 0.02))
        for member, place in enumerate(places):
            groups.append(_measured(f"n{number}-{member}", round(100 * 1.2**place, 2), memory, intra))
    rng.shuffle(groups)
    return {"cluster": {"nodes": groups, "network": _tiers([("switch", 25)])}}


def chain(nodes: int, rng: random.Random) -> Document:
    """A grid of nodes in compute and memory, neighbours within the tolerance and no others: all are chained as one."""
    columns = max(2, round(nodes**0.5))
    groups = [
        _measured(f"n{i}", round(20 * 1.12 ** (i % columns), 2), round(10 * 1.12 ** (i // columns), 2), 50)
        for i in range(nodes)
    ]
    rng.shuffle(groups)
    return {"cluster": {"nodes": groups, "network": _tiers([("switch", 25)])}}


def mixed(nodes: int, rng: random.Random) -> Document:
    """Machines of two models beside plain nodes of 1 to 16 GPUs, bridged pairs among them; machines are counted."""
    pairs = [("RTX 3090", "RTX 4090"), ("A100-80GB-PCIe", "L40S"), ("A10", "L4")]
    groups: list[Document] = []
    for number, count in enumerate(_sizes(nodes, 1, 4, rng)):
        gpus = rng.choice([1, 2, 4, 6, 8, 16])
        group = _group(f"g{number}", "A100-80GB-PCIe", gpus, 31.5, count=count)
        if gpus > 1 and rng.random() < 0.6:
            first, second = rng.choice(pairs)
            own = rng.randint(1, gpus - 1)
            group["gpu"] = [first] * own + [second] * (gpus - own)
        elif gpus == 4:
            group["intra_node_gb_per_s"] = [[0, 225, 30, 30], [225, 0, 30, 30], [30, 30, 0, 225], [30, 30, 225, 0]]
        group["position"] = [f"row-{number % 2}"]
        _heat(group, 0.2, rng)
        groups.append(group)
    return {"cluster": {"nodes": groups, "network": _tiers([("room", 3), ("row", 12.5)])}}


def broken(nodes: int, rng: random.Random) -> Document:
    """Sites with links that are missing, in one direction or both."""
    site = [rng.randrange(3) for _ in range(nodes)]
    rows = [
        [0 if i == j or rng.random() < 0.08 else 20 if site[i] == site[j] else 5 for j in range(nodes)]
        for i in range(nodes)
    ]
    groups = [_measured(f"n{i}", 250 + 10 * rng.randint(0, 6), 80, 300) for i in range(nodes)]
    return {"cluster": {"nodes": groups, "network": {"matrix_gb_per_s": rows}}, "tolerances": {"network": 3.0}}


FAMILIES: dict[str, Callable[[int, random.Random], Document]] = {
    each.__name__: each for each in (superpod, rail, geo, asymmetric, noisy, equal, nvl72, greedy, chain, mixed, broken)
}


def _group(name: str, gpu: str, gpus: int, intra_gb_per_s: float, *, count: int = 1) -> Document:
    group: Document = {"name": name, "count": count, "gpu": gpu, "gpus_per_node": gpus}
    return group | ({"intra_node_gb_per_s": intra_gb_per_s} if gpus > 1 else {})


def _measured(name: str, tflops: float, memory_gb: float, intra_gb_per_s: float) -> Document:
    """A node of its own figures, under the name of a model that is faster than all of them."""
    figures = {"matmul_tflops": tflops, "memory_gb": memory_gb}
    return _group(name, "B200-SXM-180GB", 8, intra_gb_per_s) | {"gpu_overrides": figures}


def _heat(group: Document, share: float, rng: random.Random) -> None:
    """Let some nodes of a group run 5 to 10 % slow."""
    count = group["count"]
    width = len(str(count))
    names = [group["name"]] if count == 1 else [f"{group['name']}-{n:0{width}d}" for n in range(1, count + 1)]
    hot = {name: {"derate": round(rng.uniform(0.9, 0.95), 3)} for name in names if rng.random() < share}
    if hot:
        group["node_overrides"] = hot


def _sizes(total: int, least: int, most: int, rng: random.Random) -> list[int]:
    sizes = []
    while total:
        sizes.append(min(rng.randint(least, most), total))
        total -= sizes[-1]
    return sizes


def _tiers(tiers: Sequence[tuple[str, float]]) -> Document:
    return {"tiers": [{"name": name, "gb_per_s": speed} for name, speed in tiers]}
