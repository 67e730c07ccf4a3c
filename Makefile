# Thin names over cargo; `make help` tells them. What a bare Debian machine lacks, scripts/need installs or names.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.PHONY: build run test test-engine memcheck demo bench servers lint help

export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
RELEASE_MODULE := $(TARGET)/release/libdq.so
DEBUG_MODULE := $(TARGET)/debug/libdq.so

# What can be set on the command line.
PORT := 6379
DATA := data
SERVERS := default
MEMCHECK := late_wake early_wake unfair_service unended_wait coinciding_end blocked_script served_in_pause unequal_service
ARGS :=

build: ## Build the release module, target/release/libdq.so; plain `make` does this
	@scripts/need cargo cc libclang
	cargo build --release

run: ## Start a redis-server with the module in the foreground (PORT=6379, DATA=data)
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	@scripts/run-server $(RELEASE_MODULE) $(PORT) "$(abspath $(DATA))"

test: ## Everything that must pass: format, lints, engine, real servers (SERVERS=all, or names: see `make servers`)
	@scripts/need cargo cc libclang redis-server faketime
	$(if $(filter-out default,$(SERVERS)),@$(MAKE) --no-print-directory servers)
	cargo fmt --all --check
	cargo test -p dq-engine
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test -p dq-bench
	cargo test --examples
	cargo build
	scripts/test-servers $(DEBUG_MODULE) $(SERVERS)

test-engine: ## The engine's tests alone: seconds, and nothing but Rust is needed
	@scripts/need cargo cc
	cargo test -p dq-engine

memcheck: ## The tests of waiting clients, their servers under valgrind: no invalid access, no leak (MEMCHECK="...": others)
	@scripts/need cargo cc libclang redis-server valgrind
	cargo build
	scripts/memcheck $(DEBUG_MODULE) $(MEMCHECK)

demo: ## A shop's payment time-outs, four workers, one of them killed (ARGS="--port 6379": on a running server)
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release --quiet --example orders -- $(ARGS)

bench: ## Measure DQ against what people use instead; writes bench/README.md (ARGS: see bench/)
	@scripts/need cargo cc libclang redis-server taskset
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release -p dq-bench -- $(ARGS)

servers: ## Fetch the other servers that the tests know into .servers (for make test SERVERS=all)
	@scripts/need pip
	scripts/fetch-servers

lint: ## Check the format and the lints
	@scripts/need cargo cc libclang
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

help: ## Print this
	@echo "DQ, a delay-queue module for Redis and Valkey. Make's targets:"
	@sed -n 's/^\([a-z-]*\):.* *## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
		printf '  make %-12s %s\n' "$$name" "$$text"; done
