"""Composition problems of a real size, seeded."""

from random import Random

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage

LAYER_NS = 20_000_000
PARAMETER_BYTES_PER_LAYER = 6_000_000_000
ACTIVATION_BYTES_PER_LAYER = 1_000_000_000


def generated_problem(layers, classes, islands_per_class, plans_per_pair, *, micro_batches=64, seed=0):
    """Classes of unlike speed, memory and links; slices within a factor of two of an island's fair share."""
    random = Random(seed)
    names = [f"class{k}" for k in range(classes)]
    speed = {name: random.uniform(0.5, 3) for name in names}
    gpus = {name: random.choice([2, 4, 8]) for name in names}
    total = sum(speed[name] * gpus[name] * islands_per_class for name in names)
    ports = tuple(f"{name}/{nodes}" for name in names for nodes in (1, 2))
    options = []
    for name in names:
        share = speed[name] * gpus[name] / total * layers
        for length in range(max(1, round(share / 2)), min(layers, round(2 * share)) + 1):
            for embedding, head in ((0, 0), (0, 1), (1, 0), (1, 1)):
                atoms = (
                    *((SignatureRun("embedding", 1),) if embedding else ()),
                    SignatureRun("layer", length),
                    *((SignatureRun("head", 1),) if head else ()),
                )
                for _ in range(plans_per_pair):
                    depth = random.choice([s for s in (1, 2, 4) if s <= min(gpus[name], length)])
                    width = gpus[name] // depth
                    recompute = random.choice([False, True])
                    rate = speed[name] * width * random.uniform(0.6, 0.95) / (4 / 3 if recompute else 1)
                    stages = []
                    for i in range(depth):
                        held = length // depth + (i < length % depth)
                        extra = (embedding if i == 0 else 0, head if i == depth - 1 else 0)
                        time = round(LAYER_NS * (held + 0.1 * extra[0] + 0.8 * extra[1]) / rate)
                        kept = ACTIVATION_BYTES_PER_LAYER // (8 if recompute else 1)
                        stages.append(
                            Stage(
                                atoms=held + sum(extra),
                                forward_ns=time // 3,
                                backward_ns=time - time // 3,
                                static_bytes=PARAMETER_BYTES_PER_LAYER * (held + sum(extra)) // width,
                                in_flight_bytes=kept * held // width,
                                sync_ns=round(3e6 * held * random.uniform(0.9, 1.1)),
                            )
                        )
                    entry, exit_ = (f"{name}/{random.choice([1, 2])}" for _ in range(2))
                    inner = tuple(random.randint(100_000, 300_000) for _ in range(depth - 1))
                    options.append(Option(name, atoms, tuple(stages), inner, None, entry, exit_))
    memory = {name: random.choice([16, 32, 40, 80]) * 10**9 for name in names}
    return CompositionProblem(
        name=f"generated-{layers}-{classes}x{islands_per_class}-{seed}",
        micro_batches=micro_batches,
        atoms=(SignatureRun("embedding", 1), SignatureRun("layer", layers), SignatureRun("head", 1)),
        islands=tuple(IslandClass(name, islands_per_class, memory[name]) for name in names),
        options=tuple(options),
        ports=ports,
        transfer_ns=tuple(tuple(random.choice([500_000, 1_000_000, 4_000_000]) for _ in ports) for _ in ports),
    )
