# `make demo` and `make test` are all the set-up there is: each installs what it needs into $(VENV).
VENV ?= .venv
PYTHON ?= python3
# Where an environment keeps its programs.
IN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(IN)
PIP := $(BIN)/python -m pip install --quiet
ENGINES := $(VENV)-engines
LOWEST := $(VENV)-lowest
LIGHT := $(VENV)-light
RELEASE := $(VENV)-release

.PHONY: demo test test-engines test-lowest test-light check dist tagged newcomer bench bench-batches docs probe-demo clean

demo: $(VENV)/.demo
	$(BIN)/python examples/quickstart.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# Ray, Spark and datasets, about 1 GB, in an environment of their own; Spark needs Java 17 or 21.
test-engines: $(ENGINES)/.engines
	$(ENGINES)/$(IN)/python -m pytest -m engines tests/engines

# The core and both adapters on the lowest versions that pyproject.toml declares, on the oldest Python.
test-lowest: $(LOWEST)/.lowest
	$(LOWEST)/$(IN)/python -m pytest tests/core tests/values tests/adapters tests/langchain tests/llamaindex

# The core, and the contract that both adapters keep, without torch: quick, on any Python.
test-light: $(LIGHT)/.light
	$(LIGHT)/$(IN)/python -m pytest tests/core tests/values tests/adapters

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --co > /dev/null

# What is published, checked as the index will check it.
dist: $(RELEASE)/.release
	rm -rf dist
	$(RELEASE)/$(IN)/python -m build
	$(RELEASE)/$(IN)/twine check --strict dist/*

# What goes out under a tag v1.2.3 is version 1.2.3, and CHANGELOG tells of it.
tagged:
	@grep -qxF "version = \"$${TAG#v}\"" pyproject.toml || { echo "pyproject.toml has another version than $$TAG"; exit 1; }
	@grep -qF "## [$${TAG#v}]" CHANGELOG.md || { echo "CHANGELOG.md does not tell of $$TAG"; exit 1; }

# README's programs as a newcomer runs them: pasted into an empty folder, with the named extra alone and no network.
newcomer: dist
	$(PYTHON) .ci/newcomer.py README.md dist

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/placing.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/text.py
	$(BIN)/python benchmarks/reranking.py
	$(BIN)/python benchmarks/power.py
	$(BIN)/python benchmarks/deciding.py
	$(BIN)/python benchmarks/orders.py

bench-batches: $(VENV)/.dev
	$(BIN)/python benchmarks/batches.py

# The site, in site/: open site/index.html.
docs: $(VENV)/.docs
	$(BIN)/properdocs build --strict --config-file .properdocs.yml

# A real local model on made-up records: where in a block of 20 does it find the one that was asked for?
probe-demo: $(VENV)/.probe
	$(BIN)/edgeorder probe --model local --cases facts --questions 40 --fixed --cache .probe --out .probe/profile.json --report .probe/report.html

clean:
	rm -rf $(VENV) $(ENGINES) $(LOWEST) $(LIGHT) $(RELEASE) dist site

# Dependency groups need pip 25.1.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[langchain,llamaindex,text]' --group demo
	touch $@

$(ENGINES)/.engines: pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/$(IN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(ENGINES)/$(IN)/python -m pip install --quiet --editable '.[batch]' --group engines
	touch $@

# uv can choose the lowest versions, pip cannot. Files are copied, since nltk refuses links. torch, which is not ours to
# choose, comes as for all other tests.
$(LOWEST)/.lowest: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/$(IN)/python -m pip install --quiet 'uv>=0.9' torch==2.13.0
	$(LOWEST)/$(IN)/python -m uv pip install --quiet --python $(LOWEST)/$(IN)/python --link-mode copy --resolution lowest-direct --editable '.[all]' --group test
	touch $@

$(LIGHT)/.light: pyproject.toml
	$(PYTHON) -m venv $(LIGHT)
	$(LIGHT)/$(IN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(LIGHT)/$(IN)/python -m pip install --quiet --editable '.[agents,llamaindex,text]' --group light
	touch $@

$(RELEASE)/.release: pyproject.toml
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/$(IN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RELEASE)/$(IN)/python -m pip install --quiet --group release
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
	$(PIP) --editable '.[all,local,gguf]' --group dev
	touch $@ $(VENV)/.demo $(VENV)/.docs $(VENV)/.probe
