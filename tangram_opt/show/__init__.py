"""Plans and compositions for people: tables in a terminal, pictures of the pipeline, traces."""

from tangram_opt.show.composition import print_composition
from tangram_opt.show.names import compress_names
from tangram_opt.show.picture import draw_plan, draw_simulation
from tangram_opt.show.plan import print_plan
from tangram_opt.show.schedules import print_schedules
from tangram_opt.show.simulation import print_simulation
from tangram_opt.show.trace import write_trace

__all__ = [
    "compress_names",
    "draw_plan",
    "draw_simulation",
    "print_composition",
    "print_plan",
    "print_schedules",
    "print_simulation",
    "write_trace",
]
