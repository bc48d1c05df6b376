"""Plans, compositions and islands for people: tables in a terminal, pictures, traces."""

from tangram_opt.show.composition import print_composition
from tangram_opt.show.explanation import print_explanation
from tangram_opt.show.machines import island_notes, machine_notes
from tangram_opt.show.names import compress_names
from tangram_opt.show.objectives import times_ns
from tangram_opt.show.partition import print_partition
from tangram_opt.show.picture import check_picture, draw_cluster, draw_plan, draw_sensitivity, draw_simulation
from tangram_opt.show.plan import print_plan
from tangram_opt.show.schedules import print_schedules
from tangram_opt.show.sensitivity import print_sensitivity
from tangram_opt.show.simulation import print_simulation
from tangram_opt.show.trace import write_trace

__all__ = [
    "check_picture",
    "compress_names",
    "draw_cluster",
    "draw_plan",
    "draw_sensitivity",
    "draw_simulation",
    "island_notes",
    "machine_notes",
    "print_composition",
    "print_explanation",
    "print_partition",
    "print_plan",
    "print_schedules",
    "print_sensitivity",
    "print_simulation",
    "times_ns",
    "write_trace",
]
