PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint setup sandbox tmux browser benchmark clean

help:  ## Show what can be made.
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/activate:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; say make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/activate
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/activate
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-all: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet 'torch==2.13.0' 'transformers>=5'
	touch $@

sandbox:
	@sh tools/install-sandbox.sh

tmux:
	@sh tools/install-tmux.sh

browser:
	@sh tools/install-browser.sh

setup: $(VENV)/.installed-dev sandbox tmux browser  ## Make the virtual environment with everything for development.

demo: $(VENV)/.installed sandbox  ## Prepare a task and compare two agents on it, three runs each.
	@sh tools/demo.sh $(BIN)/mlagentbench

lint: setup  ## Format, lint, types, import contract.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## Everything but what is slow; under 35 minutes on two cores.
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not slow" tests
	$(BIN)/python tests/as_user.py

test-all: lint $(VENV)/.installed-all  ## Everything.
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup tests
	$(BIN)/python tests/as_user.py tests/sandbox tests/auditing tests/environment tests/grading tests/agent tests/launch tests/cli

benchmark: setup  ## Measure the harness's own cost against peers; prints the table of docs/performance.md.
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/experiment.py

clean:  ## Remove the virtual environment and caches of tools.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
