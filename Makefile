# Everything a fresh machine needs is Python 3.11 or later with venv, and make. Paths here are relative: the checkout's
# folder may have blanks in its name.

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$$name" && break; done)
BIN := .venv/bin
N ?= 5
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-compile
# pip compiles with one core.
COMPILE := $(BIN)/python -m compileall -qq -j 0 .venv/lib || true
CHECKED := tests/test_docs.py tests/test_layout.py tests/test_prose.py
# Three processes for two cores: in a browser, half of a test's time is waiting; four where whole servers start and end.
PYTEST := --dist loadfile --no-loadscope-reorder
MISSING_PACKAGE := The packages could not be installed (pip's words stand above). Is the package index within reach? All \
	packages come ready-made, without a compiler, for Linux (glibc 2.28 or later, x86-64 and ARM64) and macOS with \
	Python 3.11 to 3.13; elsewhere use docker-compose.yml.

export PORT DATA_DIR
unexport DJANGO_SETTINGS_MODULE PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-slow check audit soak bench lock browser descriptions clean
.DEFAULT_GOAL := help

help:
	@echo 'make run     set up and start Concord on http://127.0.0.1:8000/ (PORT=8001 DATA_DIR=folder to choose)'
	@echo 'make test    make check, and beside it the tests (12 minutes on two cores)'
	@echo 'make test-slow    tests of whole servers, whole jobs in a browser, and whole packages (12 minutes)'
	@echo 'make check   lint, format, types, layers, migrations, docs but for their commands (under a minute)'
	@echo 'make audit   look the locked packages up among known vulnerabilities, where that can be done'
	@echo 'make soak    the long tests, N=5 times each'
	@echo 'make bench   measure'
	@echo 'make lock    choose the newest versions of all packages that pyproject.toml allows'

.venv/bin/python:
	@if [ -z '$(PYTHON)' ]; then \
		echo 'Concord needs Python 3.11 or later, and none was found. Install it (Debian, Ubuntu: apt-get install' \
			'python3 python3-venv) or name it: make run PYTHON=/path/to/python3.12' >&2; exit 1; fi
	@if ! '$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null; then \
		echo 'This Python has no venv. Install it (Debian, Ubuntu: apt-get install python3-venv) and start again.' >&2; \
		exit 1; fi
	@echo 'Making a virtual environment in .venv …'
	@rm -rf .venv
	@'$(PYTHON)' -m venv .venv || { rm -rf .venv; \
		echo 'The virtual environment could not be made; is this folder writable, and the disk not full?' >&2; exit 1; }

.venv/.installed: requirements.lock | .venv/bin/python
	@echo 'Installing the packages of requirements.lock (a minute or two, only now) …'
	@$(PIP) -r requirements.lock || { echo "$(MISSING_PACKAGE)" >&2; exit 1; }
	@$(COMPILE)
	@touch $@

.venv/.installed-dev: requirements-dev.lock | .venv/bin/python
	@echo 'Installing the packages of requirements-dev.lock (a minute or two, only now) …'
	@$(PIP) -r requirements-dev.lock || { echo "$(MISSING_PACKAGE)" >&2; exit 1; }
	@$(COMPILE)
	@touch .venv/.installed $@

run: .venv/.installed
	@exec $(BIN)/python manage.py up $(ARGS)

# A Chromium for the browser tests: the system's, or CHROMIUM, or installed where we may.
browser:
	@$(BIN)/python -m tests.find_chromium

# GitHub's published descriptions of its interfaces, which the local GitHub of the tests is held against.
descriptions:
	@$(BIN)/python -m tests.github.descriptions

check: .venv/.installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo 'Some files are not formatted: run .venv/bin/ruff format .' >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo || exit 1
	@$(BIN)/python -m tests.import_graph
	@$(BIN)/python -W 'ignore:Got an error checking' manage.py makemigrations --check --dry-run
	@$(BIN)/python -m pytest -q --no-header $(CHECKED)

test: .venv/.installed-dev
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory descriptions
	@$(MAKE) --no-print-directory check & check=$$!; \
		$(BIN)/python -m pytest -n 3 $(PYTEST) --budget $(CHECKED:%=--ignore=%); tested=$$?; \
		wait $$check && exit $$tested

test-slow: .venv/.installed-dev
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory descriptions
	@$(BIN)/python -m pytest -n 4 $(PYTEST) -m '(process or browser and slow) and not soak'

audit: .venv/.installed-dev
	@$(BIN)/python -m tests.audited

soak: .venv/.installed-dev
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory descriptions
	@for turn in $$(seq $(N)); do echo "Turn $$turn of $(N)"; $(BIN)/python -m pytest -m soak --timeout 3600 || exit 1; done
	@WHOLE=1 $(BIN)/python -m pytest -m hypothesis --timeout 3600

bench: .venv/.installed-dev
	@$(MAKE) --no-print-directory descriptions
	@$(BIN)/python -m bench

lock: .venv/.installed-dev
	@$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header -o requirements.lock
	@$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header -c requirements.lock -o requirements-dev.lock

clean:
	@rm -rf .github-descriptions .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis collected
