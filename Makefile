PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp

.PHONY: setup demo test thorough lint types docs notation bench experiments experiments-series experiments-packets experiments-patterns fuzz mutants redteam format clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timeveil needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/timeveil demo

test: lint types
	$(BIN)/python -m pytest

thorough: lint types
	THOROUGH=1 $(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

notation: setup
	$(BIN)/python -m docs.notation

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks

experiments: setup
	$(BIN)/python -m benchmarks.experiments.stream $(DATA)

experiments-series: setup
	$(BIN)/python -m benchmarks.experiments.series $(DATA)

experiments-packets: setup
	$(BIN)/python -m benchmarks.experiments.packets $(DATA)

experiments-patterns: setup
	$(BIN)/python -m benchmarks.experiments.patterns $(DATA)

mutants: setup
	$(BIN)/python -m tests.mutants --number $(or $(MUTANTS),200)

redteam: setup
	$(BIN)/python -m tests.redteam --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

fuzz: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz $(TARGETS)

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
