"""The report of the islands bench: solvers, and what the greedy method and connected components lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from bench.measured import Measured, family, times
from bench.report import RESULTS, Row, table, write_csv, write_markdown
from bench.solver_report import (
    draw_cactus,
    draw_profile,
    families_table,
    how_measured,
    instances_table,
    methods_table,
    preferred,
    table_or_none,
    wrong_answers,
)
from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands import check, similarity_components

GREEDY = "agglomerative"
HEURISTICS = (GREEDY, "components")


def write(
    name: str,
    problems: Sequence[IslandsProblem],
    rows: Sequence[Measured],
    random: Sequence[Row],
    limit_s: float,
    seeds: int,
) -> None:
    """Write the raw table, the pictures and the report.

    Parameters
    ----------
    name : str
        Of the files.
    problems : sequence of IslandsProblem
        What was solved.
    rows : sequence of Measured
        All runs.
    random : sequence of dict
        What the greedy method loses on random problems.
    limit_s : float
        Time limit of each of them.
    seeds : int
        How many seeds there were.
    """
    write_csv(name, [asdict(row) for row in rows])
    found = times([row for row in rows if row.solver not in HEURISTICS], limit_s)
    chosen = preferred(rows, found)
    draw_profile(name, chosen, limit_s)
    draw_cactus(name, found, limit_s)
    fewest = {row.instance: row.objective for row in rows if row.objective is not None and row.bound == row.objective}
    greedy = {row.instance: row.objective for row in rows if row.solver == GREEDY and row.objective is not None}
    lost = {instance: greedy[instance] / fewest[instance] for instance in greedy if instance in fewest}
    _draw_losses(name, lost)
    paragraphs = [
        how_measured(name, limit_s, seeds),
        "A proof is one of all three objectives: fewest islands, then least compute lost, then the fastest slowest "
        "link inside an island.",
        "## All methods",
        "Methods take different instances: means compare only where the numbers of instances are equal.",
        table(methods_table(rows, found, limit_s)),
        "## By family",
        "The formulations that each solver chooses (*auto*): proven of all instances, and the mean time in s.",
        table(families_table(chosen, limit_s)),
        "## What the greedy method loses",
        "Islands of the agglomerative method by the proven fewest, on instances that have a proof of these.",
        table_or_none(_losses(lost)),
        f"![What the greedy method loses]({name}-greedy.png)",
        "On random problems of the families that are not made for it (seeds beyond those of the library); *excess* is "
        "by how much it has more islands than the proven fewest:",
        table_or_none(random),
        *_overall(random),
        "## What connected components get wrong",
        "Components of the graph that joins nodes which are alike pair by pair: a chain of such nodes is one, "
        "though its ends are unlike. *Allowed* counts the instances on which every condition holds all the same.",
        table_or_none(_components(problems, fewest)),
        "## Pictures",
        f"![Performance profile]({name}-profile.png)",
        f"![Instances solved over time]({name}-cactus.png)",
        "## Wrong answers and failures",
        wrong_answers(rows),
        "## All instances",
        "Fewest islands, and for each solver the time in s in the formulations that it chooses; a dash where it does "
        "not prove all three objectives.",
        table(instances_table(rows, chosen, limit_s)),
    ]
    write_markdown(name, "Islands problems", paragraphs)


def _overall(random: Sequence[Row]) -> list[str]:
    """Say in one sentence how often and by how much the greedy method loses."""
    *_, whole = random
    return [
        f"In all it has too many islands on {whole['greedy has too many']} of {whole['problems']} random problems, by "
        f"{whole['mean excess']} on average over all of them and by {whole['largest excess']} at worst; connected "
        f"components are no islands on {whole['components are wrong']}."
    ]


def _losses(lost: Mapping[str, float]) -> list[Row]:
    """How often and by how much the greedy method has more islands than needed, by family and in all."""
    rows: list[Row] = []
    for each in (*sorted({family(instance) for instance in lost}), "all"):
        ratios = [ratio for instance, ratio in lost.items() if each in (family(instance), "all")]
        if ratios:
            rows.append(
                {
                    "family": each,
                    "instances": len(ratios),
                    "fewest": sum(ratio == 1 for ratio in ratios),
                    "too many": sum(ratio > 1 for ratio in ratios),
                    "mean times as many": f"{fmean(ratios):.3f}",
                    "at most": f"{max(ratios):.2f}",
                }
            )
    return rows


def _components(problems: Sequence[IslandsProblem], fewest: Mapping[str, int]) -> list[Row]:
    answers = [(problem, similarity_components(problem)) for problem in problems]
    rows: list[Row] = []
    for each in sorted({family(problem.name) for problem, _ in answers}):
        own = [(problem, partition) for problem, partition in answers if family(problem.name) == each]
        known = [(problem, partition) for problem, partition in own if problem.name in fewest]
        rows.append(
            {
                "family": each,
                "instances": len(own),
                "allowed": sum(not check(problem, partition) for problem, partition in own),
                "fewer than possible": sum(len(one.islands) < fewest[problem.name] for problem, one in known),
                "more than needed": sum(len(one.islands) > fewest[problem.name] for problem, one in known),
            }
        )
    return rows


def _draw_losses(name: str, lost: Mapping[str, float]) -> None:
    """Draw how many times the fewest islands the greedy method has, on every instance where these are too many."""
    worst = sorted((each for each in lost if lost[each] > 1), key=lambda instance: (lost[instance], instance))
    figure, axes = pyplot.subplots(figsize=(7, 1.2 + 0.28 * len(worst)), layout="constrained")
    bars = axes.barh(worst, [lost[each] - 1 for each in worst], left=1, color="tab:orange")
    axes.bar_label(bars, [f"{lost[each]:.2f}" for each in worst], padding=3, fontsize=9)
    axes.set_xlim(1, 1.02 * max(lost.values(), default=1) + 0.1)
    axes.set(
        xlabel="islands of the greedy method by the proven fewest",
        title=f"too many on {len(worst)} of {len(lost)} instances, as few as needed on all others",
    )
    axes.title.set_fontsize(10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(RESULTS / f"{name}-greedy.png", dpi=130)
    pyplot.close(figure)
