# Every target sets up what it needs in .venv; a machine with Python 3.11+, make and a network is enough.
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of programs: each would compile all sources again if Python may not keep bytecode.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo native test soak check sanitize bench policies image format clean
.DEFAULT_GOAL := help

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

.venv/core: pyproject.toml constraints.txt hatch_build.py $(wildcard src/periplus/content/scan/native/*)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv (once)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

.venv/test: .venv/core
	@$(PIP) install -c constraints.txt -e '.[test]'
	@touch $@

.venv/check: .venv/test
	@$(PIP) install -c constraints.txt -e '.[check]'
	@touch $@

.venv/bench: .venv/core
	@$(PIP) install -c constraints.txt -e '.[bench]'
	@touch $@

demo: .venv/core ## see it crawl, on a small web that comes with it
	@$(BIN)/periplus demo

native: .venv/core ## compile the page scanner again, after a change of its C sources
	@$(BIN)/python hatch_build.py

PYTEST = $(BIN)/python -m pytest -n $(shell $(PYTHON) -c "import os; print(3 * (os.cpu_count() or 2) // 2)") --dist loadfile --no-loadscope-reorder

test: .venv/test ## the tests, but for the slow ones (they mostly wait, so there are more at once than cores)
	@$(PYTEST) -m "not slow"

MINUTES ?= 1
soak: .venv/test ## the slow tests, then crawls on failing disks from seeds (MINUTES=60: for an hour)
	@$(PYTEST) -m slow
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) -m 'not slow' tests/properties
	@$(BIN)/python -m tests.faults.soak --minutes $(MINUTES)

check: .venv/check ## style, types, the plan of the house, the docs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py tests/test_exports.py

sanitize: .venv/test ## read 20,000 mutated pages with the compiled scanner under sanitizers
	@$(BIN)/python -m tests.native.sanitize

bench: .venv/bench ## compare with every peer, in one run on this machine (QUICK=1: in two minutes, roughly)
	@$(BIN)/python -m bench $(if $(QUICK),--quick)

policies: .venv/core ## measure every ordering and refresh policy again, into docs/policies
	@$(BIN)/python -m periplus.lab.simulate.policy_pages docs

image: ## build the container image and run the demo in it; without docker or podman, check the Dockerfile's steps
	@PYTHON=$(PYTHON) docker/check $(if $(QUICK),--quick)

format: .venv/check ## put the code in its one form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## forget .venv and every cache
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/results bench/.peers
