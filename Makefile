# The one list of chores. `make demo` and `make test` need nothing but this checkout: they set up the rest.

# Cargo as `.ci/setup` found or unpacked it.
CARGO = .ci/cargo
WINDROW = target/release/windrow
SYSTEM = dolphinscheduler
DIALECT = postgres
WORLDS = 100

# Where throw-away servers keep their files: in memory where there is plenty of it.
GIB_FREE = awk '/MemAvailable/ { print int($$2 / 1048576) }' /proc/meminfo 2>/dev/null || echo 0
GIB_SHM = df --output=avail -BG /dev/shm 2>/dev/null | tr -dc 0-9 || echo 0
SCRATCH := $(shell [ "$$($(GIB_FREE))" -ge 16 ] && [ "$$($(GIB_SHM))" -ge 12 ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")

# Tests wait for servers most of the time.
THREADS = RUST_TEST_THREADS=$$((2 * $$(nproc)))

.PHONY: help setup demo demo-down test prove fmt generated generated-check bench build clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

setup: ## Install what is missing (apt packages; asks sudo when not root)
	@.ci/setup

build: setup ## Build the release binary
	@$(CARGO) build --release --quiet

demo: build ## The main job on a throw-away server: SYSTEM=dolphinscheduler, yworkflow, camunda7 or airflow-3, DIALECT=postgres, mysql or mariadb
	@.ci/servers $(DIALECT)
	@$(WINDROW) demo --system $(SYSTEM) --dialect $(DIALECT)

demo-down: ## Stop the demo's server and remove it
	@$(WINDROW) demo --down

test: setup ## Check formatting, lints and every test, on real servers
	@.ci/servers
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --all-targets --quiet -- -D warnings
	@TMPDIR=$(SCRATCH) $(THREADS) $(CARGO) test --quiet

prove: setup ## Attack the promises for more than an hour: WORLDS=100 random specs and as many worlds of each kind, an end at every statement of a run in rules of every kind, then defects slipped into the SQL
	@.ci/servers
	@TMPDIR=$(SCRATCH) $(THREADS) WINDROW_TEST_SPECS=$(WORLDS) WINDROW_TEST_WORLDS=$(WORLDS) WINDROW_TEST_STOPS=each $(CARGO) test --quiet --test it -- worlds:: oracle:: hostile:: crash::stops:: camunda::killed:: --nocapture
	@TMPDIR=$(SCRATCH) $(CARGO) test --quiet --test it -- --ignored --exact prove::every_defect_is_noticed --nocapture

generated: build ## Write generated/ and the JSON Schema anew
	@$(WINDROW) generate specs/*.toml
	@$(WINDROW) schema > specs/windrow.schema.json

generated-check: build ## Fail when generated/ is stale
	@$(WINDROW) generate --check specs/*.toml

fmt: ## Format the sources
	@$(CARGO) fmt --all

bench: ## Measure against the engines' limits and others' tools
	@.ci/setup bench
	@.ci/servers mysql mariadb
	@$(CARGO) bench --bench purge

clean: ## Remove what was built
	@$(CARGO) clean
