"""The solver ``highs``: HiGHS through highspy as a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from formulations.composition_solvers import CompositionSolver, Model, open_model
from formulations.export import write_highs
from formulations.linear_highs import STRONG, solve_highs
from formulations.search import Found, Search
from tangram_opt.data.composition import CompositionProblem


class HighsSolver(CompositionSolver):
    """Composition problems as mixed-integer linear models."""

    name = "highs"
    summary = "HiGHS (MILP) on deadline, sweep, circuit or arc-flow models, proves its answers"
    library = "highspy"
    formulation_names = ("deadline", "sweep", "circuit", "arc-flow")
    export_formats = ("lp", "mps")

    def export(self, problem: CompositionProblem, formulation: str, file_format: str, path: Path) -> None:
        """Write a model as an LP or MPS file."""
        write_highs(self, problem, formulation, file_format, path)

    def solve_linear(
        self,
        model: Model,
        search: Search,
        start: Sequence[int] | None,
        on_values: Callable[[Sequence[int]], object],
        on_bound: Callable[[int], object],
    ) -> Found:
        """Solve a model with HiGHS."""

        def before(highs: Any, variables: list[Any]) -> None:
            open_model(search, model, highs, variables)

        settings = STRONG if model.slowest is None else {}
        return solve_highs(model.linear, search, start, on_values, on_bound, before, settings)
