"""Plans, compositions and islands for people: tables in a terminal, and pictures."""

from tangram_opt.show.composition import print_composition
from tangram_opt.show.machines import machine_notes
from tangram_opt.show.names import compress_names
from tangram_opt.show.partition import print_partition
from tangram_opt.show.picture import draw_cluster, draw_plan
from tangram_opt.show.plan import print_plan

__all__ = [
    "compress_names",
    "draw_cluster",
    "draw_plan",
    "machine_notes",
    "print_composition",
    "print_partition",
    "print_plan",
]
