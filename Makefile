# The one list of chores. `make demo` and `make test` need nothing but this checkout: they set up the rest.

# Cargo as `.ci/setup` found or unpacked it.
CARGO = .ci/cargo
WINDROW = target/release/windrow
SYSTEM = dolphinscheduler
DIALECT = postgres
TIMES = 5
SEED =

# Which half of the slow tests PostgreSQL runs, and which MySQL and MariaDB: by the commit, so that each half has its turn; `TURN=`
# runs all on all.
TURN := $(shell git rev-parse HEAD 2>/dev/null | tr -dc 0-9 | tail -c 1)

# Where throw-away servers keep their files: in memory where there is plenty of it.
GIB_FREE = awk '/MemAvailable/ { print int($$2 / 1048576) }' /proc/meminfo 2>/dev/null || echo 0
GIB_SHM = df --output=avail -BG /dev/shm 2>/dev/null | tr -dc 0-9 || echo 0
SCRATCH := $(shell [ "$$($(GIB_FREE))" -ge 16 ] && [ "$$($(GIB_SHM))" -ge 12 ] && echo /dev/shm || echo "$${TMPDIR:-/tmp}")

# Where those keep them whose data is bigger than memory.
DISK = /var/tmp

# Clippy looks at the code as it is compiled for the tests, not in a pass of its own; whatever it says is an error.
LINTED = CLIPPY_ARGS=-Dwarnings $(CARGO) test --config 'build.rustc-workspace-wrapper="clippy-driver"' --quiet

TEST = TMPDIR=$(SCRATCH) $(LINTED) --test it --

.PHONY: help setup ready compiled servers demo demo-down dist leave lint test prove msrv licences advisories fmt generated generated-check bench build clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 20

setup: ## Install what the tests lack (apt packages; asks sudo when not root)
	@.ci/setup

build: ## Build the release binary
	@.ci/setup build
	@$(CARGO) build --release --quiet

dist: ## Build what is handed out, into dist/: the program, a Debian package, a container file, licences, checksums
	@.ci/setup build
	@.ci/dist

demo: ## The main job on a throw-away server: SYSTEM=dolphinscheduler, yworkflow, camunda7, airflow-3, mlflow-3 or prefect-3, DIALECT=postgres, mysql or mariadb
	@.ci/setup build
	@$(CARGO) build --profile demo --quiet
	@.ci/servers $(DIALECT)
	@target/demo/windrow demo --system $(SYSTEM) --dialect $(DIALECT)

demo-down: ## Stop the demo's server and remove it
	@target/demo/windrow demo --down

lint: setup ## Check formatting, lints, goldens, generated files and the rules for the sources: no server, a minute
	@$(CARGO) fmt --all --check
	@$(LINTED) --no-run --lib --bins --test it --bench purge
	@$(TEST) --quiet --lints

# What is fetched and unpacked waits for the network, what is compiled for the cores.
ready:
	@.ci/setup rust
	@$(MAKE) --no-print-directory --jobs=2 servers compiled

servers: setup
	@.ci/servers

compiled:
	@MAKEFLAGS= $(LINTED) --no-run --lib --bins --test it --bench purge

test: ## Check all that, and every test on real servers
	@$(MAKE) --no-print-directory ready
	@$(MAKE) --no-print-directory lint
	@$(LINTED) --lib --bins
	@WINDROW_TEST_TURN=$(TURN) $(TEST) --quiet --no-lints

prove: setup ## Attack the promises for hours: ten times as many random worlds (TIMES=5), other ones each time (SEED=), an end at every statement of a run, clusters, fleets, monitoring at work, runners of migrations, defects slipped into the SQL, ten years of history (DISK=/var/tmp); and the licences
	@.ci/licences
	@.ci/servers
	@.ci/servers galera
	@WINDROW_TEST_TIMES=$(TIMES) WINDROW_TEST_SEED=$(SEED) WINDROW_TEST_PATIENCE=14400 $(TEST)
	@patroni=$$(.ci/patroni) && WINDROW_PATRONI=$$patroni WINDROW_TEST_PATIENCE=1800 $(TEST) --ignored cluster:: fleet::
	@monitors=$$(.ci/monitors) && WINDROW_MONITORS=$$monitors WINDROW_TEST_PATIENCE=1800 $(TEST) --ignored monitoring::
	@runners=$$(.ci/runners) && WINDROW_RUNNERS=$$runners WINDROW_TEST_PATIENCE=1800 $(TEST) --ignored migrations::
	@WINDROW_TEST_PATIENCE=14400 $(TEST) --ignored --exact prove::every_defect_is_noticed
	@WINDROW_TEST_PATIENCE=36000 TMPDIR=$(DISK) $(LINTED) --test it -- --ignored --test-threads=1 years::

msrv: ## Check the sources with the oldest Rust that Cargo.toml promises, which must be here or come by rustup
	@.ci/msrv

licences: setup ## Check the licences and sources of all crates against deny.toml
	@.ci/licences

advisories: setup ## Check whether a defect of a crate is known; fetches the database of advisories
	@.ci/licences advisories

generated: build ## Write generated/ and the JSON Schema anew
	@$(WINDROW) generate specs/*.toml
	@$(WINDROW) schema > specs/windrow.schema.json

leave: build ## Keep what this version generates, so that later ones are tested by upgrading it: part of a release
	@.ci/leave $(WINDROW)

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
