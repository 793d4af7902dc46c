# Everything a newcomer needs: `make demo` and `make test` set up what they use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo explore test test-slow test-lowest release-check mutations lint format docs results results-language-models results-states results-concepts results-people benchmarks clean

demo: $(VENV)/.ready
	$(BIN)/densray demo

# The explorer serves the documentation, which is built only if it is missing. Without it, the explorer starts as well.
explore: $(VENV)/.ready-explore | docs/_build/index.html
	$(BIN)/densray explore

docs/_build/index.html:
	@echo 'Building the documentation once, which takes a minute or two …'
	-@$(MAKE) --no-print-directory docs

test: $(VENV)/.ready-dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto

# Whole files to one process each: their tests share a server, a browser or a model.
test-slow: $(VENV)/.ready-dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -m slow -n auto --dist loadfile

# The default tests with the least versions that pyproject.toml allows of what it names.
test-lowest: $(VENV)/bin/python
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --compile-bytecode --python .venv-lowest --resolution lowest-direct --editable ./densray-data --editable '.[dev]'
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 SCIPY_ARRAY_API=1 .venv-lowest/bin/python -m pytest -n auto -p no:cacheprovider

release-check: $(VENV)/bin/python
	$(PIP) --editable ./densray-data --editable '.[release]'
	$(BIN)/python scripts/check_release.py

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready-docs
	rm -rf docs/_build docs/api/generated docs/gallery
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	@! grep -rlE '<(script|link rel="stylesheet")[^>]+(src|href)="https?:' docs/_build --include='*.html' || (echo 'these pages need the network'; false)

# The tables of docs/, except those of the targets below and of scripts/measure_removers.py: measures into docs/*.json, then
# writes the pages; about half an hour on two cores.
# Needs DENSRAY_DATA. The comparison of methods goes on where docs/method_comparison.json ends (hours from nothing), and
# only with SPACES=FOLDER, which benchmarks/compare_methods.py describes. The page on documents is measured with
# DOCUMENTS=FOLDER, where vectors are kept; scripts/measure_documents.py names the encoders it needs. The advice to add seeds
# is checked on four lexicons more with LEXICONS=FOLDER; scripts/measure_advice.py names their files.
results: $(VENV)/.ready-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_tables.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/compare_with_mean_difference.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/compare_intrank.py
	$(if $(SPACES),OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/compare_intrank.py --space glove-6b-100d --spaces $(SPACES))
	$(if $(SPACES),OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/compare_intrank.py --space smollm2-input --spaces $(SPACES))
	$(if $(SPACES),OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/compare_intrank.py french --space french-20k --spaces $(SPACES))
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/build_removal_table.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_attacks.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_inflections.py run $(if $(SPACES),--spaces $(SPACES))
	PYTHONPATH=. OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_advice.py run $(if $(LEXICONS),--lexicons $(LEXICONS))
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.error_bars
	$(if $(SPACES),OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.error_bars_elsewhere --spaces $(SPACES))
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.shared_stems $(if $(SPACES),--spaces $(SPACES))
	$(if $(SPACES),$(BIN)/python benchmarks/compare_methods.py run --spaces $(SPACES))
	$(if $(DOCUMENTS),OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_documents.py --cache $(DOCUMENTS))
	$(BIN)/python scripts/write_results.py

# The page on language models. MODELS="SmolLM2-135M=FILE.gguf Gemma-3-270M=FILE.gguf MiniLM-L6=FOLDER", CAUSAL=FILE.gguf,
# SECOND=FILE.gguf, SENTENCES=FOLDER, STATES=FOLDER for what is read, CONFIRMED=FOLDER for states of two more models; docs/language-models.md says where they come from.
# Three concepts removed and steered in two models, with CASES=FILE.csv as text of another kind: a day on two cores, about half
# an hour on a GPU (DEVICE=cuda WORKERS=15, with MPS). A run that was interrupted goes on.
results-concepts: $(VENV)/.ready-dev
	$(BIN)/python scripts/measure_concepts.py SmolLM2=$(CAUSAL) Gemma=$(SECOND) --encoder $(ENCODER) --data $(SENTENCES) --documents $(CASES) --device $(or $(DEVICE),cpu) --workers $(or $(WORKERS),1)
	$(BIN)/python scripts/write_results.py

