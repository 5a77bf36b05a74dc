# make demo, then make test. Everything happens in .venv; `make clean` removes it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo venv test static docs check test-world test-lowest bench bench-public clean

help: ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

# Images of containers often ask Python to keep no bytecode. Here a thousand processes import the same modules, and two
# workers of pytest the same tests, so it is kept; `make clean` removes it.
unexport PYTHONDONTWRITEBYTECODE

# The laws are tried with the same examples every time; see tests/conftest.py.
export OLOPROOF_STEADY := 1

# A stamp tells what has been installed; a change of the dependencies asks for a new one.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Oloproof needs Python 3.11 or newer, and '$(PYTHON)' is not: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); echo "No virtual environment: does this Python have its venv module (apt install python3-venv)?" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-world: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs,world]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-dev

# The demo is to show a gate that blocks, so exit 1 is what it asks for, and nothing else will do.
define show
	@printf '\n%s\n' $(1)
	@$(BIN)/oloproof run --config examples/$(2)/oloproof.yaml; status=$$?; \
	  test $$status -eq 1 || { echo "the gate was to block with exit 1, and the run ended with $$status" >&2; exit 1; }
endef

demo: $(VENV)/.installed ## Install, judge two agents and see both gates block
	$(call show,"Forty refund requests: the agent deletes three customers and the rule no-deletion blocks.",support_agent)
	$(call show,"Thirty requests for three agents: tech issues two refunds and the rule own-tools-only blocks.",triage_agents)
	@printf '\nBoth gates blocked, as they should. Next: README.md, or docs/tutorial/first-run.md\n'

venv: $(VENV)/.installed-dev ## Install with the developer tools

WORLD := tests/faults tests/browser tests/frameworks tests/servers

# Plug-ins that packages of the world bring: none of these tests needs one, and each process of pytest would load them.
NO_PLUGINS := -p no:anyio -p no:langsmith_plugin -p no:schemathesis

# Laws whose other side is brute force; with OLOPROOF_DEEP they are tried with three times as many examples.
LAWS := tests/laws/test_importers_otel.py tests/laws/test_prefix_law.py tests/laws/test_temporal_rules.py

test: venv ## Run the tests (all but those of test-world)
	@$(BIN)/python -m compileall -q src
	$(BIN)/pytest -q -n 2 $(NO_PLUGINS) $(WORLD:%=--ignore=%)

static: venv ## Lint, format, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: venv ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

check: static test docs ## What a change must pass

test-world: $(VENV)/.installed-world ## Run the tests that kill processes, need a browser, a server or a framework, or go deep
	@$(BIN)/python -m compileall -q src
	OLOPROOF_DEEP=1 $(BIN)/pytest -q -n 2 $(wildcard $(WORLD)) $(LAWS)

# In an environment of its own. The oracles want newer functions of scipy.stats than anything that is shipped does.
test-lowest: venv ## Run the tests with the oldest libraries that pyproject.toml allows
	$(BIN)/python -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	.venv-lowest/bin/python -m pytest -q -n 2 $(WORLD:%=--ignore=%) --ignore=tests/oracles

bench: $(VENV)/.installed-world ## Print the benchmarks' ratios
	@for name in startup run judge redact many rules compare plan imports page view runtime service; do $(BIN)/python benchmarks/$$name.py || exit 1; done

bench-public: venv ## Compare with public tools, which are installed for it; takes minutes
	$(BIN)/python benchmarks/public_tools.py

clean: ## Remove what the targets made
	rm -rf $(VENV) .venv-lowest site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache examples/*/.oloproof
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
