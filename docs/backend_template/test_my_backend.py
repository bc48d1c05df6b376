"""Everything that a backend must do; slow cases can be left out by their names."""

import pytest
from my_backend import Exhaustive

from tangram_opt.crosscheck import conformance_cases


@pytest.mark.parametrize("case", conformance_cases(Exhaustive()), ids=str)
def test_it_does_what_a_backend_must(case):  # noqa: D103
    case.run()
