from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import pytest

from tangram_opt import solvers
from tangram_opt.backend import Backend, SolveOptions
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node
from tangram_opt.data.composition import CompositionProblem, IslandClass, SignatureRun
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.errors import InputError
from tangram_opt.result import Outcome, Result, StopReason
from tangram_opt.solvers import BrokenBackend

GPU = Gpu("T4", 65, 40, 16, 300, 12)
ISLANDS = IslandsProblem("one", Cluster("one", (Node("n", GPU, 1, ((0,),)),), MatrixNetwork(((0,),))))
COMPOSITION = CompositionProblem("tiny", 1, (SignatureRun("a", 1),), (IslandClass("i", 1, 1),), (), ("p",), ((0,),))


class Fake:
    """A backend that remembers what it was asked."""

    exact = True
    summary = "a fake"

    def __init__(self, name="fake", *, missing=None, unsupported=None):
        self.name = name
        self._missing = missing
        self._unsupported = unsupported
        self.asked = []

    def version(self):
        return "1"

    def missing(self):
        return self._missing

    def unsupported(self, problem):
        return self._unsupported

    def formulations(self, problem):
        return ("fake",)

    def solve(self, problem, options):
        self.asked.append((problem, options))
        partition = Partition(problem.name, (("n",),))
        return Result(Outcome.OPTIMAL, StopReason.PROVED, 1, 1, 0.0, partition, self.name, "1", "fake")


class Argumentless(Fake):
    def __init__(self):
        super().__init__("argumentless")


@pytest.fixture
def register(monkeypatch):
    """Make the given objects the only registered backends: (entry name, object, distribution)."""
    entries = []

    def add(name, loaded, distribution="third-party"):
        module = ModuleType(f"fake_backend_{len(entries)}")
        module.BACKEND = loaded
        monkeypatch.setitem(sys.modules, module.__name__, module)
        entry = EntryPoint(name, f"{module.__name__}:BACKEND", solvers.GROUP)
        vars(entry)["dist"] = SimpleNamespace(name=distribution)
        entries.append(entry)
        return loaded

    monkeypatch.setattr(solvers, "entry_points", lambda group: entries if group == solvers.GROUP else [])
    add.entries = entries
    return add


def test_objects_and_classes_are_backends_listed_by_name(register):
    fake = register("fake", Fake())
    register("argumentless", Argumentless)
    first, second = solvers.available()
    assert isinstance(first, Argumentless)
    assert second is fake


def test_a_broken_entry_point_is_reported_and_disturbs_nobody(register):
    fake = register("fake", Fake())
    absent = EntryPoint("absent", "no_such_module_at_all:BACKEND", solvers.GROUP)
    register.entries.append(absent)
    register("a-number", 7)
    register("misnamed", Fake("other"))
    listed = {item.name: item for item in solvers.available()}
    assert listed["fake"] is fake
    assert "ModuleNotFoundError" in listed["absent"].error
    assert "not a solver backend" in listed["a-number"].error
    assert "calls itself 'other'" in listed["misnamed"].error
    assert solvers.get("fake") is fake
    with pytest.raises(InputError, match="no_such_module_at_all"):
        solvers.get("absent")


def test_whatever_a_module_raises_while_it_loads_is_reported(register):
    class Explosive:
        def __init__(self):
            raise ZeroDivisionError("while loading")

    register("explosive", Explosive)
    (broken,) = solvers.available()
    assert isinstance(broken, BrokenBackend)
    assert "ZeroDivisionError: while loading" in broken.error


def test_a_third_party_cannot_take_over_the_name_of_a_built_in(register):
    register("fake", Fake(), distribution="a-third-party")
    ours = register("fake", Fake(), distribution="tangram-opt")
    first, second = solvers.available()
    assert first is ours
    assert second == BrokenBackend("fake", "a-third-party", "the name is taken by tangram-opt")
    assert solvers.get("fake") is ours


def test_getting_one_backend_loads_no_other(register):
    class Untouchable:
        def __init__(self):
            pytest.fail("loaded without need")

    register("another", Untouchable)
    fake = register("fake", Fake())
    assert solvers.get("fake") is fake


def test_an_unknown_solver_is_answered_with_the_names_and_the_nearest(register):
    register("fake", Fake())
    register("other", Fake("other"))
    with pytest.raises(InputError, match=r"'fakee': expected one of fake, other; did you mean 'fake'\?"):
        solvers.solve(ISLANDS, "fakee")


def test_a_missing_package_is_named(register):
    register("fake", Fake(missing="gurobipy"))
    with pytest.raises(InputError, match="gurobipy"):
        solvers.solve(ISLANDS, "fake")


def test_a_solver_that_cannot_take_the_problem_says_why_and_is_not_run(register):
    fake = register("fake", Fake(unsupported="it takes compositions only"))
    with pytest.raises(InputError, match="'fake' cannot take 'one': it takes compositions only"):
        solvers.solve(ISLANDS, "fake")
    assert fake.asked == []


def test_arguments_reach_the_backend(register):
    fake = register("fake", Fake())
    expected = SolveOptions(
        time_limit_s=2.5,
        threads=3,
        seed=4,
        hint=Partition("one", (("n",),)),
        on_progress=[].append,
        formulation="arcs",
        parameters={"cuts": 0},
        on_model=[].append,
    )
    given = {field.name: getattr(expected, field.name) for field in fields(expected)}
    solvers.solve(ISLANDS, "fake", time_limit=given.pop("time_limit_s"), **given)
    assert fake.asked == [(ISLANDS, expected)]


@pytest.mark.parametrize(("problem", "name"), [(ISLANDS, "cpsat"), (COMPOSITION, "dp")])
def test_auto_takes_the_backend_that_suits_the_kind(register, problem, name):
    chosen = register(name, Fake(name))
    register("aaa", Fake("aaa"))
    assert solvers.solve(problem).solver == name
    assert len(chosen.asked) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": "closd"}, "did you mean 'closed'"),
        ({"time_limit": 0}, "time limit 0"),
        ({"time_limit": float("nan")}, "time limit nan"),
        ({"time_limit": float("inf")}, "time limit inf"),
        ({"threads": 0}, "threads 0"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(register, arguments, message):
    fake = register("fake", Fake())
    with pytest.raises(InputError, match=message):
        solvers.solve(ISLANDS, "fake", **arguments)
    assert fake.asked == []


def test_every_built_in_backend_loads_and_states_itself():
    listed = {item.name: item for item in solvers.available()}
    for name in ("agglomerative", "dp", "paper-dp", "note-dp", "cpsat"):
        backend = listed[name]
        assert isinstance(backend, Backend), backend
        assert backend.missing() is None
        assert backend.version()
        assert backend.summary


def test_importing_the_package_imports_no_solver_library():
    code = "import sys, tangram_opt; print({'ortools', 'highspy', 'pyomo', 'matplotlib'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "set()\n"


class Family(Fake):
    """A backend for each member of a family of solvers."""

    def __init__(self, member="first"):
        super().__init__(f"family:{member}")


def test_another_member_of_a_listed_family_can_be_named(register):
    register("family:first", Family)
    assert solvers.get("family:first").name == "family:first"
    assert solvers.get("family:second").name == "family:second"
    with pytest.raises(InputError, match="unknown solver 'families:second'"):
        solvers.get("families:second")
    with pytest.raises(InputError, match="unknown solver 'family'"):
        solvers.get("family")
