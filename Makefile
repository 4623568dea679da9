# make demo and make test do all set-up on a fresh machine; see README.md.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Of the unit loop: what needs neither servers nor much time. Compiled once, whatever is set outside, not by each worker.
UNIT := tests/unit tests/property tests/contract modeling planner forecasting forescale
export PYTHONDONTWRITEBYTECODE =
# Collects every test, and runs what uses all loops that Numba compiles: 25 s of a processor that each worker would take.
COMPILE := .venv/bin/pytest -q -m "not slow" -k "test_hindsight.py or test_shared_cores.py or test_horizon_search.py"
.PHONY: help setup demo demo-flink race up unit test check lock docs release audit

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.venv/.ready: requirements.lock bootstrap.lock pyproject.toml scripts/setup.sh scripts/debian.sh
	@bash scripts/setup.sh
	@touch $@

setup: .venv/.ready ## install everything into .venv (uv, locked dependencies, Java)
	@:

demo: setup ## the main job on a real trace: events to a verified deployment, with its report
	@.venv/bin/forescale demo

demo-flink: setup ## the same job on a real Flink on loopback, predicted against measured; the guard heals a job too small
	@bash scripts/tools.sh jdk
	@.venv/bin/forescale demo --flink

race: setup ## ways to scale raced on a real Flink and Kafka, beside their replay: TRACE=FILE [WORK=build/race] [RACE=options]
	@bash scripts/tools.sh jdk kafka flink_kafka
	@.venv/bin/python benchmarks/race.py --trace $(or $(TRACE),$(error TRACE is missing; name a CSV file with the columns timestamp and count)) \
		--work $(or $(WORK),build/race) $(RACE)

up: setup ## Airflow's and MLflow's web pages on loopback, with the demo's data
	@.venv/bin/forescale up

unit: setup ## unit tests, properties, contracts and doctests, without the slow ones: one to two minutes
	@.venv/bin/pytest -q -n 2 --dist loadfile -m "not slow" --hypothesis-profile same-examples $(UNIT)

test: setup ## every check and every test
	@bash scripts/tools.sh s3 kubernetes jdk chromium kafka prometheus storm flink_autoscaler flink_kafka systemd keda & tools=$$!; \
	[ -d tests/__pycache__ ] || $(COMPILE) >/dev/null 2>&1 & compiled=$$!; \
	.venv/bin/python tests/spark_classes.py >/dev/null 2>&1 & classes=$$!; \
	$(MAKE) --no-print-directory check || { kill $$tools $$compiled $$classes; exit 1; }; \
	wait $$compiled $$classes; \
	wait $$tools || [ "$$CI" != true ] # tests without their tool are skipped; in CI they fail
	@.venv/bin/pytest -q -n 5 --dist loadgroup --no-loadscope-reorder # groups and order are tests/conftest.py's; half of the time is waiting for servers, so five for two cores

check: setup ## format, lint, import contracts and types
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/mypy

lock: ## choose versions anew and lock them with their hashes
	@.venv/bin/uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
		--no-emit-index-url --no-emit-find-links --override overrides.txt --no-header --quiet -o requirements.lock
	@grep '^uv==' requirements.lock | sed 's/ .*//' | .venv/bin/uv pip compile - --universal --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --quiet -o bootstrap.lock
	@.venv/bin/uv pip compile --group pyproject.toml:docs --universal --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --quiet -o docs.lock

.venv-docs/.ready: docs.lock
	@$(or $(PYTHON),python3) -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check -r docs.lock
	@touch $@

docs: .venv-docs/.ready ## the documentation as a site in build/docs, with its links checked
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "build/docs/index.html; with its search: python3 -m http.server --bind 127.0.0.1 --directory build/docs"

release: setup ## the wheel, the constraints to install it with, the bill of its materials and the notes, in dist/
	@.venv/bin/uv build --quiet --wheel --no-build-isolation --offline --python .venv/bin/python --out-dir dist .
	@.venv/bin/python scripts/constraints.py dist
	@.venv/bin/python scripts/sbom.py dist
	@.venv/bin/python scripts/release_notes.py dist

audit: setup ## known vulnerabilities of what the lock pins, where a database of them can be reached
	@bash scripts/audit.sh || [ $$? = 3 ] # 3: nothing was reached, which it has said
