# `make book` and `make test` need Python >= 3.11 and nothing else; PYTHON chooses which.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The nets are small: more threads than one only wait for each other when the machine is busy.
export OMP_NUM_THREADS ?= 1
# Jupyter, IPython and matplotlib write into the home folder; where that is read-only, or there is
# none, they get one of their own.
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export HOME := $(CURDIR)/_build/home
endif
.DELETE_ON_ERROR:

.PHONY: book serve pdf epub site lab check forms chapter test test-all browser lint unit notebooks paper pages \
	printer links bench gpu mutants lock clean

book: $(VENV)/installed
	@$(BIN)/python -m tools.make_book

serve: book
	$(BIN)/python -m tools.serve _build/html

# The book for paper and for e-readers, as one file beside the pages. PDFs need a Chromium, or
# Chrome; for the Chinese terms of the glossary also a font that has them, such as fonts-noto-cjk.
pdf epub: printer book
	$(BIN)/python -m tools.paper.make_$@ _build/html

printer: $(VENV)/with-paper
	@$(BIN)/python -m tools.browser needed

# What is put on a web server: the pages, with both of these beside them.
site: pdf epub

# In a container one often is root, which Jupyter wants to be told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# Your own copy of the notebooks, in my-book/: an update of the book leaves your answers alone.
lab: $(VENV)/installed
	$(BIN)/python -m tools.own_copy my-book
	$(BIN)/jupyter lab $(AS_ROOT) my-book/preface.ipynb

# While you work, about a minute: the forms, the model, and the notebooks that have changed.
check:
	@$(MAKE) --no-print-directory -j 3 lint notebooks forms

forms: $(VENV)/with-tests
	$(BIN)/pytest tests/core tests/book -n 2 -q -m "not slow and not thorough"

# One chapter, by its number: its notebook, its tests, its page. make chapter N=02
chapter: $(VENV)/with-tests
	$(BIN)/python -m tools.run_notebooks $(N)
	$(BIN)/pytest tests/book tests/check/test_exercises.py -n 2 -q -k "$(N)"
	$(MAKE) book

# Everything that a change to text, package or page can break. First of all: is there a browser?
test: browser lint unit notebooks pages

# And what few changes touch: paper, slides, JupyterLab, Firefox, hostile submissions, real data.
test-all: TESTS :=
test-all: browser lint unit notebooks paper pages

TESTS := -m "not thorough"

browser: $(VENV)/with-tests
	@$(BIN)/python -m tools.browser

lint: $(VENV)/with-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/lint-imports

unit: $(VENV)/with-tests
	$(BIN)/pytest tests -n 2 $(TESTS)

# By nbval, which runs every cell; a notebook whose outputs are kept has passed before.
notebooks: $(VENV)/installed
	$(BIN)/python -m tools.run_notebooks

paper: printer book
	$(BIN)/python -m tools.paper.make_pdf _build/html
	$(BIN)/python -m tools.paper.make_epub _build/html

# The built pages: first as files, then in a browser.
# SCREENSHOTS=FOLDER keeps pictures of each page, wide and narrow, light and dark.
pages: $(VENV)/with-tests book
	$(BIN)/python tests/book/check_built_book.py _build/html
	$(BIN)/pytest tests/browser -n 2 $(TESTS) --durations 12 --built _build/html \
		$(SCREENSHOTS:%=--screenshots %)

# Do the links to other sites lead somewhere? No notebook is run for it.
links: $(VENV)/installed
	$(BIN)/jupyter-book config sphinx .
	PYTHONPATH=. $(BIN)/sphinx-build -b linkcheck -q -D nb_execution_mode=off . _build/links; \
		status=$$?; rm conf.py; exit $$status

bench: $(VENV)/with-tests
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.speed | tee benchmarks/bench.md
	$(BIN)/python -m benchmarks.pages _build/html | tee -a benchmarks/bench.md
	$(BIN)/python -m benchmarks.readme

# What needs a CUDA device, within some minutes and without a network, by the PyTorch that is there.
gpu:
	D2LMINI_DEVICE=cuda D2LMINI_DATA=$(DATA) $(PYTHON) -m benchmarks.gpu $(RESULTS) \
		--minutes $(or $(MINUTES),10)

# Which breakages of the model core would no test notice? Takes an hour.
mutants: $(VENV)/with-tests
	$(BIN)/python -m benchmarks.mutate

# What torch brings for NVIDIA cards it asks for itself; with a CPU build none of it is needed.
CUDA := cuda-bindings cuda-pathfinder cuda-toolkit triton nvidia-cublas nvidia-cuda-cccl nvidia-cuda-cupti \
	nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile \
	nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 \
	nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx

# Versions stay as they are where they can; `rm requirements.txt` first for the newest of all.
# tests/requirements.in names that of tools/paper. The package itself, from this folder, is no line of
# the lock file: pip takes none such for a constraint.
LISTS := requirements.in tests/requirements.in
lock:
	UV_CUSTOM_COMPILE_COMMAND="make lock (uv pip compile --universal $(LISTS))" \
		uv pip compile --universal --python-version 3.11 --annotation-style line --quiet \
		$(CUDA:%=--no-emit-package %) --no-emit-package d2lmini $(LISTS) --output-file requirements.txt

clean:
	rm -rf _build

# What a reader needs; with-tests and with-paper add what testing and printing need.
$(VENV)/installed: requirements.in requirements.txt pyproject.toml
	$(PYTHON) tools/set_up.py $(VENV)
	touch $@

$(VENV)/with-%: $(VENV)/installed
	$(PYTHON) tools/set_up.py $(VENV) --with $*
	touch $@
