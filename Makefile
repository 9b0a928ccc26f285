# `make demo` and `make test` are all the set-up there is: each installs what it needs into $(VENV).
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet

.PHONY: demo test test-engines check bench bench-batches docs probe-demo clean

demo: $(VENV)/.demo
	$(BIN)/python examples/quickstart.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# Ray, Spark and datasets, about 1 GB, in an environment of their own; Spark needs Java 17 or 21.
test-engines: $(VENV)-engines/.engines
	$(VENV)-engines/bin/python -m pytest -m engines tests/engines

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --co > /dev/null

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/placing.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/reranking.py
	$(BIN)/python benchmarks/power.py
	$(BIN)/python benchmarks/deciding.py
	$(BIN)/python benchmarks/orders.py

bench-batches: $(VENV)/.dev
	$(BIN)/python benchmarks/batches.py

# The site, in site/: open site/index.html, or serve the folder to search it.
docs: $(VENV)/.docs
	$(BIN)/properdocs build --strict --config-file mkdocs.yml

# A real local model on made-up records: where in a block of 20 does it find the one that was asked for?
probe-demo: $(VENV)/.probe
	$(BIN)/edgeorder probe --model local --cases facts --questions 40 --fixed --cache .probe --out .probe/profile.json --report .probe/report.html


clean:
	rm -rf $(VENV) $(VENV)-engines site

# Dependency groups need pip 25.1.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[langchain,llamaindex,text]' --group demo
	touch $@

$(VENV)-engines/.engines: pyproject.toml
	$(PYTHON) -m venv $(VENV)-engines
	$(VENV)-engines/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-engines/bin/python -m pip install --quiet --editable '.[batch]' --group engines
	touch $@

$(VENV)/.probe: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[local]'
	mkdir -p .probe
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) --group docs
	touch $@

# torch first: asked for by its version it is the small CPU build where one is offered.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all,local]' --group dev
	touch $@ $(VENV)/.demo $(VENV)/.docs $(VENV)/.probe
