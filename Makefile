# Two commands for a new machine: `make demo` and `make test`. Each creates .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench figures clean

demo: .venv/installed
	$(BIN)/bestchannel capacity data/ibm_readout/rochester.json
	$(BIN)/bestchannel identify --simulate data/ibm_readout/rochester.json --delta 0.01 --seed 1

test: .venv/developer
	$(BIN)/python -m pytest -n auto

lint: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/peers
	$(BIN)/python -m benchmarks

figures: .venv/developer
	$(BIN)/python docs/make_figures.py

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bestchannel needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# pip learned dependency groups in 25.1
.venv/developer: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@ .venv/installed

.venv/peers: .venv/developer
	$(BIN)/python -m pip install --quiet --group peers
	touch $@

clean:
	rm -rf .venv build dist
