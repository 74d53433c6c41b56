# Cutcard: every target sets up by itself. `make demo` and `make test` are a newcomer's two commands.
PYTHON ?= python3
BIN := .venv/bin

# What CI adds to a test run; `make test TESTS=tests/unit/core` runs a part.
TESTS :=

.PHONY: setup demo demo-tls test coverage check soak mutants generate released-protos lock bench clean

setup: .venv/.ready

.venv/.ready: requirements/dev.txt pyproject.toml
	@echo "setting up .venv with everything locked: a minute or two"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: .venv/.ready
	@$(BIN)/dealer demo

# The same over TLS, with rooms on another host: a network namespace where one may be made.
demo-tls: .venv/.ready
	@$(BIN)/dealer demo --tls

# A run starts some 2,000 processes: their bytecode is kept, and numpy has one thread in each.
test coverage: export PYTHONDONTWRITEBYTECODE :=
test coverage: export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache
test coverage: export OPENBLAS_NUM_THREADS := 1

test: .venv/.ready
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs $(TESTS)

# The unit tests and vectors alone: they run in this process, and cost little more with a tracer than without.
coverage: .venv/.ready
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs --cov=audit --cov=dealer --cov-report=term:skip-covered tests/unit tests/vectors

soak: .venv/.ready
	$(BIN)/python -m pytest -n 2 -m soak

# Changes the code a little at a time, and asks each package's own tests whether they notice: for hours.
mutants: .venv/.ready
	$(BIN)/python -m tests.mutants

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code
	$(BIN)/buf breaking --against tests/released/protos.yaml
	$(BIN)/python -m tests.generated
	$(BIN)/python -m tests.documents
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory check-player; \
	  else echo "no npm here: the types of player/ were not checked"; fi

# The packages of player/, as its lock file says, to the byte.
player/node_modules/.package-lock.json: player/package-lock.json
	cd player && npm ci --ignore-scripts --no-audit --no-fund

.PHONY: check-player page
check-player: player/node_modules/.package-lock.json
	cd player && npm run --silent check

# The page on which a player checks a hand: one file, dist/verify.html; `audit page` and the wheel take it from there.
page: player/node_modules/.package-lock.json
	cd player && npm run --silent page

generate: .venv/.ready
	$(BIN)/python -m tests.generated --write
	$(BIN)/python -m tests.client_page --write

# With each release, and at no other time: what it holds is what `make check` lets nobody break.
released-protos: .venv/.ready
	$(BIN)/buf build --exclude-source-info -o tests/released/protos.yaml

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --all-extras --group dev \
	  pyproject.toml -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra dealer \
	  pyproject.toml -o requirements/dealer.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra audit \
	  pyproject.toml -o requirements/audit.txt

bench: .venv/.ready
	$(BIN)/python -m benchmarks all

clean:
	rm -rf .venv build dist
