# ranklab: `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

BUILD    ?= build
MARCH    ?= native
CXX      := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CLANG    := $(findstring clang,$(shell $(CXX) --version 2>/dev/null))
# Loops begin at a cache line: a loop over tiles takes up to 1.2 times as long where it happens not to.
OPTIMISE ?= -O3 -march=$(MARCH) -falign-loops=64
# Where no time is spent, and in tests, compiled faster; with the fused multiplications of -O3, for the same digits but the last.
LIGHT    ?= -O1 $(if $(CLANG),,-fexpensive-optimizations) -march=$(MARCH)
SANITIZE ?=
# GCC collects its garbage only beyond half a gigabyte: 0.91 of the time for 1.09 of the memory.
GARBAGE  := $(if $(CLANG),,--param ggc-min-heapsize=524288)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
# GCC 12 warns falsely inside std::string: of -Wrestrict, and where that is precompiled of two more. clang warns of loops that it
# does not vectorise though they say that they may be.
WARNINGS += $(if $(CLANG),-Wno-pass-failed,-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
# OpenBLAS is linked directly: with the wrapper library a reference BLAS can sneak in.
ARMA     := -DARMA_DONT_USE_WRAPPER -DARMA_DONT_USE_OPENMP -DARMA_WARN_LEVEL=0
# Sums over arrays may be made in parts where a loop says so (`omp simd reduction`); no threads of OpenMP. Nobody reads errno of a root.
CXXFLAGS  = -std=c++20 $(OPTIMISE) $(SANITIZE) $(WARNINGS) $(ARMA) -fopenmp-simd -fno-math-errno $(GARBAGE) -MMD -MP -pthread
LDLIBS   := -lopenblas -lz -lpthread
INCLUDE  := -Isrc -I$(BUILD)/generated

# Where Debian's packages cannot be installed, libraries are found by pkg-config, in a conda environment, or where Homebrew puts them.
APT      := $(shell command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && { [ "$$(id -u)" = 0 ] || command -v sudo; } >/dev/null && echo yes)
ifeq ($(APT),)
MODULES  := armadillo openblas nlohmann_json cxxopts doctest zlib
PLACES   := $(CONDA_PREFIX) $(foreach brew,/opt/homebrew /usr/local,$(brew) $(brew)/opt/openblas)
INCLUDE  += $(patsubst -I%,-isystem %,$(foreach m,$(MODULES),$(shell pkg-config --cflags-only-I $(m) 2>/dev/null)))
INCLUDE  += $(addprefix -isystem ,$(wildcard $(addsuffix /include,$(PLACES))))
LDLIBS   += $(foreach m,openblas zlib,$(shell pkg-config --libs-only-L $(m) 2>/dev/null))
LDLIBS   += $(foreach lib,$(wildcard $(addsuffix /lib,$(PLACES))),-L$(lib) -Wl,-rpath,$(lib))
endif

SOURCES  := $(filter-out src/main.cpp,$(sort $(shell find src -name '*.cpp')))
TESTS    := $(sort $(shell find tests/unit -name '*.cpp'))
LIBRARY  := $(BUILD)/libranklab.a
BINARY   := $(BUILD)/ranklab
PRESETS  := $(sort $(patsubst experiments/%.json,%,$(wildcard experiments/*.json)))

RUN_PACKAGES  := libarmadillo-dev libopenblas-dev liblapack-dev libcxxopts-dev nlohmann-json3-dev librandom123-dev zlib1g-dev gnuplot-nox bible-kjv bible-kjv-text dataset-fashion-mnist
TEST_PACKAGES := doctest-dev python3 python3-jsonschema
LINT_PACKAGES := clang-format clang-tidy
PAGE_PACKAGES := chromium
TORCH_PACKAGES := python3-torch
CLUSTER_PACKAGES := slurmd slurmctld slurm-client munge

# Without -j on the command line every core compiles.
JOBS := $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(shell getconf _NPROCESSORS_ONLN))

.PHONY: help fetch-help deps build test test-page test-torch cluster-test unit smoke reproduce bench lint format sanitize clean $(PRESETS)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14
	@echo "<preset>      run one preset into results/<preset>.json and draw results/<preset>.svg:"
	@echo "              $(PRESETS)"

fetch-help: ## which published weights to download, and what to run on them
	@sed -n '/^## Published weights/,/^## /{/^## [^P]/d;p}' experiments/README.md

# A library and a header that it must have.
HEADERS_NEEDED := Armadillo:armadillo OpenBLAS:cblas.h cxxopts:cxxopts.hpp nlohmann-json:nlohmann/json.hpp Random123:Random123/philox.h zlib:zlib.h

ifeq ($(APT),)
deps:
	@echo "no packages can be installed here; looking for the libraries: $(foreach h,$(HEADERS_NEEDED),$(firstword $(subst :, ,$(h))))"
	@missing=; for h in $(HEADERS_NEEDED); do \
	  echo "#include <$${h#*:}>" | $(CXX) $(INCLUDE) -std=c++20 -E -x c++ - >/dev/null 2>&1 || missing="$$missing $${h%%:*} (no $${h#*:})"; \
	done; \
	if [ -n "$$missing" ]; then \
	  echo "not found:$$missing; the README names the packages of several systems, and CPATH and LIBRARY_PATH other places" >&2; exit 1; \
	fi
	@command -v gnuplot >/dev/null || echo "gnuplot is not found: figures cannot be drawn"
else
deps: ## install the Debian packages that are missing
	@tools="$(RUN_PACKAGES) $(TEST_PACKAGES) $(EXTRA_PACKAGES)"; missing=; \
	for p in $$tools; do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; echo "installing:$$missing"; \
	  { $$sudo apt-get update -q >/dev/null && \
	    $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing >/dev/null; } || \
	  $(MAKE) --no-print-directory deps APT=; \
	fi
endif

build: deps ## the binary, build/ranklab
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY)

# --- compiling -------------------------------------------------------------------------------------------------------
VERSION_BASE := 0.1.0
GIT_DESCRIBE := $(shell git describe --always --dirty --abbrev=10 --match 'v[0-9]*' 2>/dev/null || echo unknown)

# Rewritten only when it changes, so that one commit does not rebuild everything; what says it is compiled by itself.
VERSIONED := src/report/environment.cpp
$(BUILD)/generated/version.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo '#pragma once'; \
	   echo '#define RANKLAB_VERSION "$(VERSION_BASE)"'; \
	   echo '#define RANKLAB_GIT "$(GIT_DESCRIBE)"'; \
	   echo '#define RANKLAB_FLAGS "$(strip $(OPTIMISE) $(SANITIZE))"'; } > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

$(VERSIONED:%.cpp=$(BUILD)/%.o): $(BUILD)/generated/version.hpp

# The files below a folder of the second level are compiled together, twelve at a time: what their headers bring is instantiated
# once, half of the work. A unit is a word, "kind/folder.number:file:file"; a kind has its flags and its precompiled headers.
units   = $(shell printf '%s\n' $(2) | awk -F/ -v kind=$(1) -v files=$(or $(3),12) \
  '{ d = $$1 "/" $$2 (NF > 3 ? "/" $$3 : ""); u = kind "/" d "." int((n[d]++) / files); of[u] = of[u] ":" $$0 } END { for (u in of) print u of[u] }')
objects = $(foreach unit,$(1),$(BUILD)/units/$(firstword $(subst :, ,$(unit))).o)

# Studies spend their time in what they call: a profile of all presets finds 1 % of it in src/experiments. An edit of one is
# compiled in seconds, so their units are small.
WRITES   := $(filter-out $(VERSIONED),$(filter src/cli/% src/report/%,$(SOURCES)))
READS    := $(filter src/io/%,$(SOURCES))
STUDIES  := $(filter src/experiments/%,$(SOURCES))
COMPUTES := $(filter-out $(VERSIONED) $(WRITES) $(READS) $(STUDIES),$(SOURCES))
PROGRAM_UNITS := $(call units,computes,$(COMPUTES)) $(call units,writes,$(WRITES)) $(call units,reads,$(READS)) $(call units,studies,$(STUDIES),6)
TEST_UNITS    := $(call units,tests,$(filter %_test.cpp,$(TESTS))) $(call units,helps,$(filter-out %_test.cpp,$(TESTS)))
UNITS         := $(PROGRAM_UNITS) $(TEST_UNITS)
UNIT_SOURCES  := $(patsubst %.o,%.cpp,$(call objects,$(UNITS)))
OBJECTS       := $(call objects,$(PROGRAM_UNITS)) $(VERSIONED:%.cpp=$(BUILD)/%.o)
TEST_OBJECTS  := $(call objects,$(TEST_UNITS))

# A unit is written again only where its files are others.
$(UNIT_SOURCES) &: FORCE
	@mkdir -p $(sort $(dir $(UNIT_SOURCES)))
	@for unit in $(UNITS); do \
	  files=$${unit#*:}; file=$(BUILD)/units/$${unit%%:*}.cpp; text=$$(printf '#include "%s"\n' $${files//:/ }); \
	  [ -e $$file ] && [ "$$text" = "$$(< $$file)" ] || echo "$$text" > $$file; \
	done

# Armadillo and the JSON library cost seconds in every file that includes them: parsed once, for what computes, for what reads and
# writes, and for the tests (with doctest).
PRECOMPILED = $(BUILD)/precompiled/program.hpp
DOCUMENTS   = $(BUILD)/precompiled/documents.hpp
$(BUILD)/precompiled/%.hpp: HEADERS = algorithm cmath functional limits map memory string vector
$(BUILD)/precompiled/program.hpp: HEADERS += armadillo
$(BUILD)/precompiled/documents.hpp: HEADERS += nlohmann/json.hpp
$(BUILD)/precompiled/tests.hpp: HEADERS += armadillo doctest/doctest.h
$(BUILD)/precompiled/%.hpp:
	@mkdir -p $(@D)
	@printf '#include <%s>\n' $(HEADERS) > $@

%.hpp.gch: %.hpp
	@echo "  compile the headers of $(basename $(@F))"
	@$(CXX) $(filter-out -MMD -MP,$(CXXFLAGS)) -x c++-header $< -o $@

# The objects of these kinds.
of_kinds = $(filter $(foreach kind,$(1),$(BUILD)/units/$(kind)/%),$(OBJECTS) $(TEST_OBJECTS))
$(call of_kinds,writes studies tests helps) $(BUILD)/precompiled/tests.hpp.gch: private OPTIMISE = $(LIGHT)
$(call of_kinds,tests helps) $(BUILD)/tests/%.o: INCLUDE += -Itests/unit
$(call of_kinds,writes reads) $(VERSIONED:%.cpp=$(BUILD)/%.o): PRECOMPILED = $(DOCUMENTS)
$(call of_kinds,writes reads) $(VERSIONED:%.cpp=$(BUILD)/%.o): $(DOCUMENTS).gch
$(call of_kinds,tests): PRECOMPILED = $(BUILD)/precompiled/tests.hpp
$(call of_kinds,tests): $(BUILD)/precompiled/tests.hpp.gch
$(call of_kinds,studies computes helps) $(BUILD)/src/main.o $(BUILD)/tests/bench/bench.o: $(BUILD)/precompiled/program.hpp.gch

COMPILE = $(CXX) $(CXXFLAGS) -include $(PRECOMPILED) $(INCLUDE) -iquote .

$(BUILD)/units/%.o: $(BUILD)/units/%.cpp
	@echo "  compile $*"
	@$(COMPILE) -c $< -o $@

$(BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	@echo "  compile $<"
	@$(COMPILE) -c $< -o $@

$(LIBRARY): $(OBJECTS)
	@rm -f $@ && ar rcs $@ $^

$(BINARY): $(BUILD)/src/main.o $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/unit-tests: $(TEST_OBJECTS) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/bench: $(addprefix $(BUILD)/tests/,bench/bench.o unit/tiny_checkpoint.o unit/tiny_layouts.o) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $^ $(LDLIBS) -o $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- testing ---------------------------------------------------------------------------------------------------------
test: deps ## deps, build, unit tests, end-to-end tests, smoke runs, schema checks
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY) $(BUILD)/unit-tests
	@RANKLAB_BUILD=$(BUILD) python3 tests/run_tests.py

smoke: build ## each command and study at toy size, in seconds
	@RANKLAB_BUILD=$(BUILD) python3 tests/run_tests.py smoke

# GCC warns of uninitialised values in the standard library where the sanitizers instrument it.
sanitize: deps ## the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test BUILD=build-sanitize OPTIMISE='-O1 -g -march=$(MARCH)' \
	  SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized'

test-page: build ## the page of results in a headless browser: widths, console, pictures, print
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(PAGE_PACKAGES)'
	@RANKLAB_BUILD=$(BUILD) python3 tests/browser/test_page.py

test-torch: build ## the recorder of PyTorch models, experiments/ranklab_dump.py, with Debian's PyTorch
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(TORCH_PACKAGES)'
	@RANKLAB_BUILD=$(BUILD) /usr/bin/python3 tests/torch/test_dump.py

cluster-test: build ## shards on a Slurm cluster of four nodes on this machine: a killed task, a dead node; root
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(CLUSTER_PACKAGES)'
	@RANKLAB_BUILD=$(BUILD) tests/cluster/test.sh
	@RANKLAB_BUILD=$(BUILD) tests/cluster/parallel.sh

bench: build ## speed against the authors' method and against the machine's limits
	@$(MAKE) --no-print-directory $(BUILD)/bench
	@python3 tests/bench/bench.py $(BUILD)

FORMATTED = $(shell find src tests -name '*.hpp' -o -name '*.cpp')

lint: ## clang-format and clang-tidy, without a finding
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(LINT_PACKAGES)'
	@clang-format --dry-run -Werror $(FORMATTED)
	@$(MAKE) --no-print-directory $(BUILD)/generated/version.hpp
	@printf '%s\n' $(sort $(shell find src -name '*.cpp')) | \
	  xargs -P $$(nproc) -n 1 sh -c 'clang-tidy --quiet "$$0" -- -std=c++20 $(ARMA) $(INCLUDE) 2>/dev/null || { echo "clang-tidy: $$0"; exit 1; }'

format: ## clang-format over every source
	@clang-format -i $(FORMATTED)

# --- figures ---------------------------------------------------------------------------------------------------------
$(PRESETS): build
	@$(BINARY) run $@
	@$(BINARY) plot results/$@.json --out results/$@.svg

# Presets that read what another one writes: trained weights.
TRAINED := results/lambda-skip-trained.mamba2.safetensors
lambda-skip-fig01-trained lambda-skip-fig02-trained: $(TRAINED)
$(TRAINED): | build
	@$(MAKE) --no-print-directory lambda-skip-trained

reproduce: build ## every preset, its picture and results/report.html, in minutes; FULL=1: all inputs and seeds
	@$(BINARY) reproduce $(if $(FULL),--full)

# Presets whose full run takes 40 seconds at most.
CHEAP = $(shell grep -lE '^  "seconds": ([1-3]?[0-9]|40),' experiments/*.json | sed 's|.*/|results/reference/|')

.PHONY: reference gallery check-reference

reference: build ## results/reference, what a full run of every preset gives, and the gallery in the README; hours
	@$(BINARY) reproduce --full --out results/reference
	@$(MAKE) --no-print-directory gallery

gallery: build
	@$(BINARY) report $(sort $(wildcard results/reference/*.json)) --out $(BUILD)/gallery.md --quiet
	@sed -i -e '/^<!-- gallery -->$$/,/^<!-- end of the gallery -->$$/{//!d}' -e '/^<!-- gallery -->$$/r $(BUILD)/gallery.md' README.md

check-reference: build ## runs the cheap presets again: does results/reference hold on this machine?
	@$(BINARY) verify $(CHEAP)

# --- installing ------------------------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
PLACE    = $(DESTDIR)$(PREFIX)

.PHONY: man install

man: build ## the man page, build/ranklab.1
	@$(BINARY) man > $(BUILD)/ranklab.1

install: man ## the binary, its presets, man page and completion below PREFIX=/usr/local
	@install -D $(BINARY) $(PLACE)/bin/ranklab
	@install -d $(PLACE)/share/ranklab/experiments
	@install -m 644 experiments/*.json experiments/shards.sbatch $(PLACE)/share/ranklab/experiments
	@install -D -m 644 $(BUILD)/ranklab.1 $(PLACE)/share/man/man1/ranklab.1
	@install -d $(PLACE)/share/bash-completion/completions
	@$(BINARY) completion bash > $(PLACE)/share/bash-completion/completions/ranklab
	@echo "installed below $(PLACE)"

clean: ## remove what was built; results stay
	@rm -rf build build-*
