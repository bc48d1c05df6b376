"""What the solvers of islands problems have in common: from a problem to an answer that was checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from formulations.islands_anchors import anchors
from formulations.islands_choice import check_exact, choose, exact_formulations
from formulations.islands_cover import Cover, cover
from formulations.islands_levels import LevelFound, Target
from formulations.islands_representatives import representatives
from formulations.islands_search import IslandsSearch
from formulations.islands_set_partition import set_partition
from formulations.islands_sets import Tick
from formulations.library import Formulated, LinearLibrary
from formulations.linear import TooLargeError
from formulations.search import OutOfTimeError
from tangram_opt.backend import SolveOptions
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.errors import InputError
from tangram_opt.islands.answer import answer, partition_of
from tangram_opt.islands.parts import Groups, Part
from tangram_opt.islands.splitting import split
from tangram_opt.result import Result, StopReason


class IslandsModel(Formulated, Protocol):
    """A formulation of a part."""

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands."""
        ...

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        ...


_BUILD: Final[Mapping[str, Callable[[Part, Target, Tick], IslandsModel]]] = {
    "cover": cover,
    "set-partition": set_partition,
    "anchors": anchors,
    "representatives": representatives,
}
ANY: Final = "representatives"
"""The formulation that is exact for every part, and says of every block in whose island it is."""

STRUCTURE: Final = "structure"
"""What is named as the formulation where none was needed."""


class IslandsSolver(LinearLibrary):
    """Solves islands problems in formulations; subclasses say which library they use and how it solves a model."""

    formulation_names: tuple[str, ...] = tuple(_BUILD)

    def unsupported(self, problem: IslandsProblem) -> str | None:  # noqa: ARG002 (it takes all of them)
        """Nothing: there is a formulation for every islands problem."""
        return None

    def formulations(self, problem: IslandsProblem) -> tuple[str, ...]:
        """Name the formulations that are exact for all parts of a problem, the strongest first."""
        return exact_formulations(split(problem).parts, self.formulation_names)

    def solve(self, problem: IslandsProblem, options: SolveOptions) -> Result[Partition]:
        """Solve an islands problem.

        Parameters
        ----------
        problem : IslandsProblem
            Cluster and tolerances.
        options : SolveOptions
            All of them count. The formulation ``auto`` is chosen for each level of each part, see
            :func:`.islands_choice.choose`. With `on_model` the problem is not split, and ``auto`` are representatives:
            the hook gets an :class:`.OpenModel` of all blocks for every level of the objective, so that constraints
            can be about any nodes.

        Returns
        -------
        Result
            Optimal where every level is proven. Infeasible only where constraints of the user's own make it so.

        Raises
        ------
        InputError
            The formulation is unknown or not exact for the problem, a parameter is wrong, or numbers are too large.
        """
        self.check_parameters(options.parameters)
        if options.formulation not in ("auto", *self.formulation_names):
            known = ", ".join(("auto", *self.formulation_names))
            raise InputError(f"formulation: {options.formulation!r}, expected one of {known}")
        opened = options.on_model is not None
        wanted = ANY if opened and options.formulation == "auto" else options.formulation
        search = IslandsSearch(problem, options)
        used: set[str] = set()
        try:
            search.begin(split_up=not opened)
            for each in search.parts if wanted != "auto" else ():
                check_exact(each.part, wanted)
            search.solve(partial(self._choose_and_solve, search, wanted, used))
        except KeyboardInterrupt:
            search.interrupted = True
        if search.best is None and not opened:
            # Interrupted before anything was found: nodes one by one are islands.
            search.best = partition_of(problem, [[node] for node in range(len(problem.cluster.nodes))])
        if search.infeasible and not opened:
            raise RuntimeError(f"{self.name} on {problem.name!r}: called infeasible, but single nodes are islands")
        return answer(
            problem,
            search.best,
            bounds=(None, None, None) if search.infeasible else search.bounds,
            stop_reason=StopReason.PROVED if search.infeasible else search.why_unproved,
            wall_s=search.elapsed_s,
            solver=self.name,
            solver_version=self.version(),
            formulation="+".join(sorted(used)) or STRUCTURE,
            log=(_describe(search),),
        )

    def _choose_and_solve(
        self,
        search: IslandsSearch,
        wanted: str,
        used: set[str],
        part: Part,
        target: Target,
        start: Groups | None,
        on_groups: Callable[[Groups], object],
        on_bound: Callable[[int], object],
    ) -> LevelFound:
        """Solve a level in the formulation that is wanted, or that suits it best."""
        try:
            name = choose(part, target, self.formulation_names, wanted, search.tick)
            used.add(name)
            return self.solve_level(search, name, part, target, start, on_groups, on_bound)
        except OutOfTimeError:
            return LevelFound(None, None)

    def solve_level(
        self,
        search: IslandsSearch,
        name: str,
        part: Part,
        target: Target,
        start: Groups | None,
        on_groups: Callable[[Groups], object],
        on_bound: Callable[[int], object],
    ) -> LevelFound:
        """Solve a formulation of a part for one level of the objective."""
        model = _BUILD[name](part, target, search.tick)
        if start is not None and isinstance(model, Cover) and target.most_islands is None:
            start = min(start, model.greedy(), key=lambda groups: part.value(groups).costs)
            on_groups(start)
        values = None if start is None else model.encode(start)

        def on_values(values: Sequence[int]) -> Any:
            return on_groups(model.decode(values))

        try:
            found = self.solve_linear(model, search, values, on_values, on_bound)
        except TooLargeError:
            if target.most_islands is None:
                raise
            # Compute of many GPUs in single FLOP/s: what is known of the number of islands remains.
            return LevelFound(None, None)
        if found.values is None:
            return LevelFound(None, found.bound, found.infeasible)
        groups, claimed = model.decode(found.values), model.linear.objective(found.values)
        value = part.value(groups)
        worth = target.cost(value.islands, value.compute_lost_flops_per_s)
        # It may be worth more than a solution says that is not the best yet: nobody has to be in a chosen island.
        if claimed < worth:
            raise RuntimeError(f"{self.name} on {search.problem.name!r}: claims {claimed}, re-evaluation gives {worth}")
        return LevelFound(groups, found.bound)


def _describe(search: IslandsSearch) -> str:
    """Say how far structure went."""
    if not search.parts and not search.crowds:
        return "structure alone settles all islands"
    found = [f"structure settles {len(search.settled)} islands"]
    if search.parts:
        largest = max(each.part.size for each in search.parts)
        found.append(f"{len(search.parts)} parts of up to {largest} blocks remain")
    if search.crowds:
        islands = sum(len(crowd.islands) for crowd in search.crowds)
        found.append(f"{islands} islands are those of a greedy method, as their blocks are too many to search")
    return ", ".join(found)
