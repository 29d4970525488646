# Two commands do everything on a fresh machine: `make demo` (set up, then the main job) and `make test`.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
RUNS := $(VENV)/.runs
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock

.PHONY: help setup demo test test-all campaign pictures servers lint lint-python lint-rust test-rust test-python site wheel clean

help: ## What there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## Set up .venv with tdelta and everything its tests need

$(STAMP): requirements.lock requirements-dev.lock requirements-alone.lock pyproject.toml $(RUST_SOURCES)
	@scripts/setup "$(VENV)"
	@touch $(RUNS) $@

# tdelta without what only its tests need.
$(RUNS): requirements.lock pyproject.toml $(RUST_SOURCES)
	@scripts/setup "$(VENV)" demo
	@touch $@

demo: $(RUNS) ## Set up and answer: what does AES-256 cost SQLite under an order-entry load?
	@$(BIN)/tdelta run || { code=$$?; [ $$code -eq 3 ] || exit $$code; }

test: setup servers lint test-rust test-python ## Set up and pass the tests that CI runs at a push

test-all: setup servers lint test-rust ## Pass every test: all engines and faults, Ray, the calibration grid, the benches
	@scripts/test-all "$(VENV)"

campaign: setup servers ## Hours: the grid at 1,000 experiments, 100 kills, thousands of mutations
	@scripts/campaign "$(VENV)"

pictures: setup servers ## Run the examples of the docs: their answers and the pictures of their pages
	@scripts/need-chromium
	@scripts/pictures "$(VENV)"

# Installs the servers that live tests drive if it may (root, or sudo without a password); elsewhere those tests skip.
servers:
	@scripts/need-servers --optional

lint: lint-python lint-rust

lint-python: setup
	$(BIN)/ruff check python tests benches scripts/reference
	$(BIN)/ruff format --check python tests benches scripts/reference
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest tdelta._native
	$(BIN)/python scripts/licences

lint-rust:
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

test-rust: lint-rust # one after the other: both are cargo's
	@MAKEFLAGS= scripts/test-rust

test-python: setup
	@scripts/test-python "$(VENV)"

site: ## Build the documentation as a site into target/site
	@scripts/site

wheel: setup ## Build the abi3 wheel into dist/
	@scripts/wheel dist

clean: ## Remove what was built
	rm -rf $(VENV) target dist python/tdelta/*.so
