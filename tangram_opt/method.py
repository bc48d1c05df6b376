"""A backend with one formulation and no solver library behind it: what our own methods have in common."""

from __future__ import annotations

from importlib.metadata import version

from tangram_opt.backend import Problem, SolveOptions, refuse_what_needs_a_library


class Method:
    """Base of such a backend.

    Attributes
    ----------
    name, formulation : str
        Of the backend.
    distribution : str
        Whose version is stated.
    takes : type
        The kind of problem that it takes.
    refusal : str
        What it says of other kinds.
    """

    name: str
    formulation: str
    distribution = "tangram-opt"
    takes: type[Problem]
    refusal: str

    def version(self) -> str:
        """Version of the distribution behind it."""
        return version(self.distribution)

    def missing(self) -> str | None:
        """Nothing is missing: it needs packages only that are always there."""
        return None

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        return None if isinstance(problem, self.takes) else self.refusal

    def formulations(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002 (the same for all)
        """Name the one formulation."""
        return (self.formulation,)

    def check_options(self, options: SolveOptions) -> None:
        """Refuse options that it would have to ignore and that would change the answer."""
        refuse_what_needs_a_library(self.name, self.formulation, options)
