# The contributor's whole vocabulary. A target that needs packages depends on a stamp file,
# so a second call installs nothing and costs nothing.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt

.PHONY: run test test-all check format bench clean browser

run: .venv/.run
	$(BIN)/gcbr run $(ARGS)

test: .venv/.dev browser
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" $(ARGS)

test-all: .venv/.dev browser
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(ARGS)

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev
	$(BIN)/python -m benchmarks.speed

clean:
	rm -rf .venv

# Tests of the page need a browser. Where it is missing and may be installed it is; elsewhere those tests say so.
browser:
	@if ! command -v chromium >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		{ apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } >/dev/null || \
		echo "Chromium could not be installed; tests of the page will skip" >&2; fi

# torch goes first and by its exact pin: any looser request may pull gigabytes of GPU libraries.
.venv/.torch: $(INPUTS)
	$(PYTHON) -m venv .venv
	$(PIP) install $$(grep '^torch==' constraints.txt)
	touch $@

.venv/.run: .venv/.torch
	$(PIP) install -c constraints.txt -e '.[plot]'
	touch $@

.venv/.dev: .venv/.torch
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@ .venv/.run
