# `make test` installs what the tests need and runs them all; nothing is skipped.

PYTHON ?= python3
CARGO ?= cargo
VENV := .venv

.PHONY: test built wheel check advisories venv postgresql chromium bench seeds fuzz clean

# The release build serves the binary, the tests and the benches. Random cases are the same in every
# run here, so that a failure can be repeated; `cargo test` alone draws new ones.
test: export PROPTEST_RNG_SEED ?= 20260101
test: postgresql chromium
	@# One waits for the network, the other for the processors.
	$(MAKE) --jobs=2 --output-sync=target venv built
	$(MAKE) wheel
	$(MAKE) check
	CARGO="$(CARGO)" $(PYTHON) .ci/tests

built:
	$(CARGO) test --release --workspace --no-run --quiet

# The Python package, in target/wheel/dist and in .venv (docs/PYTHON.md).
wheel: venv built
	.ci/wheel

check:
	@# Licences, sources and versions of the dependencies, as deny.toml has them.
	CARGO="$(CARGO)" $(PYTHON) .ci/deny
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps

# Known vulnerabilities in the dependencies; needs `cargo install --locked cargo-deny` and a network.
advisories:
	$(CARGO) deny check advisories

venv: $(VENV)/.complete

# Made anew when the requirements change or an installation was cut off.
$(VENV)/.complete: requirements-test.txt requirements-files.txt
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement requirements-test.txt
	$(VENV)/bin/pip install --quiet --no-deps --requirement requirements-files.txt
	touch $@

# The store's tests start a server of their own; only its programs are needed.
postgresql:
	@.ci/postgresql

# Pages are opened in a real browser.
chromium:
	@.ci/chromium

# Runs what was asked for, sentence by sentence, and writes docs/SEEDS.md.
seeds: wheel
	docs/seeds/run target/release/modelmeter $(VENV)/bin/python

# Damages every file and message that is read (docs/FUZZING.md). What is found is kept in crates/fuzz/cases.
CASES ?= 1000000
SEED ?= 1
FUZZED := engine meter analysis stats modelmeter
fuzz:
	$(CARGO) run --release --package modelmeter-fuzz \
		$(foreach crate,$(FUZZED),--config 'profile.release.package.modelmeter$(if $(filter modelmeter,$(crate)),,-$(crate)).overflow-checks=true') \
		-- --cases $(CASES) --seed $(SEED) $(if $(TARGET),--target $(TARGET)) --keep crates/fuzz/cases

bench:
	$(CARGO) bench --workspace

clean:
	$(CARGO) clean
	rm -rf $(VENV)
