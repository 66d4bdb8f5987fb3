# One-word tasks. `make test` is what continuous integration runs.

CARGO ?= cargo
PYTHON ?= python3
VENV := target/venv
export LARDER_SERVER := $(CURDIR)/target/release/larder-server

.PHONY: run build test test-full test-checked test-ecosystem unit clients lint fmt docs pages bench deps fuzz

run:
	$(CARGO) run --release

build:
	$(CARGO) build --release

# The servers that the tests compare with: Debian's redis-server is installed when it is missing, Valkey and Redis 8 are
# unpacked into target/peers.
deps:
	@command -v redis-server >/dev/null && command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null || { \
	  SUDO=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$SUDO apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$SUDO apt-get install -y -qq redis-server redis-tools; }
	@command -v openssl >/dev/null || { \
	  SUDO=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$SUDO apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$SUDO apt-get install -y -qq openssl; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  SUDO=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
	  $$SUDO apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$SUDO apt-get install -y -qq python3-venv; }
	@tests/peers.sh

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

# The server is tested as it is shipped: the release binary, driven by tests built for development.
unit: deps build
	$(CARGO) test --workspace

clients: deps build $(VENV)/ready
	$(VENV)/bin/python tests/clients/redis_py.py $(LARDER_SERVER)

$(VENV)/ready: tests/clients/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q -r tests/clients/requirements.txt
	touch $@

test: lint unit clients

# The tests of the server with a build for development, which checks what threads do while they hold shards.
test-checked: deps
	$(CARGO) build
	LARDER_SERVER=$(CURDIR)/target/debug/larder-server $(CARGO) test -p larder-server

# The same with every model test at full length, and the slow tests: some hours.
test-full: deps build test-checked
	LARDER_TEST_FULL=1 $(CARGO) test --workspace --release -- --include-ignored

# Libraries of other languages and queues on top of them; installs their toolchains when they are missing.
test-ecosystem: build
	$(PYTHON) tests/ecosystem/run.py
	$(PYTHON) tests/console/run.py
	$(PYTHON) tests/ecosystem/run.py --durable redis-py bullmq bull asynq redisson rq dramatiq

# Fuzz tests for SECONDS under AddressSanitizer, C code included, with seeds that begin with SEED; a failure prints the seed
# that replays it (SEED=n SECONDS=0). TARGET: payloads (damaged payloads and files for every decoder), scripts (random programs
# for Lua), or commands (random sequences of commands, in lockstep with Valkey; the server has THREADS worker threads).
TARGET ?= payloads
SECONDS ?= 600
SEED ?= $(shell date +%s)000000
FUZZ_TRIPLE ?= $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_payloads := -p larder-rdb --test hostile
FUZZ_scripts := -p larder-lua --test scripts --test corrections
FUZZ_commands := -p larder-server --test lockstep sequences_agree_for_long -- --exact --ignored --nocapture
THREADS ?= 4
# When memory runs out while mlua raises an error, it leaks that error.
LEAKS_payloads := 1
LEAKS_scripts := 0
LEAKS_commands := 0

fuzz:
	@test -n "$(FUZZ_$(TARGET))" || { echo "TARGET is payloads, scripts or commands"; exit 1; }
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=$(LEAKS_$(TARGET)):max_allocation_size_mb=4096 \
	  CFLAGS_$(subst -,_,$(FUZZ_TRIPLE))="-fsanitize=address -fno-omit-frame-pointer" \
	  LARDER_SERVER=$(CURDIR)/target/fuzz/$(FUZZ_TRIPLE)/debug/larder-server THREADS=$(THREADS) \
	  SEED=$(SEED) FUZZ_SECONDS=$(SECONDS) FUZZ_LAST=$(CURDIR)/target/fuzz-last \
	  $(CARGO) test --target $(FUZZ_TRIPLE) --target-dir target/fuzz $(FUZZ_$(TARGET)) \
	  || { cat target/fuzz-last 2>/dev/null; exit 1; }

bench: build
	$(CARGO) run --release -p larder-bench -- --larder $(LARDER_SERVER)

fmt:
	$(CARGO) fmt --all

# The documents that are made from the table of options.
pages:
	$(CARGO) run --quiet -p larder-engine --example pages
