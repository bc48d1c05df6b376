"""GPU islands (paper section 4.1): their conditions, the greedy reference, and what planning sees of them."""

from tangram_opt.islands.agglomerative import AgglomerativeBackend, agglomerate, likeness_bound
from tangram_opt.islands.conditions import check
from tangram_opt.islands.groups import IslandGroup, build_islands, links

__all__ = [
    "AgglomerativeBackend",
    "IslandGroup",
    "agglomerate",
    "build_islands",
    "check",
    "likeness_bound",
    "links",
]
