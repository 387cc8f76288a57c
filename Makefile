PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OLDEST := .venv-oldest
PIP     = -m pip --disable-pip-version-check install

.PHONY: setup demo serve test pytest test-oldest test-install thorough lint types docs notation bench experiments experiments-local experiments-series experiments-packets experiments-patterns fuzz mutants redteam format clean

setup: $(VENV)/.dev

# One stamp for each set of packages: the demo needs fewer than the tests.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing what $(if $(filter plain,$*),timeveil,'$*') needs into $(VENV); this happens once."
	$(BIN)/python $(PIP) --editable '.$(if $(filter-out plain,$*),[$*])'
	@touch $@

# Without this line make would remove the interpreter at its end, as a file that only rules of patterns name.
.PRECIOUS: %/bin/python

%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timeveil needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $*

demo: $(VENV)/.plain
	@$(BIN)/timeveil demo
	@echo "To do the same in a browser, on made-up tables of all four kinds: make serve"

serve: $(VENV)/.web
	@test -d build/demo || $(BIN)/python -m timeveil.datasets build/demo
	@$(BIN)/timeveil serve --root build/demo

# Types are checked while tests run; it ends with an error if either finds one.
test: lint
	@$(MAKE) --no-print-directory --jobs 2 types pytest

# Spark is tested where there is Java to run it; PySpark is large, so it is installed there only.
JAVA := $(shell command -v java)

pytest: setup $(if $(JAVA),$(VENV)/.spark)
	@$(if $(JAVA),,echo "LEFT OUT: tests of Spark, which need Java: install a JRE 17 to run them")
	$(BIN)/python -m pytest

# The oldest versions that pyproject.toml admits, on the tests that depend most on them.
test-oldest: $(OLDEST)/.stamp
	$(OLDEST)/bin/python -m pytest tests/conformance/test_engines.py tests/conformance/test_judges.py tests/paper tests/unit/reading tests/cli/test_frame.py tests/cli/test_report.py tests/cli/test_publish_stream.py

$(OLDEST)/.stamp: pyproject.toml | $(OLDEST)/bin/python
	$(OLDEST)/bin/python tests/packaging/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python $(PIP) --constraint $(OLDEST)/oldest.txt --editable '.[test]'
	@touch $@

# As on a machine without a network: from a folder of wheels, into a new environment.
test-install: $(VENV)/.plain
	rm -rf build
	$(BIN)/python -m pip --disable-pip-version-check wheel --wheel-dir build/wheels .
	$(PYTHON) -m venv build/venv
	build/venv/bin/python $(PIP) --no-index --find-links build/wheels timeveil
	cd build && venv/bin/timeveil demo

thorough: lint types
	THOROUGH=1 $(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

docs: setup $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

notation: setup
	$(BIN)/python -m docs.notation

bench: setup $(VENV)/.bench
	$(BIN)/python -m benchmarks

experiments: setup
	$(BIN)/python -m benchmarks.experiments.stream $(DATA)

experiments-local: setup
	$(BIN)/python -m benchmarks.experiments.local $(DATA)

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

fuzz: setup $(VENV)/.fuzz
	$(BIN)/python -m tests.fuzz $(TARGETS)

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(OLDEST) build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
