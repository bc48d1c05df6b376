"""The picture of a plan: written where and as asked, with every stage, its memory and its passes."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tangram_opt.data.plan import Plan, PlannedStage
from tangram_opt.errors import InputError
from tangram_opt.show import draw_plan
from tangram_opt.show.figure import plan_figure
from tangram_opt.show.timeline import Timeline, windows

MS = 10**6

Maker = Callable[..., Plan]


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_svg_names_every_stage_with_its_contents(mixed_plan: Maker, tmp_path: Path) -> None:
    draw_plan(mixed_plan(128), tmp_path / "plan.svg")
    said = texts(tmp_path / "plan.svg")
    for label in (
        "stage 0: embedding + layers 0-4",
        "stage 1: layers 5-9",
        "stage 2: layers 10-21",
        "stage 3: layers 22-33",
        "stage 4: layers 34-66 + head",
        "v100",
        "a100",
        "h100",
        "Llama-3-70B on west: 9.266 s per iteration",
    ):
        assert label in said


def test_svg_of_a_deep_pipeline_labels_all_64_stages(uniform_plan: Maker, tmp_path: Path) -> None:
    draw_plan(uniform_plan(64, 128), tmp_path / "plan.SVG")
    said = texts(tmp_path / "plan.SVG")
    assert {f"stage {s}" for s in range(64)} <= set(said)
    assert {str(in_flight) for in_flight in range(1, 65)} <= set(said)


def test_png_is_a_png_and_the_same_plan_gives_the_same_svg(mixed_plan: Maker, tmp_path: Path) -> None:
    draw_plan(mixed_plan(4), tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    for name in ("one.svg", "two.svg"):
        draw_plan(mixed_plan(4), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_dollars_and_brackets_in_names_are_drawn_as_they_are(mixed_plan: Maker, tmp_path: Path) -> None:
    draw_plan(mixed_plan(4, model="a$x^2$b", cluster="<c>&"), tmp_path / "plan.svg")
    assert any(text.startswith("a$x^2$b on <c>&:") for text in texts(tmp_path / "plan.svg"))


def test_short_iterations_are_drawn_whole_and_long_ones_at_both_ends(uniform_plan: Maker) -> None:
    short, long = uniform_plan(2, 4), uniform_plan(16, 1024)
    assert windows(Timeline.of(short)) == [(0, short.simulated_ns)]
    (start, head), (tail, end) = windows(Timeline.of(long))
    assert (start, end) == (0, long.simulated_ns)
    assert head < tail
    # The end shows as much of the passes as the beginning, and the synchronisation.
    assert head == end - tail - long.stages[0].sync_ns


def test_a_long_synchronisation_does_not_break_a_short_timeline(
    plan: Maker, stage: Callable[..., PlannedStage]
) -> None:
    slow = plan([stage(sync_ns=10**11)] * 2, 4)
    assert windows(Timeline.of(slow)) == [(0, slow.simulated_ns)]


@pytest.mark.parametrize(("stages", "micro_batches", "panels"), [(1, 1, 1), (1, 1024, 2), (5, 4, 1), (48, 128, 2)])
def test_bars_of_the_memory_panel_are_the_memory_of_the_plan(
    uniform_plan: Maker, stages: int, micro_batches: int, panels: int
) -> None:
    plan = uniform_plan(stages, micro_batches)
    *timelines, memory = plan_figure(plan).axes
    assert len(timelines) == panels
    tops = [bar.get_y() + bar.get_height() for bar in memory.patches[stages:]]
    assert tops == pytest.approx([stage.memory_bytes / 2**30 for stage in plan.stages])
    assert [note.get_text() for note in memory.texts] == [str(stage.in_flight) for stage in plan.stages]


def test_a_whole_timeline_holds_every_pass_and_every_synchronisation(mixed_plan: Maker) -> None:
    plan = mixed_plan(4)
    timeline = plan_figure(plan).axes[0]
    blocks = [path.get_extents() for rows in timeline.collections for path in rows.get_paths()]
    syncs = sum(stage.sync_ns > 0 for stage in plan.stages)
    assert len(blocks) == 2 * len(plan.stages) * plan.micro_batches + syncs
    assert max(block.x1 for block in blocks) * MS == pytest.approx(plan.simulated_ns)


def test_more_islands_than_colours_are_coloured_by_gpu_model(
    plan: Maker, stage: Callable[..., PlannedStage], tmp_path: Path
) -> None:
    many = plan([stage(island=f"isle-{i}", gpu=("A100", "H100")[i % 2]) for i in range(9)], 8)
    draw_plan(many, tmp_path / "plan.svg")
    said = texts(tmp_path / "plan.svg")
    assert "A100" in said
    assert "H100" in said
    assert "isle-0" not in said


def test_no_time_no_activations_and_no_synchronisation_can_be_drawn(
    plan: Maker, stage: Callable[..., PlannedStage], tmp_path: Path
) -> None:
    idle = stage(layers=0, forward_ns=0, backward_ns=0, in_flight_bytes=0, sync_ns=0)
    draw_plan(plan([idle, stage(sync_ns=0)], 3), tmp_path / "plan.svg")
    assert "stage 0: embedding" in texts(tmp_path / "plan.svg")


@pytest.mark.parametrize("name", ["plan.pdf", "plan", "plan.png.txt"])
def test_other_suffixes_are_refused(mixed_plan: Maker, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"expected \.png or \.svg"):
        draw_plan(mixed_plan(4), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_folder_that_does_not_exist_is_named(mixed_plan: Maker, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "plan.svg"
    with pytest.raises(InputError, match=r"nowhere.*No such file"):
        draw_plan(mixed_plan(4), path)


def test_without_matplotlib_the_extra_is_named(
    mixed_plan: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'tangram-opt\[plot\]'"):
        draw_plan(mixed_plan(4), tmp_path / "plan.svg")
