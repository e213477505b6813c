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
CODE := requirements.txt tools/extensions/portable.py $(shell find d2lmini -name '*.py' -o -name '*.tsv' -o -name '*.js' -o -name '*.css' -o -name '*.json' -o -name '*.safetensors')

.DELETE_ON_ERROR:

.PHONY: book serve slides figures pdf epub site lab test lint unit notebooks pages links bench mutants lock clean

book: $(VENV)/installed _build/code-unchanged _build/tools-unchanged
	@$(BIN)/python -m tools.run_notebooks
	@echo "Making the pages, in a minute or two."
	@$(BIN)/jupyter-book build -q -W -n --keep-going . >/dev/null  # a banner; warnings are elsewhere
	@$(MAKE) -s _build/html/slides/index.html _build/html/figures.zip
	@$(BIN)/python -c "from pathlib import Path; page = Path('_build/html/index.html'); \
		print('Open', page.resolve().as_uri(), 'or run: make serve')"

LECTURES := _build/code-unchanged _build/tools-unchanged _config.yml $(wildcard book/*.ipynb \
	tools/slides/slides_template/*)

_build/html/slides/index.html: $(LECTURES)
	@echo "Making the slides."
	@$(BIN)/python -m tools.slides.make_slides _build

_build/html/figures.zip: $(LECTURES)
	@echo "Making the file of figures."
	@$(BIN)/python -m tools.slides.figures_zip _build

# For lecturers, from the notebooks as they ran: a deck of slides a chapter, and all plots in one file.
slides: book
	@echo "The slides are in $(CURDIR)/_build/html/slides."

figures: book
	@echo "The figures are in $(CURDIR)/_build/html/figures.zip."

serve: book
	$(BIN)/python -m tools.serve _build/html

# The book for paper and for e-readers, as one file beside the pages. PDFs need a Chromium, or
# Chrome; for the Chinese terms of the glossary also a font that has them, such as fonts-noto-cjk.
pdf epub: book
	$(BIN)/python -m tools.paper.make_$@ _build/html

# What is put on a web server: the pages, with both of these beside them.
site: pdf epub

# In a container one often is root, which Jupyter wants to be told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

# Your own copy of the notebooks, in my-book/: an update of the book leaves your answers alone.
lab: $(VENV)/installed
	$(BIN)/python -m tools.own_copy my-book
	$(BIN)/jupyter lab $(AS_ROOT) my-book

test: lint unit notebooks pages

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/lint-imports

unit: $(VENV)/installed
	$(BIN)/pytest tests -n 2

# --nbval-lax: notebooks carry no stored outputs, so a cell passes if it runs.
notebooks: $(VENV)/installed
	rm -rf _build/checked
	PYTHONPATH=. $(BIN)/pytest -p tools.keep_outputs --keep-outputs _build/checked/_build \
		--nbval-lax --nbval-cell-timeout=300 -n 2 --dist loadscope book

# The built pages, from the notebooks as they ran: first as files, then in a browser.
# SCREENSHOTS=FOLDER keeps pictures of each page, wide and narrow, light and dark.
pages: notebooks
	$(BIN)/jupyter-book build -W -n --keep-going --path-output _build/checked .
	$(BIN)/python -m tools.slides.make_slides _build/checked/_build
	$(BIN)/python -m tools.slides.figures_zip _build/checked/_build
	$(BIN)/python -m tools.paper.make_pdf _build/checked/_build/html
	$(BIN)/python -m tools.paper.make_epub _build/checked/_build/html
	$(BIN)/python tests/book/check_built_book.py _build/checked/_build/html
	$(BIN)/pytest tests/browser -n 2 --durations 12 --built _build/checked/_build/html \
		$(SCREENSHOTS:%=--screenshots %)

# Do the links to other sites lead somewhere? No notebook is run for it.
links: $(VENV)/installed
	$(BIN)/jupyter-book config sphinx .
	PYTHONPATH=. $(BIN)/sphinx-build -b linkcheck -q -D nb_execution_mode=off . _build/links; \
		status=$$?; rm conf.py; exit $$status

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.speed | tee benchmarks/bench.md
	$(BIN)/python -m benchmarks.pages _build/html | tee -a benchmarks/bench.md
	$(BIN)/python -m benchmarks.readme

# Which breakages of the model core would no test notice? Takes an hour.
mutants: $(VENV)/installed
	$(BIN)/python -m benchmarks.mutate

# What torch brings for NVIDIA cards it asks for itself; with a CPU build none of it is needed.
CUDA := cuda-bindings cuda-pathfinder cuda-toolkit triton nvidia-cublas nvidia-cuda-cccl nvidia-cuda-cupti \
	nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile \
	nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 \
	nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx

# Versions stay as they are where they can; `rm requirements.txt` first for the newest of all.
lock:
	UV_CUSTOM_COMPILE_COMMAND="make lock (uv pip compile --universal requirements.in)" \
		uv pip compile --universal --python-version 3.11 --annotation-style line --quiet \
		$(CUDA:%=--no-emit-package %) requirements.in --output-file requirements.txt

clean:
	rm -rf _build

$(VENV)/installed: requirements.txt pyproject.toml
	$(PYTHON) tools/set_up.py $(VENV)
	touch $@

# Sphinx reads a page again when the page changes; what the extensions make of it may have changed too.
_build/tools-unchanged: _config.yml $(wildcard tools/*.py tools/*/*.py book/_templates/*)
	rm -rf _build/.doctrees
	mkdir -p _build
	touch $@

# Jupyter Book executes a notebook again when the notebook changes. The outputs depend on the
# package and the ledger too, so a change there throws the kept outputs and pages away.
_build/code-unchanged: $(CODE)
	rm -rf _build/.jupyter_cache _build/.doctrees
	mkdir -p _build
	touch $@
