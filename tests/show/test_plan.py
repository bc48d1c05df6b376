"""What a plan says in a terminal is what the plan holds, at every width."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from tangram_opt.data.plan import GpuRange, Plan, PlannedStage
from tangram_opt.show import print_plan
from tangram_opt.show.stages import group_stages, held, strategy_text, where

MS, GIB = 10**6, 2**30

Maker = Callable[..., Plan]


def shown(plan: Plan, width: int = 160) -> str:
    stream = io.StringIO()
    print_plan(plan, Console(file=stream, width=width))
    return stream.getvalue()


def words(text: str) -> str:
    """The text with every wrap and gap as one blank."""
    return " ".join(text.split())


def table_rows(text: str, head: str) -> list[str]:
    """Lines of the table under a head, which stay unbroken in a wide console."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("stage") and head in line)
    rows = []
    for line in lines[start + 2 :]:
        if not re.match(r"\s*\d+(-\d+)?\s", line):
            break
        rows.append(line)
    return rows


def layers_of(row: str) -> list[int]:
    match = re.search(r"layers? (\d+)(?:-(\d+))?", row)
    if not match:
        return []
    return list(range(int(match[1]), int(match[2] or match[1]) + 1))


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("case", ["mixed", "deep"])
def test_every_figure_is_there_at_every_width(mixed_plan: Maker, uniform_plan: Maker, width: int, case: str) -> None:
    plan = mixed_plan(128) if case == "mixed" else uniform_plan(64, 1024)
    text = shown(plan, width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    said = words(text)
    for figure in (
        f"{plan.global_batch:,} sequences of 4,096 tokens",
        f"{plan.micro_batches:,} micro-batches of 2",
        f"{plan.tokens_per_s:,.0f} tokens/s",
        f"{100 * plan.model_flops_utilisation:.1f} %",
        f"{100 * plan.bubble_share:.1f} %",
        "proven optimal",
        "12,345 slice/island pairs",
        "9,000 by redundancy, 2,100 by imbalance, 12 by infeasibility",
        "234 to uniform, which gave 4,567 options",
        "of 1, 2, 4 sequences tried",
        "3.21 s for queries, 0.04 s for compositions by dp 0.1",
        "a T4 stage would be the bottleneck",
        "+1.235 s",
        "no plan",
        "idle: 4 GPUs",
    ):
        assert figure in said
    for stage in (plan.stages[0], plan.stages[-1]):
        static, each, total, limit = (
            size / GIB
            for size in (stage.static_bytes, stage.in_flight_bytes, stage.memory_bytes, stage.memory_limit_bytes)
        )
        memory = f"{static:.1f} + {stage.in_flight} x {each:.3f} = {total:.1f} / {limit:.1f}"
        assert memory in text  # in one line: numbers are not wrapped
        assert f"{100 * stage.memory_bytes / stage.memory_limit_bytes:.1f}" in text


@pytest.mark.parametrize("case", ["mixed", "deep", "one"])
def test_layer_ranges_of_the_table_are_the_model_front_to_back(
    mixed_plan: Maker, uniform_plan: Maker, case: str
) -> None:
    plan = {"mixed": mixed_plan(128), "deep": uniform_plan(64, 1024), "one": uniform_plan(1, 4)}[case]
    rows = table_rows(shown(plan), "holds")
    assert [layer for row in rows for layer in layers_of(row)] == list(range(plan.layers))
    assert "embedding" in rows[0]
    assert "head" in rows[-1]


def test_layer_sum_is_said_and_a_wrong_one_is_called_wrong(mixed_plan: Maker) -> None:
    plan = mixed_plan(128)
    assert "layers: 5 + 5 + 12 + 12 + 33 = 67, all layers of the model" in shown(plan)
    assert "= 67, NOT the 68 layers of the model" in shown(replace(plan, layers=68))


def test_deep_plans_say_equal_neighbours_once(uniform_plan: Maker) -> None:
    text = shown(uniform_plan(64, 1024))
    middle = table_rows(text, "holds")[1]
    assert middle.split()[:5] == ["1-62", "62", "x", "7", "layers"]
    assert "62 x 8 A100-SXM4-80GB" in middle
    assert "n[002-063]:0-7" in middle
    assert "layers: 7 + 62 x 7 + 7 = 448, all layers of the model" in text
    # The first of the group holds the most micro-batches: its memory is the one to know.
    assert "21.0 + 63 x 0.750 = 68.2 / 76.0" in text


def test_groups_join_neighbours_only_and_lose_none(
    plan: Maker, stage: Callable[..., PlannedStage], uniform_plan: Maker
) -> None:
    odd = stage(layers=3, forward_ns=9 * MS)
    deep = plan([*[stage()] * 6, odd, *[stage(island=f"i{i}", transfer_ns=i * MS) for i in range(8)]], 32)
    groups = group_stages(deep.stages)
    assert [group.label for group in groups] == ["0", "1-5", "6", "7-13", "14"]
    assert [member for group in groups for member in group.stages] == list(deep.stages)
    assert groups[3].islands == "i[0-6]"
    assert "0-6.000" in shown(deep)
    assert all(len(group.stages) == 1 for group in group_stages(uniform_plan(12, 4).stages))


def test_embedding_alone_without_activations(plan: Maker, stage: Callable[..., PlannedStage]) -> None:
    alone = stage(layers=0, in_flight_bytes=0, strategy={})
    text = shown(plan([alone, stage()], 8))
    row = table_rows(text, "holds")[0]
    assert row.split()[:3] == ["0", "0", "embedding"]
    assert row.split()[-1] == "-"
    assert "21.0 + 2 x 0 = 21.0 / 76.0" in text
    assert "layers: 0 + 7 = 7, all layers" in text


def test_huge_numbers_are_whole_even_where_they_do_not_fit(plan: Maker, stage: Callable[..., PlannedStage]) -> None:
    huge = stage(forward_ns=10**15, backward_ns=2 * 10**15, static_bytes=2**62, in_flight_bytes=2**55, sync_ns=10**14)
    text = shown(plan([huge, huge], 4), 60)
    assert "1,000,000,000" in text
    assert "4,294,967,296 + 2 x 33,554,432 = 4,362,076,160 / 76.0" in text


@pytest.mark.parametrize("width", [60, 80, 160])
def test_names_are_names_and_not_markup(mixed_plan: Maker, width: int) -> None:
    plan = mixed_plan(4, model="[bold]m[/bold]", cluster="c[/red]:smile:")
    stages = tuple(
        replace(stage, island="[red]", gpus=(GpuRange("n[1]", 0, 4),), strategy={"a[b]": "[c]"})
        for stage in plan.stages
    )
    said = words(shown(replace(plan, stages=stages, unused=(replace(plan.unused[0], reason="[/x] no"),)), width))
    for name in ("[bold]m[/bold] on c[/red]:smile:", "[red]: 4", "n[1]:0-3", "a[b]=[c]", "[/x] no"):
        assert name in said


def test_what_is_proven_and_what_is_not(mixed_plan: Maker) -> None:
    plan = mixed_plan(4)
    assert "proven optimal" in shown(plan)
    feasible = replace(plan, outcome="feasible", iteration_ns=200 * MS, bound_ns=150 * MS)
    assert "gap 25.0 % (bound 150.0 ms)" in shown(feasible)
    assert "no bound is known" in shown(replace(feasible, bound_ns=None))
    assert "optimal" not in shown(replace(feasible, bound_ns=None))


def test_the_time_by_the_other_form_and_event_by_event_stand_beside_that_by_the_objective(mixed_plan: Maker) -> None:
    plan = mixed_plan(4)
    text = shown(replace(plan, simulated_ns=plan.iteration_ns * 9 // 8))
    assert re.search(r"iteration time +.* by the closed form, proven optimal", text)
    assert re.search(r"by the period form +\S+ m?s \(\+\d+\.\d %\)", text)
    assert re.search(r"simulated 1F1B +\S+ m?s \(\+12\.5 %\)", text)


def test_where_the_simulated_time_is_the_objective_both_forms_stand_beside_it(mixed_plan: Maker) -> None:
    plan = mixed_plan(4)
    text = shown(replace(plan, objective="simulated", simulated_ns=plan.iteration_ns))
    assert re.search(r"iteration time +.* by simulated 1F1B, proven optimal", text)
    assert re.search(r"by the closed form +\S+ m?s", text)
    assert re.search(r"by the period form +\S+ m?s", text)
    assert text.count("simulated 1F1B") == 1


def test_active_parameters_are_said_where_they_differ(mixed_plan: Maker) -> None:
    assert "active" not in shown(mixed_plan(4))
    assert "70.6 B parameters (12.9 B active)" in shown(mixed_plan(4, active_parameters=12_879_925_248))


def test_no_word_of_unused_islands_where_there_are_none(mixed_plan: Maker) -> None:
    text = shown(mixed_plan(4, unused=(), idle_gpus=0))
    assert "unused" not in text
    assert "idle" not in text


def test_strategies_say_only_what_is_on() -> None:
    assert strategy_text({"tp": 4, "dp": 2, "cp": 1, "ep": 1, "zero": 1, "recompute": "full", "offload": "none"}) == (
        "tp4 dp2 zero1 recompute=full"
    )
    assert strategy_text({"tp": 1, "zero": 0, "offload": False, "recompute": "none"}) == "-"
    assert strategy_text({"offload": True, "zero": 3}) == "offload zero3"


def test_where_joins_the_parts_of_a_node_and_keeps_unequal_nodes_apart(stage: Callable[..., PlannedStage]) -> None:
    parts = (
        GpuRange("n1", 0, 4),
        GpuRange("n1", 4, 4),
        GpuRange("n2", 0, 8),
        GpuRange("n3", 2, 1),
        GpuRange("n4", 2, 1),
    )
    assert where([stage(gpus=parts)]) == "n[1-2]:0-7, n[3-4]:2"
    assert where([stage(gpus=(GpuRange("a", 0, 1), GpuRange("a", 2, 2)))]) == "a:0+2-3"


def test_contents(stage: Callable[..., PlannedStage]) -> None:
    assert held([stage(embedding=True)]) == "embedding + layers 0-6"
    assert held([stage(first_layer=33, layers=7, head=True)]) == "layers 33-39 + head"
    assert held([stage(first_layer=3, layers=1)]) == "layer 3"
    assert held([stage(first_layer=None, layers=0, head=True)]) == "head"
