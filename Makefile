# Two commands do all the set-up: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/sh
PORT ?= 8000
SAMPLE ?= 1
OUT ?= var/screenshots
PY := .venv/bin/python
JOBS ?= 4
LONG ?= 0
RENDERS ?= 1000
CUTS ?= 200
ROWS ?= 1000000

.DEFAULT_GOAL := help
.PHONY: help run test unit lint format types bench soak scale chaos power eval calibrate-sim silence-sim brake-sim fit-detector screenshots messages lock setup-base setup-dev setup-bench clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)$$/  make \1|\2/' | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

setup-base:
	@sh scripts/setup base && sh scripts/build-native

setup-dev:
	@sh scripts/setup dev && sh scripts/build-native

setup-bench: setup-dev
	@sh scripts/setup bench

run: setup-base ## set up everything and start web, workers and the sample workspace (PORT=8000, SAMPLE=0 starts empty)
	@TIDELINE_CHROMIUM="$$(sh scripts/ensure-chromium --find)" exec $(PY) manage.py run --port $(PORT) --sample $(SAMPLE)

test: setup-dev ## lint, types and every test, with a real Chromium (LONG=1: those that take a minute or more too)
	@TIDELINE_CHROMIUM="$$(sh scripts/ensure-chromium)" && export TIDELINE_CHROMIUM && export TIDELINE_TEST_LONG=$(LONG) && \
	$(MAKE) --no-print-directory lint types && \
	$(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

unit: setup-dev ## the fast tests only: no browser, no services, no killing
	@$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not browser and not services and not slow" $(ARGS)

lint: setup-dev ## ruff, import layers, templates, missing migrations
	@$(PY) -m ruff check . && $(PY) -m ruff format --check . && .venv/bin/lint-imports --no-cache && \
	.venv/bin/djade --check $$(git ls-files 'templates/*.html') && $(PY) manage.py makemigrations --check --dry-run >/dev/null

format: setup-dev ## put code and templates in shape
	@$(PY) -m ruff check --fix -q . ; $(PY) -m ruff format -q . ; .venv/bin/djade $$(git ls-files 'templates/*.html')

types: setup-dev ## mypy --strict
	@$(PY) -m mypy .

bench: setup-bench ## measure: fingerprint, diff, whole checks, each against a peer or a floor in the same run
	@for file in tests/benchmarks/bench_*.py; do echo "== $$file"; $(PY) $$file || exit 1; done

soak: setup-dev ## a thousand renders in a row, and what they leave behind (RENDERS=1000)
	@TIDELINE_CHROMIUM="$$(sh scripts/ensure-chromium)" $(PY) -m tests.fetching.soak --renders $(RENDERS)

power: setup-dev ## copies of a busy installation as power cuts would leave it (CUTS=200)
	@TIDELINE_TEST_POWER_CUTS=$(CUTS) $(PY) -m pytest -n 0 tests/monitoring/test_nth_write.py -k moment

chaos: setup-dev ## kill loops and fault runs, as tables; ARGS="points random --broker redis --count 20" chooses
	@$(PY) -m tests.chaos $(ARGS)

scale: setup-dev ## a million monitors and ten million checks on SQLite and PostgreSQL: bytes, claims, jobs, pages, writers (ROWS=1000000)
	@$(PY) -m tests.scale --rows $(ROWS)

eval: setup-bench ## score the detector and the main-content rule on the shared corpora, where present
	@$(PY) -m tests.evaluation.tables

calibrate-sim: setup-bench ## calibration from wrong cuts, with a scripted analyst; on real pages too where they are at hand
	@$(PY) -m tests.calibrating.simulation.figures

silence-sim: setup-dev ## fleets whose sites begin to serve a stale copy, and fleets that never do
	@$(PY) -m tests.calibrating.simulation.silence

brake-sim: setup-dev ## fleets over years with holidays and a shared content system, and faults of a renderer
	@$(PY) -m tests.calibrating.simulation.brake

fit-detector: setup-bench ## fit the weights of the substance score on labelled pairs
	@$(PY) -m tests.evaluation.fit

screenshots: setup-dev ## pictures of every page (OUT=var/screenshots)
	@TIDELINE_CHROMIUM="$$(sh scripts/ensure-chromium)" $(PY) -m tests.e2e.screenshots $(OUT)

figures: setup-dev ## what the review interface must reach, measured in Chromium (ARGS=--times on an idle machine)
	@TIDELINE_CHROMIUM="$$(sh scripts/ensure-chromium)" $(PY) -m tests.e2e.figures $(ARGS)

messages: setup-dev ## collect and compile the German and Japanese catalogues (needs gettext)
	@$(PY) manage.py makemessages -l de -l ja --no-location --ignore .venv && $(PY) manage.py compilemessages --ignore .venv

lock: ## renew the hash-locked requirement files
	@for group in base s3 dev bench native; do \
	  uv pip compile -q --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --upgrade requirements/$$group.in -o requirements/$$group.txt; done

clean: ## remove the environment and all local data
	rm -rf .venv var .mypy_cache .ruff_cache .pytest_cache
