"""A sensitivity in text and as a picture: one line, and one step, for each interval."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.console import Console

from tangram_opt.data.cluster import Cluster, Gpu, Node, TierNetwork
from tangram_opt.data.island import Partition, Tolerances
from tangram_opt.islands import Interval, PartitionValue
from tangram_opt.result import Outcome, Result, StopReason
from tangram_opt.show import print_sensitivity
from tangram_opt.show.sensitivity_figure import sensitivity_figure

TERA = 10**12
NODES = tuple(Node(f"n{i}", Gpu("G", 200 * TERA, 100 * TERA, 80, 1, 1), 1, ((0,),)) for i in range(2))
CLUSTER = Cluster("pair", NODES, TierNetwork((10**9,), ((), ())))
APART = Interval(
    Fraction(0), Fraction(1, 14), Tolerances(), Partition("p", (("n0",), ("n1",))), PartitionValue(2, 0, 0), True
)
TOGETHER = Interval(
    Fraction(1, 14),
    Fraction(1, 2),
    Tolerances(),
    Partition("p", (("n0", "n1"),)),
    PartitionValue(1, TERA, 10**9),
    False,
)


def printed(plans) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    print_sensitivity(CLUSTER, (APART, TOGETHER), plans, console)
    return console.file.getvalue().splitlines()


def test_every_interval_is_a_line_with_its_exact_start_rounded_up() -> None:
    first, second = printed(None)[3:5]
    assert first.split() == ["0", "0.071429", "2", "0", "0.0", "%", "proven"]
    # 1/14 is 0.0714285...: the tolerance that is printed must allow what the exact one allows.
    assert second.split() == ["0.071429", "0.5", "1", "1.00", "0.5", "%", "1.00", "best", "found"]


def planned(outcome: Outcome, plan=None) -> Result:
    bound = 5 if outcome is Outcome.OPTIMAL else 4
    return Result(outcome, StopReason.TIME_LIMIT, plan and 5, plan and bound, 0.0, plan, "x", "1", "y")


def test_what_planning_gave_in_an_interval_is_said_with_its_proof(uniform_plan) -> None:
    plan = replace(uniform_plan(2, 4), iteration_ns=1_500_000_000)
    first, second = printed([planned(Outcome.OPTIMAL, plan), planned(Outcome.FEASIBLE, plan)])[3:5]
    assert "1.500 s" in first
    assert "at most" not in first
    assert "at most 1.500 s" in second
    for nothing, text in ((Outcome.INFEASIBLE, "no plan"), (Outcome.UNKNOWN, "none found")):
        assert text in printed([planned(nothing), None])[3]
    assert "not planned" in printed([planned(Outcome.UNKNOWN), None])[4]


@pytest.mark.parametrize("planned", [False, True])
def test_the_picture_has_a_panel_for_each_figure_and_steps_where_intervals_start(uniform_plan, planned: bool) -> None:
    plans = [uniform_plan(2, 4), None] if planned else None
    figure = sensitivity_figure(CLUSTER, ["compute"], (APART, TOGETHER), plans)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "islands",
        "compute lost, %",
        *(["iteration, s"] if planned else []),
    ]
    steps = figure.axes[0].lines[0]
    assert list(steps.get_xdata()) == pytest.approx([0, 1 / 14, 1 / 2])
    assert list(steps.get_ydata()) == [2, 1, 1]
