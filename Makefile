# One-word tasks. `make test` is what continuous integration runs.

# Cargo counts its own jobs: it is told nothing of those of make.
ALONE := env -u MAKEFLAGS -u MFLAGS
# The toolchain is the one that rust-toolchain.toml names, which rustup fetches. Without a server to fetch it from, it is the one that is
# installed.
ifneq ($(shell rustc -vV >/dev/null 2>&1 && echo yes),yes)
export RUSTUP_TOOLCHAIN := $(shell rustup toolchain list 2>/dev/null | sed -n '1s/ .*//p')
endif
CARGO ?= $(ALONE) cargo
PYTHON ?= python3
HOST_TARGET = $(shell rustc -vV | sed -n 's/^host: //p')
VENV := target/venv
export LARDER_SERVER := $(CURDIR)/target/release/larder-server

.PHONY: help run build loader test test-full test-checked test-pgo test-parquet test-ecosystem test-console console-pictures test-package unit tests-built unit-tests \
  beside-tests built-as-shipped clients lint lint-code lint-documents lint-supply notices deny alerts release shipped-loader compose chart wheel wheels wheel-installed python-test \
  python-bench fmt pages bench charts book deb musl musl-ready pgo deps qemu fuzz histories

# What each target does: the comments above them.
help:
	@awk '/^# /{text = text substr($$0, 2); next} /^[a-z][a-z-]*:/{split($$0, name, ":"); if (text) print name[1] ":" text} {text = ""}' Makefile

# Builds and starts the server.
run:
	$(CARGO) run --release

# The server, optimized, in target/release.
build:
	$(CARGO) build --release

# Installs packages of Debian, by sudo where it is needed.
APT_INSTALL = SUDO=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
  $$SUDO apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$SUDO apt-get install -y -qq

# The servers that the tests compare with: Debian's redis-server is installed when it is missing, Valkey and Redis 8 are
# unpacked into target/peers.
deps:
	@command -v redis-server >/dev/null && command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null || { $(APT_INSTALL) redis-server redis-tools; }
	@command -v openssl >/dev/null || { $(APT_INSTALL) openssl; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(APT_INSTALL) python3-venv; }
	@tests/peers.sh

# Counts what threads pass to one another (crates/larder-server/tests/sharing.rs).
qemu:
	@command -v qemu-x86_64 >/dev/null || { $(APT_INSTALL) qemu-user; }

lint: lint-code lint-documents lint-supply

# Licenses and sources of all crates, and whether the notices that packages ship are complete.
lint-supply:
	$(PYTHON) packaging/supply_chain.py check

lint-code:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

lint-documents:
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

# Tests of servers wait more than they compute: in each executable twice as many run at once as there are processors.
TEST_THREADS ?= $(shell expr 2 \* $$(nproc))

# The server is tested as it is shipped: the release binary, driven by tests built for development.
unit: deps build tests-built
	$(MAKE) --jobs=2 --output-sync=target unit-tests beside-tests

tests-built:
	$(PYTHON) tests/run.py --no-run

unit-tests:
	RUST_TEST_THREADS=$(TEST_THREADS) $(PYTHON) tests/run.py

# What is done with the processors while those tests wait: the examples in documents are run, and all code is looked through.
beside-tests:
	$(CARGO) test --workspace --doc --quiet
	$(MAKE) lint

clients: deps build $(VENV)/ready
	$(VENV)/bin/python tests/clients/redis_py.py $(LARDER_SERVER)

# The services of packaging/compose, without an engine for containers.
compose: deps build $(VENV)/ready
	$(VENV)/bin/python tests/packaging/compose.py $(LARDER_SERVER)

$(VENV)/ready: tests/clients/requirements.txt tests/packaging/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -r tests/clients/requirements.txt -r tests/packaging/requirements.txt
	touch $@

# The module for Python as a wheel, in target/wheels. Built as it is shipped.
wheel: $(VENV)/python-ready
	rm -f target/wheels/larder-*.whl
	cd python && $(ALONE) $(CURDIR)/$(VENV)/bin/maturin build --quiet --release --interpreter $(CURDIR)/$(VENV)/bin/python --out $(CURDIR)/target/wheels

