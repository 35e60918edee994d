# The front door: `make run` and `make test` work on a fresh Debian 12 that has git, make and the package indexes.
# Everything real is in CMakeLists.txt and tools/; here are only the words a person types. `make help` lists them.
.NOTPARALLEL:
.DEFAULT_GOAL := help

PRESET ?= release
JOBS ?= $(shell nproc)
PROMPT ?= The old library at the end of the street
FUZZ_S ?= 60
MODEL ?= smollm2-135m
# The model that comes with the project, for when MODEL cannot be had, and a prompt that it understands.
SHIPPED := models/twin-ar.gguf
SHIPPED_PROMPT := A385+739=

BUILD := build/$(PRESET)
PLM := build/release/plm
QUIET := $(if $(MAKE_TERMOUT),,--quiet)
FORMATTED = $(shell find src tests bench -name '*.h' -o -name '*.cpp')
# Lets ccache recognise a file that was compiled in another clone.
export CCACHE_BASEDIR := $(CURDIR)

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: setup build ## install, build, fetch a model and let it write
	@if $(PLM) fetch $(MODEL); then \
	  echo "run: $(MODEL) goes on from: $(PROMPT)"; \
	  $(PLM) run $(MODEL) -p "$(PROMPT)" -n 96 --temperature 0.7 --seed 1; \
	else \
	  echo "run: $(MODEL) cannot be had here; the small model that ships answers $(SHIPPED_PROMPT)"; \
	  $(PLM) run $(SHIPPED) -p "$(SHIPPED_PROMPT)" -n 16 --temperature 0; \
	fi

.PHONY: test
test: setup build-all ## install, build and run all tests
	@$(PLM) fetch $(MODEL) >/dev/null || echo "test: without $(MODEL), its tests are skipped"
	@$(MAKE) --no-print-directory ctest

.PHONY: setup
setup: ## install what is missing (Debian packages)
	@tools/setup.sh

.PHONY: build
build: configure ## only build: build/release/plm
	@echo "build: $(BUILD)/plm"
	@cmake --build $(BUILD) -j $(JOBS) --target plm -- $(QUIET)

.PHONY: build-all
build-all: configure
	@echo "build: $(BUILD), with the tests"
	@cmake --build $(BUILD) -j $(JOBS) -- $(QUIET)

.PHONY: configure
configure: $(BUILD)/build.ninja

$(BUILD)/build.ninja: CMakePresets.json
	@echo "configure: $(PRESET)"
	@cmake --preset $(PRESET) --log-level=NOTICE >/dev/null

.PHONY: ctest
ctest:
	@ctest --test-dir $(BUILD) -LE long -j $(JOBS) --output-on-failure --no-tests=error

.PHONY: test-long
test-long: setup build-all ## the figures of real models, which take minutes; fetch them before
	@ctest --test-dir $(BUILD) -L long --verbose --no-tests=error

.PHONY: test-clients
test-clients: setup build ## drive the published clients of other servers against plm serve
	@tools/test_clients.py

.PHONY: asan
asan: setup ## build and test with the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory PRESET=asan build-all ctest

.PHONY: tsan
tsan: setup ## build and test with the thread sanitizer
	@$(MAKE) --no-print-directory PRESET=tsan build-all ctest

.PHONY: clang
clang: ## build and test with clang
	@tools/setup.sh build test clang
	@$(MAKE) --no-print-directory PRESET=clang build-all ctest

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_S seconds (60)
	@tools/setup.sh build clang
	@$(MAKE) --no-print-directory PRESET=fuzz build-all
	@tools/fuzz.sh build/fuzz/tests/fuzz $(FUZZ_S)

.PHONY: bench
bench: ## build and run the benchmarks
	@tools/setup.sh build bench
	@$(MAKE) --no-print-directory PRESET=bench build-all
	@set -e; for program in build/bench/bench/bench_*; do $$program; done

.PHONY: neon
neon: configure ## compile the kernels for 64-bit ARM, as a check
	@tools/setup.sh build neon
	@tools/neon.py $(BUILD) $(JOBS)

.PHONY: format
format: ## lay out the C++ files
	@tools/setup.sh format
	@clang-format-16 -i $(FORMATTED)

.PHONY: check-format
check-format: ## complain about files that are not laid out
	@tools/setup.sh format
	@clang-format-16 --dry-run --Werror $(FORMATTED)

.PHONY: lint
lint: ## look for mistakes with clang-tidy
	@tools/setup.sh build test clang lint
	@$(MAKE) --no-print-directory PRESET=clang configure
	@find src -name '*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy-16 --quiet -p build/clang

.PHONY: clean
clean: ## remove the build folders
	@rm -rf build
