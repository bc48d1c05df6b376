"""What is said and drawn of an iteration."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tangram_opt.data.plan import Plan
from tangram_opt.pipeline import analyse, of_stages
from tangram_opt.show import draw_simulation, print_simulation
from tangram_opt.show.simulation_figure import simulation_figure

Maker = Callable[..., Plan]


def shown(plan: Plan) -> str:
    out = io.StringIO()
    print_simulation(plan, analyse(of_stages(plan.stages, plan.micro_batches)), Console(file=out, width=120))
    return " ".join(out.getvalue().split())


def test_equal_stages_with_transfers_are_explained(uniform_plan: Maker) -> None:
    plan = uniform_plan(4, 32)
    text = shown(plan)
    assert "1F1B of 32 micro-batches through 4 stages" in text
    # (31 + 4) * 63 ms + 6 * 0.5 ms + 120 ms, and a round trip of 4 * 63 + 6 * 0.5 ms for 4 micro-batches.
    assert "closed form 2.328 s" in text
    assert "63.75 ms per micro-batch, set by the round trip through stages 0-3: 255.0 ms for 4 micro-batches" in text
    assert "imbalance 0.0 %, fill and drain 8.0 %" in text


def test_a_single_stage_is_never_idle_but_for_its_synchronisation(uniform_plan: Maker) -> None:
    text = shown(uniform_plan(1, 8))
    assert "1F1B of 8 micro-batches through 1 stage" in text
    assert "set by stage 0 alone" in text
    assert "imbalance 0.0 %, fill and drain 0.0 %, transfers 0.0 %, sync 19.2 %" in text


def test_deep_pipelines_name_the_stages_that_count(uniform_plan: Maker) -> None:
    assert "on 61 other stages" in shown(uniform_plan(64, 64))


@pytest.mark.parametrize("micro_batches", [1, 4, 128])
def test_bars_of_every_stage_fill_the_iteration(mixed_plan: Maker, micro_batches: int) -> None:
    plan = mixed_plan(micro_batches)
    bars = simulation_figure(plan, analyse(of_stages(plan.stages, micro_batches))).axes[-1].patches
    stages = len(plan.stages)
    assert len(bars) == 6 * stages
    assert [bar.get_y() + bar.get_height() for bar in bars[-stages:]] == pytest.approx([100.0] * stages)


def test_the_picture_says_how_much_is_idle(uniform_plan: Maker, tmp_path: Path) -> None:
    plan = uniform_plan(2, 4)
    plan = replace(plan, stages=tuple(replace(stage, sync_ns=0, transfer_ns=0) for stage in plan.stages))
    draw_simulation(plan, analyse(of_stages(plan.stages, 4)), tmp_path / "plan.svg")
    assert "315.0 ms per iteration, stages idle 20.0 % of it" in (tmp_path / "plan.svg").read_text()
