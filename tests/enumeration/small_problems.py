"""Planning problems small enough to be searched in a moment."""

from __future__ import annotations

from dataclasses import replace

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.model import Atom, AtomRun, Model
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import TrainingRecipe, Workload
from tangram_opt.islands import IslandGroup, agglomerate, build_islands

HIDDEN = 512
VOCABULARY = 8_000
RECIPE = TrainingRecipe("mixed-adam", weight_bytes=2, gradient_bytes=2, optimizer_bytes=12, reserved_bytes=10**8)
NO_PRUNING = Pruning(redundancy=False, imbalance_window=None, infeasibility=False)

LAYER = Atom(
    kind="layer",
    signature="layer",
    hidden_size=HIDDEN,
    parameters=12 * HIDDEN**2,
    tied_parameters=0,
    expert_parameters=0,
    experts=0,
    experts_per_token=0,
    linear_flops_per_token=24 * HIDDEN**2,
    expert_flops_per_token=0,
    attention_flops_per_pair=4 * HIDDEN,
    attention_window=None,
    attention_heads=8,
    key_value_heads=8,
    key_value_bytes_per_token=4 * HIDDEN,
    activation_bytes_per_token=34 * HIDDEN,
    attention_activation_bytes_per_pair=40,
    input_bytes_per_token=2 * HIDDEN,
    tensor_parallel_all_reduces=2,
)
_WITHOUT_ATTENTION = replace(
    LAYER,
    parameters=VOCABULARY * HIDDEN,
    attention_flops_per_pair=0,
    attention_heads=0,
    key_value_heads=0,
    key_value_bytes_per_token=0,
    attention_activation_bytes_per_pair=0,
    activation_bytes_per_token=2 * HIDDEN,
    tensor_parallel_all_reduces=1,
)
EMBEDDING = replace(_WITHOUT_ATTENTION, kind="embedding", signature="embedding", linear_flops_per_token=0)
HEAD = replace(_WITHOUT_ATTENTION, kind="head", signature="head", linear_flops_per_token=2 * VOCABULARY * HIDDEN)

FAST = Gpu("Fast", 3 * 10**13, 2 * 10**13, 10**9, 10**12, 2 * 10**10)
SLOW = Gpu("Slow", 15 * 10**12, 10**13, 6 * 10**8, 5 * 10**11, 2 * 10**10)
LINK = 10**11


def small_model(layers: int = 4) -> Model:
    """An embedding, some layers and a head: 50 MB of training state for a layer, 66 MB for each end."""
    return Model("small", "example", (AtomRun(EMBEDDING, 1), AtomRun(LAYER, layers), AtomRun(HEAD, 1)))


def node(name: str, gpu: Gpu, gpus: int = 2) -> Node:
    """A node whose GPUs are all equally near one another."""
    return Node(name, gpu, gpus, tuple(tuple(LINK * (i != j) for j in range(gpus)) for i in range(gpus)), 10**11)


def cluster(*nodes: Node, links: dict[tuple[int, int], int] | None = None, link: int = 10**9) -> Cluster:
    """Nodes that are joined by `link` bytes/s, but for those in `links`."""
    size = range(len(nodes))
    rows = [[(links or {}).get((a, b), link) * (a != b) for b in size] for a in size]
    return Cluster("box", nodes, MatrixNetwork(tuple(map(tuple, rows))))


def two_islands() -> Cluster:
    """One fast and one slow island of two GPUs."""
    return cluster(node("fast", FAST), node("slow", SLOW))


def twin_islands() -> Cluster:
    """Two equal fast islands, nearer to the slow one than to one another, and the slow one."""
    near, far = 2 * 10**9, 10**9
    links = {(0, 1): far, (1, 0): far}
    return cluster(node("fast-1", FAST), node("fast-2", FAST), node("slow", SLOW), links=links, link=near)


def planning_problem(**changes: object) -> PlanningProblem:
    """Four layers on two islands, micro-batches of one, two or four, all pairs within reach."""
    base = PlanningProblem(
        name="small",
        cluster=two_islands(),
        model=small_model(),
        global_batch=4,
        sequence_length=128,
        micro_batch=None,
        recipe=RECIPE,
        pruning=Pruning(imbalance_window=None),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def groups_of(problem: PlanningProblem) -> tuple[IslandGroup, ...]:
    """The islands that a search would build."""
    return build_islands(problem.cluster, agglomerate(IslandsProblem("islands", problem.cluster, problem.tolerances)))


def workload_of(problem: PlanningProblem, micro_batch: int = 1) -> Workload:
    """One of the workloads that a search would try."""
    return Workload(problem.global_batch, problem.sequence_length, micro_batch, problem.recipe)
