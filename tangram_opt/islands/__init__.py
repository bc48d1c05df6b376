"""GPU islands (paper section 4.1): their conditions and objectives, their structure, and the greedy reference."""

from tangram_opt.islands.agglomerative import AgglomerativeBackend, agglomerate, likeness_bound
from tangram_opt.islands.boundaries import Boundary, boundaries
from tangram_opt.islands.breakpoints import TOLERANCES, Tolerance, breakpoints
from tangram_opt.islands.components import ComponentsBackend, similarity_components
from tangram_opt.islands.conditions import check
from tangram_opt.islands.evaluation import PartitionValue, evaluate, slowest_link
from tangram_opt.islands.explanation import Apart, Explanation, Step, explain
from tangram_opt.islands.groups import IslandGroup, build_islands, links
from tangram_opt.islands.sensitivity import Interval, sensitivity
from tangram_opt.islands.siblings import KeptApart, kept_apart
from tangram_opt.islands.splitting import Split, split

__all__ = [
    "TOLERANCES",
    "AgglomerativeBackend",
    "Apart",
    "Boundary",
    "ComponentsBackend",
    "Explanation",
    "Interval",
    "IslandGroup",
    "KeptApart",
    "PartitionValue",
    "Split",
    "Step",
    "Tolerance",
    "agglomerate",
    "boundaries",
    "breakpoints",
    "build_islands",
    "check",
    "evaluate",
    "explain",
    "kept_apart",
    "likeness_bound",
    "links",
    "sensitivity",
    "similarity_components",
    "slowest_link",
    "split",
]