# The whole page from one command, except its tables on groups and on the speed of reading, which come from single runs.
results-language-models: results-states results-concepts

results-states: $(VENV)/.ready-dev
	$(BIN)/python scripts/measure_states.py read $(MODELS) --data $(SENTENCES) --states $(STATES)
	$(BIN)/python scripts/measure_states.py languages --states $(STATES)
	$(BIN)/python scripts/measure_states.py fit --data $(SENTENCES) --states $(STATES)
	$(if $(CONFIRMED),$(BIN)/python scripts/measure_states.py confirm --data $(SENTENCES) --states $(CONFIRMED))
	$(BIN)/python scripts/measure_states.py draw
	$(BIN)/python scripts/measure_interventions.py $(CAUSAL) --data $(SENTENCES) --raw $(STATES)/removal.npz
	$(BIN)/python scripts/measure_interventions.py $(CAUSAL) --data $(SENTENCES) --parts preference --raw $(STATES)/preference.npz
	$(BIN)/python scripts/measure_levels.py $(CAUSAL) --data $(SENTENCES)
	$(BIN)/python scripts/measure_groups.py SmolLM2=$(CAUSAL) MiniLM=$(ENCODER) --data $(SENTENCES) --states $(STATES)
	$(BIN)/python scripts/measure_intervals.py
	$(if $(SECOND),$(BIN)/python scripts/measure_interventions.py $(SECOND) --second --parts remove,figures --data $(SENTENCES) --raw $(STATES)/second.npz)
	$(BIN)/python scripts/write_results.py

# The page on people. PEOPLE=FOLDER of ratings, SPACES=FOLDER for spaces, WORK=FOLDER for finished parts; once, GLOVE=FILE.json
# MINILM=FOLDER SMOLLM2=FILE.gguf to make the spaces. docs/people.md says where they come from; half an hour on one core.
results-people: $(VENV)/.ready-dev
	$(if $(GLOVE),$(BIN)/python scripts/measure_people.py encode --people $(PEOPLE) --spaces $(SPACES) --glove $(GLOVE) --minilm $(MINILM) --smollm2 $(SMOLLM2))
	OPENBLAS_NUM_THREADS=1 $(BIN)/python scripts/measure_people.py measure --people $(PEOPLE) --spaces $(SPACES) --work $(WORK)
	$(BIN)/python scripts/measure_people.py analyse --people $(PEOPLE) --work $(WORK)
	$(BIN)/python scripts/write_results.py

# Changes the source in memory, one thing at a time, and counts the changes that no test notices; an hour on one core.
mutations: $(VENV)/.ready-dev
	OPENBLAS_NUM_THREADS=1 SCIPY_ARRAY_API=1 $(BIN)/python scripts/measure_mutations.py --reach
	$(BIN)/python scripts/write_results.py

# Prints the table, and draws docs/images/scaling-*.svg from docs/scaling.json, where it keeps the curves.
benchmarks: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-lowest build dist docs/_build docs/api/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml densray-data/pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ./densray-data --editable '.[figures]'
	touch $@

$(VENV)/.ready-explore: pyproject.toml densray-data/pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ./densray-data --editable '.[explore]'
	touch $@ $(VENV)/.ready

$(VENV)/.ready-dev: pyproject.toml densray-data/pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ./densray-data --editable '.[dev]'
	touch $@ $(VENV)/.ready $(VENV)/.ready-explore

$(VENV)/.ready-docs: pyproject.toml densray-data/pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ./densray-data --editable '.[docs]'
	touch $@ $(VENV)/.ready
