"""The solver ``highs``: HiGHS through highspy as a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formulations.composition_solvers import CompositionSolver
from formulations.export import write_highs
from formulations.islands_solvers import IslandsSolver
from formulations.library import Formulated, LibraryBackend, LinearLibrary, open_model
from formulations.linear_highs import STRONG, set_parameters, silent_highs, solve_highs
from formulations.search import Found, Search
from tangram_opt.backend import Problem


class HighsLibrary(LinearLibrary):
    """HiGHS, through highspy."""

    name = "highs"
    library = "highspy"

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that HiGHS does not take."""
        set_parameters(silent_highs(), parameters)

    def solve_linear(
        self,
        model: Formulated,
        search: Search[Any, Any],
        start: Sequence[int] | None,
        on_values: Callable[[Sequence[int]], object],
        on_bound: Callable[[int], object],
    ) -> Found:
        """Solve a model with HiGHS."""

        def before(highs: Any, variables: list[Any]) -> None:
            open_model(search, model, highs, variables)

        return solve_highs(model.linear, search, start, on_values, on_bound, before, self.settings(model))

    def settings(self, model: Formulated) -> Mapping[str, Any]:  # noqa: ARG002 (the same for all)
        """Options of HiGHS for a model."""
        return {}


class HighsIslands(HighsLibrary, IslandsSolver):
    """Islands problems in HiGHS."""


class HighsComposition(HighsLibrary, CompositionSolver):
    """Composition problems in HiGHS."""

    def settings(self, model: Formulated) -> Mapping[str, Any]:
        """Options of HiGHS for a model: those without a slowest stage are small and strong."""
        return STRONG if getattr(model, "slowest", None) is None else {}


class HighsSolver(HighsLibrary, LibraryBackend):
    """Problems as mixed-integer linear models."""

    summary = "HiGHS (MILP) on models of islands and of compositions, proves its answers"
    export_formats = ("lp", "mps")
    composition = HighsComposition()
    islands = HighsIslands()

    def export(self, problem: Problem, formulation: str, file_format: str, path: Path) -> None:
        """Write a model as an LP or MPS file."""
        write_highs(self, problem, formulation, file_format, path)
