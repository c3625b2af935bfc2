# Two commands do it all on a fresh machine: `make book` and `make test`.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PAGE := _build/html/index.html
BUILT := _build/built
BOOK_SOURCES := _config.yml _toc.yml $(wildcard notebooks/*.ipynb tools/*.py) \
	$(shell find book src benchmarks/results -type f -not -name '*.pyc' -not -path '*.egg-info*')
WIDTH := --line-length=79
# Two files at a time, each on one thread: small tensors gain nothing from more, and lose by waiting.
export OMP_NUM_THREADS ?= 1
PAIRS := -n 2 --dist loadfile
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with=tests/nbval_sanitize.cfg \
	--nbval-cell-timeout=120
NO_UNIT := accessibility book guards ledger notebooks prose text tools
UNIT := $(filter-out $(NO_UNIT:%=tests/test_%.py),$(wildcard tests/test_*.py))

.PHONY: help book test refresh lint format serve repository pdf colab replay measure long-runs coverage mutants clean
.DEFAULT_GOAL := help

help:
	@echo "make book        build the HTML book (and say where it is)"
	@echo "make test        unit tests, guards, every notebook, browser tests"
	@echo "make refresh     run every notebook and store its outputs"
	@echo "make lint        ruff and mypy over code and notebooks"
	@echo "make format      let ruff format code and notebooks"
	@echo "make serve       build the book and serve it on http://localhost:8000"
	@echo "make repository URL=https://github.com/OWNER/NAME   set the one repository address"
	@echo "make pdf         the whole book as one PDF"
	@echo "make colab       run each notebook as Colab would"
	@echo "make replay      run each cell of each notebook twice in a row"
	@echo "make measure     speed, run times and page weights, for the book's pages"
	@echo "make long-runs   the long trainings that chapter 17 shows"
	@echo "make coverage    lines and branches of the package that the unit tests reach"
	@echo "make mutants     break the package on purpose and see the tests fail"
	@echo "make clean       remove what was built (not $(VENV))"

# Installed once, and again only when one of these files changes.
$(VENV)/installed: requirements.txt requirements-corpus.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) --no-deps -r requirements-corpus.txt
	$(PIP) --no-deps --editable .
	@$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@

# Built afresh whenever anything in it changed: a stale page or a warning once seen can't hide.
$(BUILT): $(VENV)/installed $(BOOK_SOURCES)
	@$(BIN)/python tools/notebooks.py fresh
	@rm -rf _build
	$(BIN)/jupyter-book build . -W -n --keep-going
	@touch $@

book: $(BUILT)
	@echo "The book is in $(PAGE): open it in a browser, or run make serve."

# Both runs always happen, and both must pass. (A network namespace of its own, as made by
# unshare -n, starts without the loopback that Jupyter kernels need.)
test: $(VENV)/installed
	@ip link set lo up 2>/dev/null || true
	@tests=passed; notebooks=passed; \
	$(BIN)/python -m pytest $(PAIRS) tests || tests=FAILED; \
	$(BIN)/python -m pytest $(PAIRS) $(NBVAL) notebooks || notebooks=FAILED; \
	echo "make test: tests $$tests, notebooks $$notebooks"; \
	test "$$tests $$notebooks" = "passed passed"

refresh: $(VENV)/installed
	@$(BIN)/python tools/notebooks.py refresh

lint: $(VENV)/installed
	$(BIN)/ruff check . --exclude '*.ipynb'
	$(BIN)/ruff check notebooks $(WIDTH)
	$(BIN)/ruff format --check . --exclude '*.ipynb'
	$(BIN)/ruff format --check notebooks $(WIDTH)
	$(BIN)/mypy

format: $(VENV)/installed
	$(BIN)/ruff format . --exclude '*.ipynb'
	$(BIN)/ruff format notebooks $(WIDTH)

serve: $(BUILT)
	@echo "http://localhost:8000 (stop with Ctrl-C)"
	@$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory _build/html

repository: $(VENV)/installed
	@test -n "$(URL)" || { echo "make repository URL=https://github.com/OWNER/NAME"; exit 2; }
	@$(BIN)/python tools/notebooks.py repository "$(URL)"

pdf: $(BUILT)
	@$(BIN)/python tools/pdf.py

colab: $(VENV)/installed
	$(BIN)/python -m pytest -n 2 tests/colab

replay: $(VENV)/installed
	$(BIN)/python -m pytest $(PAIRS) tests/replay

# The runs that chapter 17 shows: minutes each.
long-runs: $(VENV)/installed
	@for name in better well-known; do \
	  $(BIN)/python -m attention_lab.train --config benchmarks/$$name.toml --out runs/$$name --sample 400 && \
	  cp runs/$$name/history.json src/attention_lab/teaching/runs/$$name.json || exit 1; done

# Each writes its table to benchmarks/results, and the book shows it. On an idle machine, please.
measure: $(BUILT)
	$(BIN)/python benchmarks/speed.py --threads 1
	$(BIN)/python benchmarks/speed.py --threads 2
	$(BIN)/python benchmarks/time_to_loss.py
	$(BIN)/python benchmarks/run_times.py
	$(BIN)/python benchmarks/page_weight.py

# Without the notebooks, the book and the browser: what the unit tests alone reach.
coverage: $(VENV)/installed
	$(BIN)/python -m pytest $(PAIRS) -m "not browser" $(UNIT) --cov=attention_lab --cov-branch \
		--cov-report=term-missing:skip-covered --cov-fail-under=95

mutants: $(VENV)/installed
	$(BIN)/python tools/mutants.py

clean:
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis
