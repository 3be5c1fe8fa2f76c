# ranklab: `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

# The one place of the version: `ranklab --version`, the package and the tarball take it from here, CITATION.cff repeats it.
VERSION  := 0.2.0

BUILD    ?= build
MARCH    ?= native
CXX      := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CLANG    := $(findstring clang,$(shell $(CXX) --version 2>/dev/null))

# Older compilers fail with pages of templates, so they are refused in one line.
OLDEST   := $(if $(CLANG),14,12)
ifneq ($(filter-out help fetch-help deps clean format dist,$(or $(MAKECMDGOALS),build)),)
MAJOR    := $(firstword $(subst ., ,$(shell $(CXX) -dumpversion 2>/dev/null)))
ifeq ($(MAJOR),)
$(error the compiler $(CXX) is not found: install g++ 12 or newer, or name another one with CXX=)
endif
ifneq ($(shell test $(MAJOR) -ge $(OLDEST) 2>/dev/null && echo yes),yes)
$(error $(CXX) is version $(MAJOR), which is too old: install g++ 12 or newer (or clang 14), and name it with CXX=)
endif
endif

# Loops begin at a cache line: a loop over tiles takes up to 1.2 times as long where it happens not to.
OPTIMISE ?= -O3 -march=$(MARCH) -falign-loops=64
# Where no time is spent, and in tests, compiled faster; with the fused multiplications of -O3, for the same digits but the last.
LIGHT    ?= -O1 $(if $(CLANG),,-fexpensive-optimizations) -march=$(MARCH)
SANITIZE ?=
# GCC collects its garbage only beyond half a gigabyte: 0.91 of the time for 1.09 of the memory.
GARBAGE  := $(if $(CLANG),,--param ggc-min-heapsize=524288)
# Warnings are for those who work on the code: another compiler's new warning must not stop a user's build. STRICT=1 makes them errors.
STRICT   ?=
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(STRICT),-Werror)
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

RUN_PACKAGES  := libarmadillo-dev libopenblas-dev liblapack-dev libcxxopts-dev nlohmann-json3-dev zlib1g-dev gnuplot-nox bible-kjv bible-kjv-text dataset-fashion-mnist
# Random123 is a second Philox for the tests to compare ours with; they do without it elsewhere.
TEST_PACKAGES := doctest-dev python3 python3-jsonschema librandom123-dev
LINT_PACKAGES := clang-format clang-tidy
PAGE_PACKAGES := chromium
TORCH_PACKAGES := python3-torch
CLUSTER_PACKAGES := slurmd slurmctld slurm-client munge
DEB_PACKAGES  := build-essential debhelper dh-python

# Without -j on the command line every core compiles.
JOBS := $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(shell getconf _NPROCESSORS_ONLN))

.PHONY: help fetch-help deps build test test-page test-torch cluster-test fresh-test smoke reproduce bench lint format sanitize clean $(PRESETS)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14
	@echo "<preset>      run one preset into results/<preset>.json and draw results/<preset>.svg:"
	@echo "              $(PRESETS)"

fetch-help: ## which published weights to download, and what to run on them
	@sed -n '/^## Published weights/,/^## /{/^## [^P]/d;p}' experiments/README.md

# Each library with a header of it.
comma := ,
HEADERS_NEEDED := Armadillo:armadillo OpenBLAS:cblas.h cxxopts:cxxopts.hpp nlohmann-json:nlohmann/json.hpp doctest:doctest/doctest.h zlib:zlib.h
BY_HAND := $(if $(shell command -v apt-get),install them as root: apt-get install $(RUN_PACKAGES) $(TEST_PACKAGES),\
  packaging/README.md names the packages of several systems$(comma) and CPATH and LIBRARY_PATH name other places)

# Are the libraries there, wherever they come from? If not, one line says what to install.
define look_for_libraries
lacking=; for h in $(HEADERS_NEEDED); do \
  echo "#include <$${h#*:}>" | $(CXX) $(INCLUDE) -std=c++20 -E -x c++ - >/dev/null 2>&1 || lacking="$$lacking $${h%%:*} ($${h#*:}),"; \
done; \
if [ -n "$$lacking" ]; then echo "make deps: not found:$${lacking%,}$${why:-}; $(BY_HAND)" >&2; exit 1; fi
endef

ifeq ($(APT),)
deps:
	@$(look_for_libraries)
	@command -v gnuplot >/dev/null || echo "gnuplot is not found: figures cannot be drawn"
else
deps: ## install the Debian packages that are missing
	@tools="$(RUN_PACKAGES) $(TEST_PACKAGES) $(EXTRA_PACKAGES)"; missing=; \
	for p in $$tools; do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; echo "installing:$$missing"; \
	  said=$$({ $$sudo apt-get update -q && \
	    $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; } 2>&1 >/dev/null) || { \
	    why=" ($$(grep -m 1 '^E:' <<< "$$said" || tail -n 1 <<< "$$said"))"; $(look_for_libraries); \
    echo "make deps: going on without$$missing$$why" >&2; }; \
	fi
endif

build: deps ## the binary, build/ranklab
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY)

# --- compiling -------------------------------------------------------------------------------------------------------
# A tarball of `make dist` has no git, but the file .revision.
GIT_DESCRIBE := $(or $(shell cat .revision 2>/dev/null || git describe --always --dirty --abbrev=10 --match 'v[0-9]*' 2>/dev/null),unknown)

# What is written anew replaces the old file only where it differs, so that nothing is rebuilt for the same text.
renew = { cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }

# Rewritten only when it changes, so that one commit does not rebuild everything; what says it is compiled by itself.
VERSIONED := src/report/environment.cpp
$(BUILD)/generated/version.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo '#pragma once'; \
	   echo '#define RANKLAB_VERSION "$(VERSION)"'; \
	   echo '#define RANKLAB_GIT "$(GIT_DESCRIBE)"'; \
	   echo '#define RANKLAB_FLAGS "$(strip $(OPTIMISE) $(SANITIZE))"'; } > $@.new
	@$(renew)
FORCE:

$(VERSIONED:%.cpp=$(BUILD)/%.o): $(BUILD)/generated/version.hpp

# The files below a folder of the second level are compiled together, twelve at a time: what their headers bring is instantiated
# once. A clean build takes 222 CPU seconds instead of 475 with g++ 12, 287 instead of 931 with g++ 14 (FILES_PER_UNIT=1: precompiled
# headers alone). ccache does not replace this: filling it takes 333 instead of 935 (g++ 14), a build from it 6 instead of 9. A unit
# is a word, "kind/folder.number:file:file"; a kind has its flags and its precompiled headers.
units   = $(shell printf '%s\n' $(2) | awk -F/ -v kind=$(1) -v files=$(or $(FILES_PER_UNIT),$(3),12) \
  'NF { d = $$1 "/" $$2 (NF > 3 ? "/" $$3 : ""); u = kind "/" d "." int((n[d]++) / files); of[u] = of[u] ":" $$0 } END { for (u in of) print u of[u] }')
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

# Everything is compiled again after the compiler or its flags have changed.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CXX) $(MAJOR) $(CXXFLAGS) | $(LIGHT) | $(INCLUDE)' > $@.new
	@$(renew)

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
$(PRECOMPILED): HEADERS += armadillo
$(DOCUMENTS): HEADERS += nlohmann/json.hpp
$(BUILD)/precompiled/tests.hpp: HEADERS += armadillo doctest/doctest.h

# A static pattern: files of an implicit rule would be deleted as intermediate ones after a failed build.
$(PRECOMPILED) $(DOCUMENTS) $(BUILD)/precompiled/tests.hpp: $(BUILD)/precompiled/%.hpp: FORCE
	@mkdir -p $(@D)
	@printf '#include <%s>\n' $(HEADERS) > $@.new
	@$(renew)

%.hpp.gch: %.hpp $(BUILD)/flags
	@echo "  compile the headers of $(basename $(@F))"
	@$(CXX) $(filter-out -MMD -MP,$(CXXFLAGS)) -x c++-header $< -o $@

# The objects of these kinds.
of_kinds = $(filter $(foreach kind,$(1),$(BUILD)/units/$(kind)/%),$(OBJECTS) $(TEST_OBJECTS))
$(call of_kinds,writes studies tests helps) $(BUILD)/precompiled/tests.hpp.gch: private OPTIMISE = $(LIGHT)
$(call of_kinds,tests helps) $(BUILD)/tests/%.o: private INCLUDE += -Itests/unit
$(call of_kinds,writes reads) $(VERSIONED:%.cpp=$(BUILD)/%.o): private PRECOMPILED = $(DOCUMENTS)
$(call of_kinds,writes reads) $(VERSIONED:%.cpp=$(BUILD)/%.o): $(DOCUMENTS).gch
$(call of_kinds,tests): private PRECOMPILED = $(BUILD)/precompiled/tests.hpp
$(call of_kinds,tests): $(BUILD)/precompiled/tests.hpp.gch
$(call of_kinds,studies computes helps) $(BUILD)/src/main.o $(BUILD)/tests/bench/bench.o: $(BUILD)/precompiled/program.hpp.gch

COMPILE = $(CXX) $(CXXFLAGS) $(if $(MAKE_TERMERR),-fdiagnostics-color=always) -include $(PRECOMPILED) $(INCLUDE) -iquote .

# What the compiler says of a unit names the real file first, without the lines that lead there from the generated one.
NAMES_REAL_FILES := sed -e '\|^In file included from .*$(BUILD)/units/|d' -e '\|^ *from .*$(BUILD)/units/|d' -e 's|\./src/|src/|g' -e 's|\./tests/|tests/|g'

$(BUILD)/units/%.o: $(BUILD)/units/%.cpp $(BUILD)/flags
	@echo "  compile $*"
	@$(COMPILE) -c $< -o $@ 2>&1 | $(NAMES_REAL_FILES) >&2

$(BUILD)/%.o: %.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  compile $<"
	@$(COMPILE) -c $< -o $@

$(LIBRARY): $(OBJECTS)
	@rm -f $@ && ar rcs $@ $^

$(BINARY): $(BUILD)/src/main.o $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/unit-tests: $(TEST_OBJECTS) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/bench: $(addprefix $(BUILD)/tests/,bench/bench.o unit/tiny_checkpoint.o unit/tiny_layouts.o) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- testing ---------------------------------------------------------------------------------------------------------
test: deps ## deps, build, unit tests, end-to-end tests, smoke runs, schema checks
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY) $(BUILD)/unit-tests
	@RANKLAB_BUILD=$(BUILD) python3 tests/run_tests.py

smoke: build ## each command and study at toy size, in seconds
	@RANKLAB_BUILD=$(BUILD) python3 tests/run_tests.py smoke

fresh-test: ## the README's two commands and the package in clean chroots of Debian 12 and 13 (mmdebstrap); some 45 minutes
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES=mmdebstrap
	@tests/fresh/test.sh

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

lint: ## clang-format, the compiler's warnings as errors (build-strict), and clang-tidy, without a finding
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(LINT_PACKAGES)'
	@clang-format --dry-run -Werror $(FORMATTED)
	@$(MAKE) --no-print-directory $(JOBS) STRICT=1 BUILD=build-strict build-strict/ranklab build-strict/unit-tests
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

.PHONY: reference gallery check-reference check-verdicts

reference: build ## results/reference, what a full run of every preset gives, and the gallery in results/README.md; hours
	@$(BINARY) reproduce --full --out results/reference
	@$(MAKE) --no-print-directory gallery

gallery: build
	@cd results && ../$(BINARY) report $(sort $(patsubst results/%,%,$(wildcard results/reference/*.json))) --out ../$(BUILD)/gallery.md --quiet
	@sed -i -e '/^<!-- gallery -->$$/,/^<!-- end of the gallery -->$$/{//!d}' -e '/^<!-- gallery -->$$/r $(BUILD)/gallery.md' results/README.md

check-verdicts: ## verdicts in results/ against results/reference: no claim holds in one and fails in the other
	@python3 tests/check_verdicts.py results results/reference

check-reference: build ## runs the cheap presets again: does results/reference hold on this machine?
	@$(BINARY) verify $(CHEAP)

# --- installing ------------------------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
PLACE    = $(DESTDIR)$(PREFIX)

# Where Python finds the recorder: a folder below PREFIX that it searches already, else its usual name there.
PYTHON_PLACE ?= $(shell python3 -c 'import site, sys, sysconfig; prefix = sys.argv[1]; \
  searched = [path for path in [site.getusersitepackages(), *sys.path] if path.startswith(prefix + "/")]; \
  print((searched or [sysconfig.get_path("purelib", "posix_prefix", {"base": prefix})])[0])' $(abspath $(PREFIX)) 2>/dev/null \
  || echo $(PREFIX)/share/ranklab)

.PHONY: man install install-files dist deb

man: build ## the man page, build/ranklab.1
	@$(MAKE) --no-print-directory $(BUILD)/ranklab.1

$(BUILD)/ranklab.1: $(BINARY)
	@$(BINARY) man > $@

install: build ## the binary, its presets, the recorder, man page and completion below PREFIX=/usr/local
	@$(MAKE) --no-print-directory install-files
	@echo "installed below $(PLACE); the recorder is $(DESTDIR)$(PYTHON_PLACE)/ranklab_dump.py"
	@python3 -c 'import sys; sys.exit("$(PYTHON_PLACE)" not in sys.path)' 2>/dev/null || \
	  echo "before Python imports it: export PYTHONPATH=$(PYTHON_PLACE)"

install-files: $(BUILD)/ranklab.1
	@install -D $(BINARY) $(PLACE)/bin/ranklab
	@install -d $(PLACE)/share/ranklab/experiments
	@install -m 644 experiments/*.json experiments/shards.sbatch $(PLACE)/share/ranklab/experiments
	@install -D -m 644 $(BUILD)/ranklab.1 $(PLACE)/share/man/man1/ranklab.1
	@install -d $(PLACE)/share/bash-completion/completions
	@$(BINARY) completion bash > $(PLACE)/share/bash-completion/completions/ranklab
	@install -D -m 644 experiments/ranklab_dump.py $(DESTDIR)$(PYTHON_PLACE)/ranklab_dump.py

# The last commit, with its name in a file: the tarball builds without git. From an unpacked tarball it packs what was unpacked.
TARBALL := $(BUILD)/ranklab-$(VERSION).tar.gz
dist: ## build/ranklab-VERSION.tar.gz, which builds without git
	@mkdir -p $(BUILD)/dist
ifeq ($(wildcard .revision),)
	@[ -z "$$(git status --porcelain)" ] || echo "make dist: packs the last commit, without the changes in this folder" >&2
	@git describe --always --abbrev=10 --match 'v[0-9]*' > $(BUILD)/dist/.revision
	@git archive --prefix=ranklab-$(VERSION)/ --add-file=$(BUILD)/dist/.revision --output=$(TARBALL) HEAD
else
	@tar --exclude='./build*' --exclude='./results/*.json' --exclude='./results/*.svg' --exclude='./results/*.html' \
	  --no-wildcards-match-slash --transform 's|^\.|ranklab-$(VERSION)|' --owner=0 --group=0 -czf $(TARBALL) .
endif
	@echo "$(TARBALL)"

# dpkg's changelog is made from ours: its version is VERSION, its date that of the release.
RELEASED = $(shell sed -nE 's/^\#\# \[$(subst .,\.,$(VERSION))\] - ([0-9-]+)$$/\1/p' CHANGELOG.md)
$(BUILD)/deb/changelog: FORCE
	@mkdir -p $(@D)
	@[ -n "$(RELEASED)" ] || { echo "CHANGELOG.md has no section [$(VERSION)] with a date" >&2; exit 1; }
	@printf 'ranklab (%s) stable; urgency=medium\n\n  * Release %s; see CHANGELOG.md.\n\n -- %s  %s\n' $(VERSION) $(VERSION) \
	  "$$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$$(LC_ALL=C date -u -R -d $(RELEASED))" > $@

deb: ## build/ranklab_VERSION_ARCH.deb, for every x86-64-v3 processor
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(DEB_PACKAGES)'
	@$(MAKE) --no-print-directory dist $(BUILD)/deb/changelog
	@rm -rf $(BUILD)/deb/ranklab-$(VERSION) && tar -xf $(TARBALL) -C $(BUILD)/deb
	@cd $(BUILD)/deb/ranklab-$(VERSION) && mv packaging/debian debian && cp ../changelog debian/changelog && \
	  DEB_BUILD_OPTIONS="noautodbgsym nocheck" dpkg-buildpackage -b -us -uc > ../log 2>&1 || { tail -n 20 ../log >&2; exit 1; }
	@mv $(BUILD)/deb/ranklab_$(VERSION)_*.deb $(BUILD) && rm -rf $(BUILD)/deb/ranklab-$(VERSION)
	@ls $(BUILD)/ranklab_$(VERSION)_*.deb

clean: ## remove what was built; results stay
	@rm -rf build build-*
