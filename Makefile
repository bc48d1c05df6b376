# `make test` and `make demo` set up everything they need in .venv; only Python >= 3.11 and make must be there.

PYTHON ?= python3
BIN := .venv/bin
DEMO := c3-4a100-8v100-4v100-4t4-gpt3-13b c2-8a100-8h100-mixtral-8x7b

.PHONY: help test lint demo bench clean

help:  ## List the targets.
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST)

test: lint  ## Check style and types, then run the tests.
	$(BIN)/pytest -n auto --maxprocesses 4

lint: .venv/.ready-dev  ## Check style (ruff) and types (mypy, strict).
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

demo: .venv/.ready-plot  ## Plan two models on mixed clusters; plans and pictures go to demo/.
	@mkdir -p demo
	@set -e; for name in $(DEMO); do \
	    $(BIN)/tangram-opt solve instances/planning/$$name.json -o demo/$$name.plan.json > /dev/null; \
	    $(BIN)/tangram-opt show demo/$$name.plan.json --picture demo/$$name.png; \
	done

bench: .venv/.ready-plot  ## Measure all solvers on all composition problems (hours); results go to bench/results/.
	$(BIN)/python -m bench composition --full

clean:  ## Remove the environment, caches and what the demo wrote.
	rm -rf .venv demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp of an extra is renewed when the project's metadata or a pinned version changes.
.venv/.ready-%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("error: Python 3.11 or newer is needed, $(PYTHON) is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$*]'
	@touch $@
