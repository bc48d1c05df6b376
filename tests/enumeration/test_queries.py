"""Asking a parallelizer until it has nothing more to say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.data.cluster import Gpu
from tangram_opt.data.composition import Stage
from tangram_opt.data.island import Island
from tangram_opt.data.model import Atom, AtomRun, Model
from tangram_opt.data.workload import TrainingRecipe, Workload
from tangram_opt.enumeration.pairs import Pair
from tangram_opt.enumeration.queries import Query, ask, run_queries
from tangram_opt.parallelizers import Answer, ModelSlice, Parallelizer, Profile, SlicePlan, UniformParallelizer

LAYER = Atom(
    kind="layer",
    signature="layer",
    hidden_size=512,
    parameters=3_000_000,
    tied_parameters=0,
    expert_parameters=0,
    experts=0,
    experts_per_token=0,
    linear_flops_per_token=6_000_000,
    expert_flops_per_token=0,
    attention_flops_per_pair=2048,
    attention_window=None,
    attention_heads=8,
    key_value_heads=8,
    key_value_bytes_per_token=2048,
    activation_bytes_per_token=17_000,
    attention_activation_bytes_per_pair=40,
    input_bytes_per_token=1024,
    tensor_parallel_all_reduces=2,
)
GPU = Gpu("example", 10**14, 6 * 10**13, 300 * 10**6, 9 * 10**11, 16 * 10**9)
ISLAND = Island("pair", GPU, 1, 2, ((0, 10**11), (10**11, 0)), 0)
RECIPE = TrainingRecipe("mixed-adam", 2, 2, 12, 0)


def query(layers: int = 2, micro_batches: int = 16, island: Island = ISLAND) -> Query:
    return Query(Pair(ModelSlice((AtomRun(LAYER, layers),)), island), Workload(2 * micro_batches, 512, 2, RECIPE))


def plan(time_ns: int, max_stages_after: int | None) -> SlicePlan:
    return SlicePlan((Stage(1, time_ns, time_ns, 0, 0),), (), max_stages_after, 1)


@dataclass
class Scripted:
    """Knows some plans, and answers each question with the fastest that tolerates what was asked for."""

    plans: tuple[SlicePlan, ...]
    asked: list[int] = field(default_factory=list)
    name: str = "scripted"

    def slice_model(self, model: Model) -> Sequence[ModelSlice]:
        raise NotImplementedError

    def concatenate(self, front: ModelSlice, back: ModelSlice) -> ModelSlice:
        raise NotImplementedError

    def profile(self, model_slice: ModelSlice, island: Island, workload: Workload) -> Profile:
        raise NotImplementedError

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        self.asked.append(stages_after)
        tolerant = [x for x in self.plans if x.max_stages_after is None or x.max_stages_after >= stages_after]
        if not tolerant:
            return Answer((), complete=False, reason=f"out of memory with {stages_after} stages after it")
        return Answer((min(tolerant, key=lambda x: x.stages[0].forward_ns),), complete=False)


class Complete(Scripted):
    """Says all it knows at once."""

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        self.asked.append(stages_after)
        return Answer(self.plans, complete=True, reason="" if self.plans else "no memory")


class Stubborn(Scripted):
    """Answers with the same plan whatever is asked for."""

    def parallelize(self, model_slice: ModelSlice, island: Island, workload: Workload, stages_after: int) -> Answer:
        return Answer(self.plans, complete=False)


def test_the_next_question_is_for_one_stage_more_than_the_plan_tolerates() -> None:
    parallelizer = Scripted((plan(10, 2), plan(20, 5), plan(30, 9), plan(40, 3)))
    answer = ask(parallelizer, query())
    assert parallelizer.asked == [0, 3, 6, 10]
    assert [x.stages[0].forward_ns for x in answer.plans] == [10, 20, 30]
    assert (answer.queries, answer.reason) == (4, "")


def test_a_plan_that_tolerates_any_number_ends_the_questions() -> None:
    parallelizer = Scripted((plan(10, 2), plan(20, None), plan(30, 9)))
    assert [x.max_stages_after for x in ask(parallelizer, query()).plans] == [2, None]
    assert parallelizer.asked == [0, 3]


def test_more_stages_after_than_micro_batches_are_not_asked_for() -> None:
    # With 4 micro-batches, 3 stages after hold all of them in flight: 4 are no harder.
    parallelizer = Scripted((plan(10, 1), plan(20, 3), plan(30, 9)))
    assert len(ask(parallelizer, query(micro_batches=4)).plans) == 2
    assert parallelizer.asked == [0, 2]


def test_even_a_single_micro_batch_is_asked_for_once() -> None:
    parallelizer = Scripted((plan(10, 0), plan(20, 1)))
    assert len(ask(parallelizer, query(micro_batches=1)).plans) == 1
    assert parallelizer.asked == [0]


def test_a_complete_answer_is_not_asked_for_twice() -> None:
    parallelizer = Complete((plan(10, 2), plan(20, 5)))
    answer = ask(parallelizer, query())
    assert parallelizer.asked == [0]
    assert answer.plans == parallelizer.plans
    assert answer.queries == 1


def test_the_reason_of_no_plan_at_all_is_passed_on() -> None:
    assert ask(Scripted(()), query()).reason == "out of memory with 0 stages after it"
    assert ask(Complete(()), query()).reason == "no memory"
    assert ask(Scripted(()), query()).plans == ()


def test_a_parallelizer_that_ignores_the_question_is_named() -> None:
    with pytest.raises(ValueError, match=r"'scripted' was asked for plans with 3 stages after them .* at most 2"):
        ask(Stubborn((plan(10, 2),)), query())


@given(
    st.lists(st.tuples(st.integers(1, 50), st.one_of(st.none(), st.integers(0, 20))), max_size=8, unique=True),
    st.integers(1, 16),
)
def test_the_best_plan_for_every_number_of_stages_after_is_found(
    known: list[tuple[int, int | None]], micro_batches: int
) -> None:
    plans = tuple(plan(*figures) for figures in known)

    def best(candidates: Sequence[SlicePlan], after: int) -> int | None:
        fitting = [x for x in candidates if x.max_stages_after is None or x.max_stages_after >= after]
        return min((x.stages[0].forward_ns for x in fitting), default=None)

    found = ask(Scripted(plans), query(micro_batches=micro_batches)).plans
    for after in range(micro_batches):
        assert best(found, after) == best(plans, after)


def test_equal_plans_are_kept_once() -> None:
    assert len(ask(Complete((plan(10, 2), plan(10, 2), plan(10, 3))), query()).plans) == 2


def test_the_scripted_parallelizer_has_the_interface() -> None:
    assert isinstance(Scripted(()), Parallelizer)


def test_two_processes_answer_as_one_does() -> None:
    queries = [query(layers, n) for n in (1, 4, 16) for layers in range(1, 15)]
    alone = list(run_queries(UniformParallelizer(), queries))
    assert [answer.query for answer in alone] == queries
    assert any(answer.plans for answer in alone)
    assert any(answer.reason for answer in alone)
    assert list(run_queries(UniformParallelizer(), queries, workers=2)) == alone


def test_answers_are_not_made_before_they_are_wanted() -> None:
    parallelizer = Scripted((plan(10, None),))
    answers = run_queries(parallelizer, [query(n) for n in (1, 2, 3)])
    assert next(answers).query == query(1)
    assert parallelizer.asked == [0]


def test_no_queries_have_no_answers() -> None:
    for workers in (1, 2):
        assert list(run_queries(UniformParallelizer(), [], workers=workers)) == []


def test_an_interrupt_does_not_reach_workers_even_while_they_start(tmp_path: Path) -> None:
    # A worker runs the main module first of all, before anything of ours: there it interrupts itself.
    script = tmp_path / "main.py"
    script.write_text(
        "import os, signal, sys\n"
        "if __name__ == '__mp_main__':\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "if __name__ == '__main__':\n"
        f"    sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "    from test_queries import UniformParallelizer, query, run_queries\n"
        "    print(len(list(run_queries(UniformParallelizer(), [query(), query()], workers=2))))\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2\n", "")


INTERRUPTED_START = """
import signal
from concurrent.futures import ProcessPoolExecutor
from tangram_opt.enumeration.queries import run_queries
from tangram_opt.parallelizers import UniformParallelizer

def handed_out(pool, *arguments):
    signal.raise_signal(signal.SIGINT)
    print("handed out")
    return []

ProcessPoolExecutor.map = handed_out
before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
try:
    list(run_queries(UniformParallelizer(), [None], workers=2))
except KeyboardInterrupt:
    print("interrupted", signal.pthread_sigmask(signal.SIG_BLOCK, []) == before)
"""


def test_an_interrupt_while_workers_start_is_kept_for_the_caller() -> None:
    # In a process of its own: test runners have threads and signal handlers of theirs.
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED_START], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "handed out\ninterrupted True\n", "")
