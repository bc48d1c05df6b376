"""Our backends do what every backend must do, and the cases catch those that do not."""

from dataclasses import replace

import pytest

from tangram_opt.backend import Backend
from tangram_opt.composition.dp import DynamicProgram
from tangram_opt.crosscheck import conformance_cases
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome
from tangram_opt.solvers import available

OURS = [backend for backend in available() if isinstance(backend, Backend)]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{backend.name}: {case}") for backend in OURS for case in conformance_cases(backend)],
)
def test_our_backends_do_what_every_backend_must(case):
    case.run()


class Nameless(DynamicProgram):
    name = ""


class Boastful(DynamicProgram):
    """Proves a little more than there is."""

    def solve(self, problem, options):
        result = super().solve(problem, options)
        if result.objective is None:
            return result
        return replace(result, objective=result.objective - 1, bound=result.objective - 1)


class Timid(DynamicProgram):
    """Never finds anything."""

    def solve(self, problem, options):
        return replace(super().solve(problem, options), outcome=Outcome.UNKNOWN, objective=None, solution=None)


class Silent(DynamicProgram):
    """Takes every option and follows none."""

    def solve(self, problem, options):
        return super().solve(problem, replace(options, formulation="auto", parameters={}, on_model=None))


class Picky(DynamicProgram):
    def unsupported(self, problem):
        return "it takes nothing"


@pytest.mark.parametrize(
    ("backend", "caught_by"),
    [
        (Nameless(), "states itself"),
        (Boastful(), "answers uniform-6x3in2-1"),
        (Timid(), "answers uniform-6x3in2-1"),
        (Silent(), "refuses unknown options"),
        (Picky(), "says which problems it takes"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Backend) else "",
)
def test_a_backend_at_fault_is_caught(backend, caught_by):
    case = next(case for case in conformance_cases(backend) if case.name == caught_by)
    with pytest.raises((AssertionError, InputError)):
        case.run()