# The same for old systems and for musl (Alpine), linked by zig, which pip installs.
wheels: $(VENV)/python-ready
	rm -f target/wheels/larder-*.whl
	$(VENV)/bin/pip install -q ziglang
	cd python && for pair in gnu:manylinux2014 musl:musllinux_1_2; do \
	  PATH="$(CURDIR)/$(VENV)/bin:$$PATH" RUSTFLAGS="$$(../packaging/remap.sh)" CFLAGS="$$(../packaging/remap.sh c)" \
    $(ALONE) maturin build --quiet --release --zig --compatibility $${pair#*:} \
	    --target $(shell uname -m)-unknown-linux-$${pair%:*} --out $(CURDIR)/target/wheels || exit 1; done

wheel-installed: wheel
	$(VENV)/bin/pip install -q --force-reinstall --no-deps target/wheels/larder-*.whl

python-test: build wheel-installed
	PYTHONDONTWRITEBYTECODE=1 $(VENV)/bin/python -m unittest discover --start-directory python/tests

# How long reads take in Python, beside redis-py.
python-bench: build wheel-installed
	PYTHONDONTWRITEBYTECODE=1 $(VENV)/bin/python python/bench/latency.py $(LARDER_SERVER)

$(VENV)/python-ready: python/tests/requirements.txt $(VENV)/ready
	$(VENV)/bin/pip install -q -r python/tests/requirements.txt
	touch $@

# What is built for development and the server as it is shipped are built beside each other, in two folders; then all tests run beside each
# other. They wait more than they compute: so the wheel is built meanwhile, and the code is looked through.
test: deps
	$(CARGO) fmt --all --check
	$(MAKE) --jobs=2 --output-sync=target tests-built built-as-shipped
	$(MAKE) --jobs=4 --output-sync=target unit-tests beside-tests clients compose chart python-test

built-as-shipped: build $(VENV)/python-ready

# The tests with the server as packages have it.
test-pgo: deps pgo
	$(MAKE) unit-tests LARDER_SERVER=$(PGO_SERVER)

# The tests with a server built for development, which checks what threads do while they hold shards.
test-checked: deps
	$(CARGO) build
	$(MAKE) unit-tests LARDER_SERVER=$(CURDIR)/target/debug/larder-server

# The same with every model test at full length, and the slow tests: some hours.
test-full: deps qemu build test-checked test-pgo
	LARDER_TEST_FULL=1 RUST_TEST_THREADS=$(TEST_THREADS) $(PYTHON) tests/run.py --profile full --include-ignored
	LARDER_TEST_FULL=1 $(MAKE) test-parquet

# Parquet, which `make test` does not compile.
test-parquet: deps build
	$(CARGO) clippy -p larder-load --all-targets --features parquet --quiet -- -D warnings
	$(CARGO) test -p larder-load --features parquet --lib --test parquet
	$(CARGO) test -p larder-load --features parquet --test load columns

# The console in a headless Chromium, which is installed when it is missing.
test-console: build
	$(PYTHON) tests/console/run.py

# The pictures of docs/console.md.
console-pictures: build
	$(PYTHON) tests/console/run.py --pictures docs/images

# Libraries of other languages and queues on top of them; installs their toolchains when they are missing.
test-ecosystem: build
	$(PYTHON) tests/ecosystem/run.py
	$(PYTHON) tests/console/run.py
	$(PYTHON) tests/ecosystem/run.py --durable redis-py bullmq bull asynq redisson rq dramatiq
	$(MAKE) test-package

# The Debian package on a Debian of its own: installed, started, upgraded, purged; the images; the alerts. Needs root.
STATIC = $(if $(wildcard $(MUSL_SERVER)),--static $(MUSL_SERVER))
test-package: pgo loader alerts
	$(PYTHON) tests/packaging/run.py --server $(PGO_SERVER) $(STATIC)
	$(PYTHON) tests/packaging/image.py --server $(PGO_SERVER) $(STATIC)

# Fuzz tests for SECONDS under AddressSanitizer, C code included, with seeds that begin with SEED; a failure prints the seed
# that replays it (SEED=n SECONDS=0). TARGET: payloads (damaged payloads and files for every decoder), scripts (random programs
# for Lua), cluster (packets that are damaged or lie, and damaged files of nodes), commands (random sequences of commands, in
# lockstep with Valkey; the server has THREADS worker threads), keys (the same over a keyspace that does not fit the cache), or
# interleaved (several connections at once, of which all are compared with Valkey after each step).
TARGET ?= payloads
SECONDS ?= 600
SEED ?= $(shell date +%s)000000
FUZZ_TRIPLE ?= $(HOST_TARGET)
FUZZ_payloads := -p larder-rdb --test hostile
FUZZ_scripts := -p larder-lua --test scripts --test corrections
FUZZ_cluster := -p larder-cluster --test codec --test hostile --test nodes_conf
FUZZ_commands := -p larder-server --test lockstep sequences_agree_for_long -- --exact --ignored --nocapture
FUZZ_interleaved := -p larder-server --test interleaved sequences_agree_for_long -- --exact --ignored --nocapture
FUZZ_keys := -p larder-server --test lockstep sequences_over_many_keys_agree_for_long -- --exact --ignored --nocapture
THREADS ?= 4
# When memory runs out while mlua raises an error, it leaks that error.
LEAKS_payloads := 1
LEAKS_scripts := 0
LEAKS_cluster := 1
LEAKS_commands := 0
LEAKS_keys := 0
LEAKS_interleaved := 0

fuzz: deps
	@rm -f target/fuzz-last
	@test -n "$(FUZZ_$(TARGET))" || { echo "TARGET is payloads, scripts, cluster, commands, keys or interleaved"; exit 1; }
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=$(LEAKS_$(TARGET)):max_allocation_size_mb=4096 \
	  CFLAGS_$(subst -,_,$(FUZZ_TRIPLE))="-fsanitize=address -fno-omit-frame-pointer" \
	  LARDER_SERVER=$(CURDIR)/target/fuzz/$(FUZZ_TRIPLE)/debug/larder-server THREADS=$(THREADS) \
	  SEED=$(SEED) FUZZ_SECONDS=$(SECONDS) FUZZ_LAST=$(CURDIR)/target/fuzz-last \
	  $(CARGO) test --target $(FUZZ_TRIPLE) --target-dir target/fuzz $(FUZZ_$(TARGET)) \
	  || { cat target/fuzz-last 2>/dev/null; exit 1; }

# Histories of clients and servers that crash, restart, join and fail over, with a checker of all that was acknowledged: SECONDS
# of each kind. KIND names one of queues, failover, joining, scripts and bursts; a failure prints the seed that replays it (SEED=n).
KIND ?=
histories: deps build
	HISTORY_SECONDS=$(SECONDS) $(if $(filter command line environment,$(origin SEED)),SEED=$(SEED)) \
	  RUST_TEST_THREADS=2 $(CARGO) test -p larder-server --test histories -- $(KIND) --nocapture

bench: deps build
	$(CARGO) run --release -p larder-bench -- --larder $(LARDER_SERVER)

fmt:
	$(CARGO) fmt --all

# Pictures of the reports in docs/benchmarks.
charts:
	$(CARGO) run --release --quiet -p larder-bench -- --charts docs/benchmarks

# The files that are made from the tables of options and commands: pages, configuration files, manual pages, completions.
pages:
	$(CARGO) run --quiet -p larder-engine --example pages
	$(CARGO) run --quiet -p larder-load --example pages

# The documents as a book, in target/book. mdbook is built once if it is not there.
MDBOOK ?= $(or $(shell command -v mdbook),$(CURDIR)/target/tools/bin/mdbook)
book: $(MDBOOK)
	$(MDBOOK) build docs
	$(PYTHON) tests/packaging/book.py target/book

$(CURDIR)/target/tools/bin/mdbook:
	$(CARGO) install mdbook --version 0.5.4 --locked --no-default-features --features search --root target/tools

# A server built with a profile of its own work, as packages have it: takes a quarter of an hour on two cores. PGO=no builds without one.
pgo_server = $(CURDIR)/target/pgo/optimized/$(1)/release/larder-server
PGO_SERVER = $(call pgo_server,$(HOST_TARGET))
pgo:
	$(ALONE) packaging/pgo.sh $(HOST_TARGET) target/pgo

# The Debian package, in target/debian.
deb: pgo shipped-loader
	packaging/debian/build.sh $(PGO_SERVER) $(SHIPPED_LOADER) target/debian

# All that a release offers, with checksums, in target/release-files: the static binary, the Debian package, the wheels, notices, bills of
# materials, manual pages, completions. No path of this machine is in it.
release: musl-ready deny pgo musl shipped-loader wheels
	packaging/release.sh $(PGO_SERVER) $(SHIPPED_LOADER) $(MUSL_SERVER) target/wheels target/release-files

# The licenses of what packages contain, made again after a change of Cargo.lock. `make lint` says when.
notices:
	$(PYTHON) packaging/supply_chain.py notices

# Licenses, bans and sources of all crates, and known vulnerabilities if the database can be reached.
CARGO_DENY ?= $(or $(shell command -v cargo-deny),$(CURDIR)/target/tools/bin/cargo-deny)
deny: $(CARGO_DENY)
	$(CARGO_DENY) --locked check licenses bans sources
	@timeout 120 $(CARGO_DENY) --locked fetch db >/dev/null 2>&1 || { echo "The database of advisories cannot be reached: not checked"; exit 0; }; \
	  $(CARGO_DENY) --offline check advisories

$(CURDIR)/target/tools/bin/cargo-deny:
	$(CARGO) install cargo-deny --version 0.20.2 --locked --root target/tools

# The chart for Kubernetes, which is checked only where there is helm.
HELM ?= $(shell command -v helm)
chart: build $(VENV)/ready
	@if [ -z "$(HELM)" ]; then echo "There is no helm: the chart is not checked"; \
	  else $(VENV)/bin/python tests/packaging/chart.py $(HELM) $(LARDER_SERVER); fi

# The alert rules. promtool is Debian's, taken out of its package: nothing is installed.
PROMTOOL ?= $(or $(shell command -v promtool),$(CURDIR)/target/tools/bin/promtool)
alerts: $(PROMTOOL)
	$(PROMTOOL) check rules packaging/alerts.yml
	$(PROMTOOL) test rules packaging/alerts-test.yml

$(CURDIR)/target/tools/bin/promtool:
	mkdir -p target/tools/prometheus target/tools/bin
	cd target/tools/prometheus && apt-get download -qq -o APT::Sandbox::User=root prometheus && dpkg -x prometheus_*.deb . && cp usr/bin/promtool ../bin/

# With all inputs, as it is shipped.
loader:
	$(CARGO) build --release -p larder-load --features parquet

# The same as packages have it: no path of this machine is in it.
SHIPPED_LOADER = target/shipped/$(HOST_TARGET)/release/larder-load
shipped-loader:
	RUSTFLAGS="$$(packaging/remap.sh)" CFLAGS="$$(packaging/remap.sh c)" \
	  $(CARGO) build --release --target $(HOST_TARGET) --target-dir target/shipped -p larder-load --features parquet

# A static binary, for containers and old systems. Needs musl-gcc (Debian: musl-tools) and the toolchain's target.
MUSL_TARGET := $(shell uname -m)-unknown-linux-musl
MUSL_SERVER = $(call pgo_server,$(MUSL_TARGET))
musl: musl-ready
	CC_$(subst -,_,$(MUSL_TARGET))=musl-gcc $(ALONE) packaging/pgo.sh $(MUSL_TARGET) target/pgo

musl-ready:
	@command -v musl-gcc >/dev/null || { echo "musl-gcc is missing: install musl-tools"; exit 1; }
	@test -n "$$(ls "$$(rustc --print target-libdir --target $(MUSL_TARGET))" 2>/dev/null)" || { \
	  echo "The toolchain has no standard library for $(MUSL_TARGET): run rustup target add $(MUSL_TARGET)"; exit 1; }
