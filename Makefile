# Two commands do it all on a fresh machine: `make book` and `make test`.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
HTML := _build/html
BOOK_SOURCES := _config.yml _toc.yml $(NOTEBOOKS) $(shell find book src -type f -not -name '*.pyc' -not -path '*.egg-info*')

.PHONY: help book test refresh lint format serve repository clean
.DEFAULT_GOAL := help

help:
	@echo "make book        build the HTML book (and say where it is)"
	@echo "make test        unit tests, guards, every notebook, browser tests"
	@echo "make refresh     run every notebook and store its outputs"
	@echo "make lint        ruff and mypy over code and notebooks"
	@echo "make format      let ruff format code and notebooks"
	@echo "make serve       build the book and serve it on http://localhost:8000"
	@echo "make repository URL=https://github.com/OWNER/NAME   set the one repository address"

# Installed once, and again only when one of these files changes.
$(VENV)/installed: requirements.txt requirements-corpus.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-corpus.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@
