# The verbs of gpproj. Each one sets up what it needs; `make help` lists them.
#
#   PYTHON=python3.12 make test    uses that interpreter, in a folder of its own (.venv-3.12)
#   make test ARGS="-k kernels"    hands ARGS to pytest
#   make test WORKERS=0            runs in one process, as a debugger needs it
#   make reproduce ARGS=boston     runs that experiment; ARGS="boston --help" lists its options
#
# A stamp in the environment says which set of packages is in it; a set is installed again only
# when pyproject.toml or constraints.txt is newer than its stamp.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

VERSION_CODE := import sys; sys.exit(1) if sys.version_info < (3, 11) else print("%d.%d.%d" % sys.version_info[:3])

# Asked, not looked up: a name on the PATH may be a shim with no interpreter behind it.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,\
  $(if $(shell $(name) -c '$(VERSION_CODE)' 2>/dev/null),$(name))))
VERSION := $(if $(PYTHON),$(shell $(PYTHON) -c '$(VERSION_CODE)'))
VENV ?= .venv
else
VERSION := $(shell $(PYTHON) -c '$(VERSION_CODE)' 2>/dev/null)
VENV ?= .venv-$(basename $(VERSION))
endif

UV := $(shell command -v uv 2>/dev/null)
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL := $(if $(UV),uv pip install --quiet --python $(BIN)/python,$(PIP)) -c constraints.txt
LISTS := pyproject.toml constraints.txt
TORCH := $(PIP) -c constraints.txt torch==2.13.0

# Two at a time, each with one BLAS thread. A worker that has finished takes over half of what its
# neighbour has left, so that tests of a file mostly meet and share what they have computed.
WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist=worksteal

# The environment of exactly this interpreter: another version finds no such file and starts afresh.
MADE := $(VENV)/.stamp-python-$(VERSION)

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: demo venv venv-all test quick lint format types docs bench reproduce clean
demo: $(VENV)/.stamp-core ## find the inputs that matter in a small data set, with a table and plots
	@$(BIN)/gpproj demo

venv: $(VENV)/.stamp-test ## environment of the tests: core, test, mcmc, dask
venv-all: $(VENV)/.stamp-all ## environment of everything, torch included (Python 3.11)

test: $(VENV)/.stamp-test ## run the tests and the examples in the docstrings
	@$(PYTEST) $(ARGS)

quick: $(VENV)/.stamp-test ## run the short tests of every room, in less than a minute
	@$(PYTEST) -q -m "not slow and not long" $(ARGS)

lint: $(VENV)/.stamp-dev ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/.stamp-dev ## format and apply the safe fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/.stamp-dev ## check the types
	@$(BIN)/mypy

docs: $(VENV)/.stamp-docs ## build the documentation into docs/_build
	@$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build

bench: $(VENV)/.stamp-core ## time one evaluation against BLAS and scikit-learn
	@$(BIN)/python benchmarks/evaluation.py --n 400 --d 102 --json

# What computes on a device needs torch, too.
reproduce: $(VENV)/.stamp-mcmc $(if $(findstring --device,$(ARGS)),$(VENV)/.stamp-gpu) ## run an experiment of the paper: ARGS=toy, ARGS="boston --quick"
	@$(BIN)/python experiments/reproduce.py $(ARGS)

clean: ## remove the environments and everything built
	rm -rf .venv .venv-* dist docs/_build .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks experiments docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# An interrupted or foreign environment is replaced whole; a folder that is none is left alone.
$(MADE):
	@if [ -z "$(VERSION)" ]; then \
	  echo "gpproj needs Python 3.11 or newer: $(or $(PYTHON),no python3) does not run or is older; set PYTHON=" >&2; exit 1; fi
	@if [ -d "$(VENV)" ] && [ -n "$$(ls -A "$(VENV)")" ] && [ ! -f "$(VENV)/pyvenv.cfg" ]; then \
	  echo "$(VENV) is not a virtual environment; set VENV= to another folder" >&2; exit 1; fi
	@if [ -z "$(UV)" ] && ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$(PYTHON) cannot make virtual environments: install python$(basename $(VERSION))-venv (Debian, Ubuntu) or uv" >&2; exit 1; fi
	$(if $(UV),uv venv --quiet --seed --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV),$(PYTHON) -m venv --clear $(VENV))
	@touch $@

$(VENV)/.stamp-core: $(MADE) $(LISTS)
	$(INSTALL) -e .
	@touch $@

$(VENV)/.stamp-mcmc: $(MADE) $(LISTS)
	$(INSTALL) -e ".[mcmc]"
	@touch $@ $(VENV)/.stamp-core

$(VENV)/.stamp-gpu: $(MADE) $(LISTS)
	$(TORCH)
	@touch $@

$(VENV)/.stamp-test: $(MADE) $(LISTS)
	$(INSTALL) -e ".[test,mcmc,dask]"
	@touch $@ $(foreach set,core mcmc,$(VENV)/.stamp-$(set))

$(VENV)/.stamp-dev: $(MADE) $(LISTS)
	$(INSTALL) -e ".[dev]"
	@touch $@ $(VENV)/.stamp-core

$(VENV)/.stamp-docs: $(MADE) $(LISTS)
	$(INSTALL) -e ".[docs]"
	@touch $@ $(VENV)/.stamp-core

# pip throughout, and torch before what asks for any torch: pip keeps the build that is there.
$(VENV)/.stamp-all: $(MADE) $(LISTS)
	$(TORCH)
	$(PIP) -c constraints.txt -e ".[test,mcmc,dask,gpu,interop,docs,dev]"
	@touch $@ $(foreach set,core mcmc gpu test dev docs,$(VENV)/.stamp-$(set))
