"""Whether a pipeline keeps a period, put together from options, against the definition over all stretches."""

from itertools import pairwise

from composition_strategies import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from tangram_opt.composition.objective import whole_period_ns
from tangram_opt.composition.potentials import potential, potentials
from tangram_opt.composition.table import IMPOSSIBLE, option_table


@settings(max_examples=200)
@given(problems(objective="period"), st.data())
def test_options_in_a_row_keep_a_period_as_the_whole_pipeline_does(problem, data):
    picked = data.draw(st.lists(st.sampled_from(problem.options), min_size=1, max_size=4), "options")
    period = data.draw(st.integers(0, 60), "period")
    links = data.draw(st.lists(st.integers(0, 9), min_size=len(picked) - 1, max_size=len(picked) - 1), "links")
    times = [stage.time_ns for option in picked for stage in option.stages]
    transfers = []
    for option, link in zip(picked, [*links, None], strict=True):
        transfers += [*option.inner_transfers_ns, *([] if link is None else [link])]
    kept = all(
        whole_period_ns([stage.time_ns for stage in option.stages], option.inner_transfers_ns) <= period
        for option in picked
    )
    head = -IMPOSSIBLE
    for option, link in zip(reversed(picked), [0, *reversed(links)], strict=True):
        own_head, tail, through = potential(option, period)
        kept = kept and tail + 2 * link + head <= 0
        head = max(own_head, through + 2 * link + head)
    assert kept == (whole_period_ns(times, transfers) <= period)


@settings(max_examples=100)
@given(problems(objective="period"), st.integers(0, 60))
def test_options_in_a_table_have_the_same_potentials_as_one_by_one(problem, period):
    table = option_table(problem)
    if table.by_period:
        found = potentials(table, period)
        for row, index in enumerate(table.option):
            one = potential(problem.options[index], period)
            assert (found.head[row], found.tail[row], found.through[row]) == one


@settings(max_examples=100)
@given(problems(objective="period"), st.data())
def test_the_period_of_rows_is_that_of_their_stages(problem, data):
    table = option_table(problem)
    if not table.by_period or not len(table.option):
        return
    rows = data.draw(st.lists(st.sampled_from(range(len(table.option))), min_size=1, max_size=3))
    if any(table.round_trip_ns[table.exit[a], table.entry[b]] >= IMPOSSIBLE for a, b in pairwise(rows)):
        return
    options = [problem.options[table.option[row]] for row in rows]
    times = [stage.time_ns for option in options for stage in option.stages]
    transfers = []
    for position, option in enumerate(options):
        transfers += option.inner_transfers_ns
        if position + 1 < len(options):
            exit_, entry = (problem.port_index[port] for port in (option.exit_port, options[position + 1].entry_port))
            transfers.append(problem.transfer_ns[exit_][entry])
    assert table.slowest_ns(rows) == whole_period_ns(times, transfers)
