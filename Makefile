# Two commands for a new machine: `make demo` and `make test`. Each creates .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo live test lint sanitize wheels bench gpu-test gpu-bench figures screenshots statistics docs lock clean

# What the library of kernels is built from: installing anew builds it anew
KERNELS := hatch_build.py $(wildcard src/bestchannel/native/*.[ch])

# The best read-out of a real device with its report; then a near-tie, which 2·10⁷ senses leave undecided (exit code 3)
demo: .venv/installed
	$(BIN)/bestchannel capacity data/ibm_readout/rochester.json
	mkdir -p build && rm -f build/demo.db*
	$(BIN)/bestchannel identify --simulate data/ibm_readout/rochester.json --delta 0.01 --seed 1 --run build/demo.db
	$(BIN)/bestchannel report build/demo.db -o build/report.html
	$(BIN)/bestchannel identify --simulate data/ibm_readout/torino.json --max-senses 20000000 --seed 1 || test $$? -eq 3

# A service, four simulated instruments as processes, and the page, until the best channel is named
live: .venv/served
	$(BIN)/python examples/live/live.py build/live

# A file of tests stays with one worker, so that what its tests share is made once
test: .venv/developer
	$(BIN)/python -m pytest -n auto --dist loadfile -rs

lint: .venv/developer
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The tests of the kernels with a library that looks for faults, in a folder of its own
sanitize: .venv/developer
	$(BIN)/python -m tests.native.sanitized

# One wheel for every Python 3 on each platform, built here; what cannot run here is built and not tried
wheels: .venv/developer
	$(BIN)/python -m pip install --quiet build ziglang
	for target in $$($(BIN)/python hatch_build.py targets); do \
		BESTCHANNEL_TARGET=$$target $(BIN)/python -m build --wheel --outdir dist || exit 1; done

bench: .venv/peers
	$(BIN)/python -m benchmarks

# Where there is a CUDA device: its tests, then 10⁶ random and 10⁶ hostile channels against the host
gpu-test: .venv/gpu
	XLA_PYTHON_CLIENT_PREALLOCATE=false $(BIN)/python -m pytest -rs tests/capacity/test_device.py tests/capacity/test_device_refusals.py
	$(BIN)/python -m tests.capacity.device_comparison 1000000 7

gpu-bench: .venv/gpu
	$(BIN)/python -m benchmarks.device

figures: .venv/developer
	$(BIN)/python docs/make_house.py
	$(BIN)/python docs/make_figures.py

# Report and terminal, as docs/images has them; wants Chromium
screenshots: .venv/developer demo
	$(BIN)/python -m tests.browser.screenshots
	$(BIN)/python -m tests.browser.live_screenshots

# All of the large studies, or some of them: make statistics STUDIES="efficiency power". Ctrl-C loses nothing.
statistics: .venv/developer
	$(BIN)/python docs/make_statistics.py $(STUDIES)

# docs/ and docstrings as a site that opens from disk: build/site/index.html. A warning is an error.
# INTERSPHINX=1 make docs also links to the pages of Python, NumPy and SciPy, as far as they can be reached
docs: .venv/developer
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/site

# The newest versions that fit pyproject.toml, as CI and the container install them
lock: .venv/developer
	mkdir -p build
	PIP_CONSTRAINT= $(BIN)/python -m pip install --quiet --dry-run --ignore-installed --report build/lock.json --editable . --group dev
	$(BIN)/python deployment/lock.py build/lock.json > build/constraints.txt
	mv build/constraints.txt deployment/constraints.txt

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bestchannel needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml $(KERNELS)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/served: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[service]"
	touch $@

# pip learned dependency groups in 25.1
.venv/developer: .venv/bin/python pyproject.toml $(KERNELS)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@ .venv/installed .venv/served

.venv/gpu: .venv/developer
	$(BIN)/python -m pip install --quiet --editable ".[gpu]"
	touch $@

.venv/peers: .venv/developer
	$(BIN)/python -m pip install --quiet --group peers
	touch $@

clean:
	rm -rf .venv build dist
