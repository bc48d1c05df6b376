"""What a composition says in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tangram_opt.composition import evaluate
from tangram_opt.data.composition import (
    Composition,
    CompositionProblem,
    IslandClass,
    Option,
    Pick,
    SignatureRun,
    Stage,
)
from tangram_opt.errors import InputError
from tangram_opt.show import print_composition

MS = 10**6


def problem() -> CompositionProblem:
    def option(island: str, stages: tuple[Stage, ...], inner: tuple[int, ...], after: int | None) -> Option:
        atoms = (SignatureRun("layer", sum(stage.atoms for stage in stages)),)
        return Option(island, atoms, stages, inner, after, "p", "p", {"tp": 4, "dp": 1})

    return CompositionProblem(
        name="small",
        micro_batches=8,
        atoms=(SignatureRun("layer", 6),),
        islands=(IslandClass("a[1]", 1, 100), IslandClass("b", 1, 100)),
        options=(
            option("b", (Stage(1, 9 * MS, 9 * MS, 1, 1),), (), None),
            option("a[1]", (Stage(2, 2 * MS, 4 * MS, 1, 1), Stage(2, 3 * MS, 4 * MS, 1, 1)), (MS // 2,), 3),
            option("b", (Stage(2, 2 * MS, 3 * MS, 1, 1, sync_ns=MS),), (), None),
        ),
        ports=("p",),
        transfer_ns=((MS // 4,),),
    )


def shown(composition: Composition, width: int = 120, **changes: Any) -> list[str]:
    stream = io.StringIO()
    print_composition(replace(problem(), **changes), composition, Console(file=stream, width=width))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_picks_stand_in_their_places_with_times_and_objective(width: int) -> None:
    composition = Composition("small", (Pick(1, 0), Pick(2, 4)))
    lines = shown(composition, width)
    front, back = (line.split() for line in lines[-3:-1])
    assert front == ["1", "a[1]", "0-3", "0-1", "7.000", "14.00", "0.250", "1", "(3)", "tp4"]
    assert back == ["2", "b", "4-5", "2", "5.000", "5.000", "0", "(any)", "tp4"]
    objective = evaluate(problem(), composition).objective_ns
    assert objective == 7 * 7 * MS + 18 * MS + 2 * (MS // 2 + MS // 4) + MS
    assert "iteration time: 69.50 ms by the closed form, for 8 micro-batches in 3 stages" in lines[-1]


def test_chosen_depths_are_said() -> None:
    composition = Composition("small", (Pick(1, 0), Pick(2, 4)))
    lines = shown(composition, objective="period", depths="chosen", transfer_ns=((2 * MS,),))
    # The slow boundary takes one more micro-batch of 7 ms, in both stages in front of it.
    assert lines[-1] == "in flight, front to back: 4, 3, 1"
    assert "in flight" not in shown(composition, objective="period")[-1]


def test_a_pick_of_no_option_is_refused() -> None:
    with pytest.raises(InputError):
        shown(Composition("small", (Pick(9, 0),)))
