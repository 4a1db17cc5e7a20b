# Everything one does with Dealsite. Each step leaves a stamp in build/stamps and is repeated when what it read changed.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STAMPS := build/stamps
pip_install = $(or $(2),$(BIN))/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1) || { echo \
  "pip could not install the packages; without a network, set PIP_INDEX_URL to a package index that this machine reaches." >&2; exit 1; }

# Given on make's command line, or in the environment: which port, which data folder.
ifdef PORT
export PORT
endif
ifdef DEALSITE_VAR
export DEALSITE_VAR
endif

STATIC_SOURCES := $(shell find static templates cms shopping dealsite/templatetags locale -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: help
help: ## Say what there is to make
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1|/' | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'
	@echo
	@echo "  PORT=8001 and DEALSITE_VAR=folder change where the site listens and keeps its data."

.PHONY: setup
setup: $(STAMPS)/python $(STAMPS)/packages $(STAMPS)/assets ## Prepare everything that running the site needs

.PHONY: setup-dev
setup-dev: setup $(STAMPS)/python-dev $(STAMPS)/local-engine ## Prepare everything that the tests need, too
	@$(BIN)/python -m dealsite.install chromium
	@git config core.hooksPath .githooks 2>/dev/null || true # in a checkout

.PHONY: run
run: setup ## Run the site until Ctrl-C; with PORT=8001 and DEALSITE_VAR=folder a second one beside it
	@exec $(BIN)/python manage.py run

.PHONY: dev
dev: setup ## Run the site, reload it when a file changes, show errors
	@exec $(BIN)/python manage.py run --dev

# Compiled tests are kept, whatever the environment says: to compile them anew takes longer than to collect them.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist worksteal --durations=20
MAY_BE_NONE := $(if $(TESTS),|| [ $$? -eq 5 ]) # of some tests, perhaps none belongs to a run

.PHONY: test
test: setup-dev ## Run what every change has to pass; TESTS='tests/data -k brand' for some of it, SEED=2026-11-25 for the samples of a day
	$(PYTEST) --run=quick $(TESTS) $(MAY_BE_NONE)

.PHONY: test-all
test-all: test ## Run make test and then the thorough tests
	$(PYTEST) --run=thorough $(TESTS) $(MAY_BE_NONE)

.PHONY: test-part
test-part: setup-dev ## Run one of twelve parts of the thorough tests: PART=7
	$(PYTEST) --run=thorough --part=$(PART)

.PHONY: test-release
test-release: test-all ## Run make test-all and then whole sites: set-up, kills, a soak, the blocks of the docs
	$(PYTEST) --run=release $(TESTS) $(MAY_BE_NONE)

SINCE ?= HEAD~1
.PHONY: mutants
mutants: setup-dev $(STAMPS)/python-mutants ## Change the lines since SINCE=HEAD~1, one at a time; say what TESTS=... do not notice
	@tests/mutants.sh $(SINCE) $(TESTS)

.PHONY: check
check: setup $(STAMPS)/python-dev ## Check style, types, templates, who imports whom, and that nothing is unused
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/djlint templates --check --lint
	$(BIN)/lint-imports
	$(BIN)/python -m tests.dead_code
	$(BIN)/python -m tests.derived --check
	@DEALSITE_SECRET_KEY=none $(BIN)/python manage.py texts --check

.PHONY: docs
docs: setup $(STAMPS)/python-dev ## Write what docs repeat of the code; a commit does so, too
	$(BIN)/python -m tests.derived

.PHONY: format
format: $(STAMPS)/python-dev ## Format code and templates
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	-$(BIN)/djlint templates --reformat --quiet

.PHONY: texts
texts: setup ## Bring locale/ up to date with the texts in the sources
	@$(BIN)/python manage.py texts

.PHONY: bench
bench: setup $(STAMPS)/python-dev ## Measure pages, calls, requests and checkouts per second, and a message to all
	$(BIN)/python -m benchmarks

MINUTES ?= 10
.PHONY: soak
soak: setup $(STAMPS)/python-dev ## Load a whole site for MINUTES=10, and fail if memory, files or times grow
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

.PHONY: bench-payments
bench-payments: setup $(STAMPS)/python-dev ## Load a million payments of 8 KB: takes half an hour and 30 GB of disk
	$(BIN)/python -m benchmarks.payments

.PHONY: bench-million
bench-million: setup $(STAMPS)/python-dev ## Compare each page of 400 deals with a million: takes most of an hour and 15 GB of disk
	$(BIN)/python -m benchmarks.million

.PHONY: bench-oscar
bench-oscar: setup $(STAMPS)/python-dev $(STAMPS)/oscar ## Compare pages with those of a django-oscar site on PostgreSQL
	$(BIN)/python -m benchmarks.oscar

.PHONY: requirements
requirements: $(STAMPS)/python-dev ## Pin the newest versions of what the requirements*.in files name
	for name in requirements "requirements-otel --constraint=requirements.txt" "requirements-opensearch --constraint=requirements.txt" requirements-dev requirements-mutants requirements-oscar requirements-node requirements-java; do \
	  set -- $$name; \
	  $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	    --upgrade $$1.in --output-file $$1.txt $$2 || exit 1; \
	done

.PHONY: dist
dist: setup ## Build the wheels in dist/, with all that pages load: they run without Node
	@$(BIN)/python -m dealsite.install wheel

.PHONY: sbom
sbom: setup $(STAMPS)/python-dev ## List every package that set-up installs in build/sbom.json (CycloneDX)
	@$(BIN)/python -m tests.sbom

.PHONY: clean
clean: ## Remove what set-up made; the data in var/ stays
	rm -rf .venv build node_modules

# Steps

$(STAMPS):
	@mkdir -p $@

$(BIN)/python: | $(STAMPS)
	@echo "Making .venv ..."
	@$(PYTHON) -m dealsite.install virtualenv

$(STAMPS)/python: requirements.txt | $(BIN)/python $(STAMPS)
	@echo "Installing the requirements ..."
	@$(call pip_install,requirements.txt)
	@touch $@

$(STAMPS)/python-dev: requirements-dev.txt $(STAMPS)/python
	@echo "Installing the requirements of tests and checks ..."
	@$(call pip_install,requirements-dev.txt)
	@touch $@

$(STAMPS)/python-mutants: requirements-mutants.txt $(STAMPS)/python-dev
	@$(call pip_install,requirements-mutants.txt)
	@touch $@

$(STAMPS)/oscar: requirements-oscar.txt | $(BIN)/python $(STAMPS)
	@echo "Installing django-oscar in build/oscar ..."
	@$(BIN)/python -m venv --clear build/oscar
	@$(call pip_install,requirements-oscar.txt,build/oscar/bin)
	@touch $@

$(STAMPS)/packages: package.json package-lock.json .npmrc requirements-node.txt requirements-java.txt | $(STAMPS)/python
	@echo "Installing npm's packages ..."
	@$(BIN)/python -m dealsite.install packages
	@touch $@

$(STAMPS)/local-engine: dealsite/install/packages.py requirements-java.txt | $(STAMPS)/packages
	@$(BIN)/python -m dealsite.install local-engine
	@touch $@

$(STAMPS)/assets: $(STATIC_SOURCES) dealsite/install/packages.py dealsite/text/translations.py $(STAMPS)/packages $(STAMPS)/python
	@echo "Building the CSS, the scripts and the icons ..."
	@DEALSITE_SECRET_KEY=none $(BIN)/python manage.py build_assets
	@touch $@
