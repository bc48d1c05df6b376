"""What the reports on solvers share: tables of methods, families and instances, and the two customary pictures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import LogFormatter, MaxNLocator

from bench.measured import PAR, SHIFT_S, Measured, family, mean, profile
from bench.report import RESULTS, Row, table

Times = Mapping[str, dict[str, float]]


def how_measured(name: str, limit_s: float, seeds: int) -> str:
    """Say how the runs were made, and how failures and means count."""
    return (
        f"Time limit {limit_s:g} s, one thread, {seeds} seed(s) for solvers that use one; every run in a fresh process "
        "that is killed when it does not stop. Times are those of the solve: building the model is in them, starting "
        "Python, loading the solver and reading the file are not. Of several seeds the median counts. A failure (no "
        f"proof, or a wrong answer) counts as {PAR} time limits (PAR{PAR}); where the first seed fails, the others "
        f"count as failed too. Means are shifted geometric means, shift {1000 * SHIFT_S:g} ms. The raw table is "
        f"`{name}.csv`."
    )


def table_or_none(rows: Sequence[Row]) -> str:
    """Write rows as a table, if there are any."""
    return table(rows) if rows else "None of the methods was measured."


def wrong_answers(rows: Sequence[Measured]) -> str:
    """List the runs that ended with an error or a wrong answer."""
    wrong = [row for row in rows if row.error]
    return "\n".join([f"{len(wrong)} of {len(rows)} runs.", *(f"- {_failure(row)}" for row in wrong)])


def preferred(rows: Sequence[Measured], found: Times) -> Times:
    """Times of each exact solver, in the formulation that it names first for an instance."""
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        if row.method in found:
            first.setdefault((row.solver, row.instance), row.method)
    chosen: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (solver, instance), method in first.items():
        chosen[solver][instance] = found[method][instance]
    return dict(sorted(chosen.items()))


def methods_table(rows: Sequence[Measured], found: Times, limit_s: float) -> list[Row]:
    """One row for each method: how many instances it proves, and in what time and memory."""
    memory: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        memory[row.method] = max(memory[row.method], row.peak_memory_mb or 0)
    return [
        {
            "method": _short(method, found),
            "instances": len(own),
            "proven": sum(value <= limit_s for value in own.values()),
            "mean s": f"{mean(own.values()):.3f}",
            f"PAR{PAR} s": f"{fmean(own.values()):.3f}",
            "median s": f"{median(own.values()):.3f}",
            "peak MB": memory[method],
        }
        for method, own in sorted(found.items())
    ]


def _short(method: str, found: Times) -> str:
    """Name a method by its solver where that has but one formulation."""
    solver = method.partition(" ")[0]
    return solver if sum(other.startswith(f"{solver} ") for other in found) == 1 else method


def families_table(chosen: Times, limit_s: float) -> list[Row]:
    """One row for each family: what each solver proves of it, and its mean time."""
    families = sorted({family(instance) for own in chosen.values() for instance in own})
    return [{"family": each} | {solver: _cell(chosen[solver], each, limit_s) for solver in chosen} for each in families]


def _cell(own: dict[str, float], each: str, limit_s: float) -> str:
    values = [value for instance, value in own.items() if family(instance) == each]
    if not values:
        return ""
    return f"{sum(value <= limit_s for value in values)}/{len(values)}, {mean(values):.3f}"


def instances_table(rows: Sequence[Measured], chosen: Times, limit_s: float) -> list[Row]:
    """One row for each instance: the best objective, and the time of each solver."""
    best: dict[str, str] = {}
    for row in rows:
        if row.outcome == "infeasible":
            best[row.instance] = "infeasible"
        elif row.objective is not None and not row.error:
            best[row.instance] = str(min(row.objective, int(best.get(row.instance, row.objective))))
    return [
        {"instance": instance, "objective": best.get(instance, "")}
        | {solver: _seconds(own.get(instance), limit_s) for solver, own in chosen.items()}
        for instance in sorted({row.instance for row in rows})
    ]


def _seconds(value: float | None, limit_s: float) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if value <= limit_s else "-"


def draw_profile(name: str, chosen: Times, limit_s: float) -> None:
    """Draw, for each solver, the share of instances on which it is at most so many times slower than the best."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    ratios = profile(list(chosen.values()), limit_s)
    end = max((value for own in ratios for value in own if value < math.inf), default=1)
    for solver, own in zip(chosen, ratios, strict=True):
        solved = [value for value in own if value < math.inf]
        shares = [number / len(own) for number in range(len(solved) + 1)]
        axes.step([1, *solved, end], [*shares, shares[-1]], where="post", label=solver)
    axes.set(
        xscale="log",
        ylim=(0, 1.02),
        xlabel="time by that of the fastest solver (1 is fastest)",
        ylabel="share of instances",
    )
    for axis_format in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis_format(LogFormatter(labelOnlyBase=False, minor_thresholds=(1, 0.4)))
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(RESULTS / f"{name}-profile.png", dpi=130)
    pyplot.close(figure)


def draw_cactus(name: str, found: Times, limit_s: float) -> None:
    """Draw, for each method, how many instances it proves within so much time for each."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    styles = ("-", "--", ":")
    for number, (method, own) in enumerate(sorted(found.items())):
        solved = sorted(value for value in own.values() if value <= limit_s)
        if solved:
            axes.plot(
                range(1, len(solved) + 1),
                solved,
                styles[number // 10 % len(styles)],
                label=_short(method, found),
                lw=1.4,
            )
    axes.set(yscale="log", xlabel="instances proven", ylabel="time for each, s")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(RESULTS / f"{name}-cactus.png", dpi=130)
    pyplot.close(figure)


def _failure(row: Measured) -> str:
    return f"{row.instance}, {row.method}, seed {row.seed}: {row.error}"
