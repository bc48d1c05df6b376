"""Random small composition problems."""

from hypothesis import strategies as st

from tangram_opt.data.composition import CompositionProblem, IslandClass, Option, SignatureRun, Stage


def runs(signatures: tuple[str, ...]) -> tuple[SignatureRun, ...]:
    """Merge equal neighbours."""
    merged: list[SignatureRun] = []
    for signature in signatures:
        if merged and merged[-1].signature == signature:
            merged[-1] = SignatureRun(signature, merged[-1].count + 1)
        else:
            merged.append(SignatureRun(signature, 1))
    return tuple(merged)


@st.composite
def models(draw: st.DrawFn, kinds: tuple[str, ...] = ("uniform", "framed", "irregular")) -> tuple[str, ...]:
    """Uniform atoms, an embedding and a head around them, or any mixture."""
    kind = draw(st.sampled_from(kinds))
    if kind == "uniform":
        return ("layer",) * draw(st.integers(1, 7))
    if kind == "framed":
        return ("embedding", *("layer",) * draw(st.integers(1, 5)), "head")
    return tuple(draw(st.lists(st.sampled_from(["dense", "moe"]), min_size=1, max_size=6)))


@st.composite
def stages(draw: st.DrawFn, length: int, least_ns: int) -> tuple[Stage, ...]:
    """One to three stages that hold `length` atoms together."""
    cuts = sorted(draw(st.sets(st.integers(1, length - 1), max_size=2))) if length > 1 else []
    small = st.integers(0, 12)
    return tuple(
        Stage(
            end - begin,
            draw(st.integers(least_ns, 12)),
            draw(small),
            draw(small),
            draw(st.integers(0, 5)),
            draw(small),
        )
        for begin, end in zip([0, *cuts], [*cuts, length], strict=True)
    )


@st.composite
def problems(
    draw: st.DrawFn, *, order_free: bool = False, objective: str = "closed", depths: str = "standard"
) -> CompositionProblem:
    """Problems small enough for brute force, with every feature: some of them have no solution."""
    atoms = draw(models(("uniform",)) if order_free else models())
    islands = tuple(
        IslandClass(name, draw(st.integers(1, 3)), draw(st.integers(12, 45)))
        for name in ("a", "b", "c")[: draw(st.integers(1, 3))]
    )
    names = [island.name for island in islands]
    ports = ("p", "q", "r")[: draw(st.integers(1, 3))]
    options = []
    for _ in range(draw(st.integers(1, 10))):
        first = draw(st.integers(0, len(atoms) - 1))
        last = draw(st.integers(first + 1, len(atoms)))
        held = draw(stages(last - first, least_ns=int(depths == "chosen")))
        options.append(
            Option(
                island=draw(st.sampled_from(names)),
                atoms=runs(atoms[first:last]),
                stages=held,
                inner_transfers_ns=tuple(draw(st.integers(0, 6)) for _ in held[1:]),
                max_stages_after=draw(st.none() | st.integers(0, 5)),
                entry_port=draw(st.sampled_from(ports)),
                exit_port=draw(st.sampled_from(ports)),
            )
        )
    uniform_link = draw(st.integers(0, 6) if order_free else st.none() | st.integers(0, 6))
    return CompositionProblem(
        name="random",
        micro_batches=draw(st.integers(1, 9)),
        atoms=runs(atoms),
        islands=islands,
        options=tuple(options),
        ports=ports,
        transfer_ns=tuple(
            tuple(draw(st.integers(0, 9)) if uniform_link is None else uniform_link for _ in ports) for _ in ports
        ),
        required=tuple(draw(st.sets(st.sampled_from(names), max_size=1))),
        objective=objective,
        depths=depths,
    )
