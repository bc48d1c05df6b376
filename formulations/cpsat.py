"""The solver ``cpsat``: OR-tools CP-SAT as a backend.

CP-SAT's own status is not taken for a proof: an answer is optimal where its bound, rounded up to an integer, equals
the re-evaluated objective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formulations import composition_arc_flow
from formulations.composition_circuit import Circuit, add_circuit
from formulations.composition_data import CompositionData
from formulations.composition_solvers import CompositionSolver
from formulations.composition_sweep import CompositionSearch
from formulations.export import write_cpsat
from formulations.islands_solvers import IslandsSolver
from formulations.library import Formulated, LibraryBackend, LinearLibrary, open_model
from formulations.linear_cpsat import integer_bound, run_cpsat, set_parameters, solve_cpsat, take_answer
from formulations.search import Found, Search
from tangram_opt.backend import Problem
from tangram_opt.data.composition import Composition


class CpSatLibrary(LinearLibrary):
    """CP-SAT, through its Python API."""

    name = "cpsat"
    library = "ortools"

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that CP-SAT does not take."""
        from ortools.sat.python import cp_model

        set_parameters(cp_model.CpSolver().parameters, parameters)

    def solve_linear(
        self,
        model: Formulated,
        search: Search[Any, Any],
        start: Sequence[int] | None,
        on_values: Callable[[Sequence[int]], object],
        on_bound: Callable[[int], object],
    ) -> Found:
        """Solve a model with CP-SAT; circuits get their own constraint."""

        def before(cpsat: Any, variables: list[Any]) -> None:
            if isinstance(model, Circuit):
                add_circuit(cpsat, variables, model)
            open_model(search, model, cpsat, variables)

        return solve_cpsat(model.linear, search, start, on_values, on_bound, before)


class CpSatIslands(CpSatLibrary, IslandsSolver):
    """Islands problems in CP-SAT."""


class CpSatComposition(CpSatLibrary, CompositionSolver):
    """Composition problems in CP-SAT, and in an arc flow with implications."""

    def _search(self, name: str, data: CompositionData, search: CompositionSearch, hint: Composition | None) -> bool:
        if name != "arc-flow":
            return super()._search(name, data, search, hint)
        return self._arc_flow(search, hint)

    def _arc_flow(self, search: CompositionSearch, hint: Composition | None) -> bool:
        """Solve the arc flow with its implications; return whether there is proven to be no composition."""
        from ortools.sat.python import cp_model

        problem = search.problem
        flow = composition_arc_flow.build(problem)
        if hint is not None:
            composition_arc_flow.add_hint(problem, flow, hint)
        if search.options.on_model is not None:
            search.options.on_model(flow)
        solver = cp_model.CpSolver()

        def read(values: Any) -> Composition:
            return composition_arc_flow.read(problem, flow, values)

        status = run_cpsat(
            flow.model,
            solver,
            search,
            lambda values: search.offer(read(values)),
            lambda bound: search.hear(integer_bound(bound)),
        )
        return take_answer(status, solver, search, read)


class CpSat(CpSatLibrary, LibraryBackend):
    """Problems as models of integer variables."""

    summary = "CP-SAT on models of islands and of compositions, proves its answers"
    export_formats = ("cpsat",)
    composition = CpSatComposition()
    islands = CpSatIslands()

    def export(self, problem: Problem, formulation: str, file_format: str, path: Path) -> None:  # noqa: ARG002
        """Write a model as a protocol buffer."""
        write_cpsat(self, problem, formulation, path)
