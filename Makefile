# Every target sets up what it needs in .venv; a machine with Python 3.11+, make and a network is enough.
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of programs: each would compile all sources again if Python may not keep bytecode.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo native test proofs soak settings tables findings check sanitize bench speed policies image lock sbom audit format clean
.DEFAULT_GOAL := help

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

# The folders of the distributions that extend the crawler.
DISTRIBUTIONS := lab sites bridges/ray bridges/scrapy bridges/urlfrontier

.venv/core: pyproject.toml $(DISTRIBUTIONS:%=%/pyproject.toml) requirements/core.txt hatch_build.py src/periplus/content/common_words.py $(wildcard src/periplus/*/*/native/*)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv (once)"
	@$(PIP) install --require-hashes -r requirements/core.txt
	@$(PIP) install --no-deps --no-build-isolation -e . $(DISTRIBUTIONS:%=-e ./%)
	@touch $@

.venv/dev: .venv/core requirements/dev.txt
	@echo "adding what tests, checks and benchmarks need (once)"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# A program of its own: it wants other versions of what the command line is made of.
.venv/clients: .venv/core requirements/clients.txt
	@echo "setting up what makes clients of the API, for a test (once)"
	@$(PYTHON) -m venv --without-pip $@
	@$(PIP) --python $@/bin/python install --require-hashes -r requirements/clients.txt
	@touch $@

demo: .venv/core ## see it crawl, on a small web that comes with it
	@$(BIN)/periplus demo

native: .venv/core ## compile the page scanner and the search in runs again, after a change of their C sources
	@$(BIN)/python hatch_build.py

PYTEST = $(BIN)/python -m pytest -n $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 2))") --dist loadfile --no-loadscope-reorder

# A test that stands still for five minutes ends its worker, with the stacks of all threads.
BOUND = -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true

# FOR=parts/forms: the tests that cover this folder of the source; SINCE=main: those that cover what has changed since.
RUN = files=$$($(BIN)/python -m tests.covering $(if $(SINCE),--since $(SINCE),$(FOR))) && $(PYTEST) $(BOUND)

test: .venv/dev .venv/clients ## every behaviour, and the main job from end to end (FOR=parts/forms, SINCE=main: what covers that)
	@$(RUN) -m "not proof and not slow" $$files

proofs: .venv/dev ## what proves by repetition: statistics, planted bugs, kills, generated crawls, labs, browsers (FOR=, SINCE=)
	@$(RUN) -m "proof and not slow" $$files || [ $$? = 5 ] # none of them is a proof

MINUTES ?= 1
soak: .venv/dev ## the slow tests, then crawls on failing disks and of generated webs from seeds (MINUTES=60: an hour each)
	@$(PYTEST) -m slow
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "not slow" tests/properties
	@$(BIN)/python -m tests.faults.soak --minutes $(MINUTES)
	@$(BIN)/python -m tests.meeting.soak --minutes $(MINUTES)
	@$(BIN)/python -m tests.verdicts.soak --minutes $(MINUTES)

settings: .venv/dev ## write again what follows from the declarations of settings: types of keywords, docs/settings.md
	@$(BIN)/python -m tests.declared

tables: .venv/dev ## write again what follows from the declarations of tables and views: docs/tables.md, docs/measures.md
	@$(BIN)/python -m tests.declared_tables

findings: .venv/dev ## write again what follows from the declarations of findings: docs/findings.md, the table of docs/audit.md
	@$(BIN)/python -m tests.declared_findings

check: .venv/dev ## style, types, the plan of the house, the docs
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(PIP) check
	@$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py

sanitize: .venv/dev ## read 20,000 mutated pages with the compiled scanner under sanitizers
	@$(BIN)/python -m tests.native.sanitize

bench: .venv/dev ## compare with every peer, in one run on this machine (QUICK=1: in two minutes, roughly)
	@$(BIN)/python -m bench $(if $(QUICK),--quick)

speed: .venv/dev ## compare the CPU time of a page with that at a pinned commit (COUNT=1: also instructions, by valgrind)
	@$(BIN)/python -m bench.speed.guard $(if $(COUNT),--count)

policies: .venv/core ## measure every ordering and refresh policy again, into docs/policies
	@$(BIN)/python -m bench.policy_pages docs

image: ## build the container image and run the demo in it; without docker or podman, check the Dockerfile's steps
	@PYTHON=$(PYTHON) docker/check $(if $(QUICK),--quick)

.venv/release: requirements/release.txt
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/release.txt
	@touch $@

LOCK = .venv/release/bin/uv pip compile --generate-hashes --universal --python-version 3.11 --no-header --no-annotate --quiet --upgrade

lock: .venv/release ## take the newest versions of all dependencies into requirements/, with their hashes
	@$(LOCK) pyproject.toml requirements/build.in -o requirements/core.txt
	@$(LOCK) pyproject.toml --extra search --extra web -o requirements/image.txt
	@$(LOCK) pyproject.toml $(DISTRIBUTIONS:%=%/pyproject.toml) requirements/build.in --all-extras --no-emit-package periplus -o requirements/dev.txt
	@$(LOCK) requirements/release.in -o requirements/release.txt
	@$(LOCK) requirements/clients.in -o requirements/clients.txt

sbom: .venv/release ## list every part of an installation with its licence, in dist/sbom.json (CycloneDX)
	@rm -rf dist/parts && $(PYTHON) -m venv dist/parts
	@dist/parts/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/image.txt
	@dist/parts/bin/python -m pip --disable-pip-version-check --quiet uninstall --yes pip setuptools
	@.venv/release/bin/cyclonedx-py environment dist/parts/bin/python --pyproject pyproject.toml --output-reproducible -o dist/sbom.json
	@rm -r dist/parts && echo "dist/sbom.json"

audit: .venv/release ## ask for known weaknesses of all dependencies (needs a network)
	@.venv/release/bin/pip-audit --require-hashes --disable-pip -r requirements/dev.txt

format: .venv/dev ## put the code in its one form
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## forget .venv and every cache
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/results bench/.peers bench/.speed
