# ranklab: `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

# The version is defined only here: `ranklab --version`, the package and the tarball read it.
# CITATION.cff repeats it.
VERSION  := 0.4.0

BUILD    ?= build
MARCH    ?= native
CXX      := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CLANG    := $(findstring clang,$(shell $(CXX) --version 2>/dev/null))

# Older compilers fail with pages of template errors, so stop with one line instead.
OLDEST   := $(if $(CLANG),14,12)
ifneq ($(filter-out help deps clean format dist,$(or $(MAKECMDGOALS),build)),)
MAJOR    := $(firstword $(subst ., ,$(shell $(CXX) -dumpversion 2>/dev/null)))
ifeq ($(MAJOR),)
$(error compiler $(CXX) not found: install g++ 12 or newer, or set CXX= to another compiler)
endif
ifneq ($(shell test $(MAJOR) -ge $(OLDEST) 2>/dev/null && echo yes),yes)
$(error $(CXX) is version $(MAJOR), which is too old: install g++ 12 or clang 14, or newer, and set CXX= to it)
endif
endif

# Align loops to cache lines: an unaligned loop over tiles takes up to 1.2 times as long.
OPTIMIZE ?= -O3 -march=$(MARCH) -falign-loops=64
# For tests and for code that takes no time to run: compiles faster. Fused multiplications as with
# -O3 keep results equal up to the last digit.
LIGHT    ?= -O1 $(if $(CLANG),,-fexpensive-optimizations) -march=$(MARCH)
# Tests compile in 0.65 times the time with -Og and with assertions that are calls, and run in 1.05
# times the time. An exception inside an assertion ends its test case, which fails.
LIGHTEST  = $(patsubst -O1,-Og,$(LIGHT)) -DDOCTEST_CONFIG_SUPER_FAST_ASSERTS
SANITIZE ?=
# Let GCC collect garbage only above half a gigabyte: 0.91 times the time, 1.09 times the memory.
GARBAGE  := $(if $(CLANG),,--param ggc-min-heapsize=524288)
# Warnings are not errors by default, because a new warning of another compiler must not stop a
# user's build. STRICT=1 makes them errors.
STRICT   ?=
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(STRICT),-Werror)
# GCC 12 gives false warnings inside std::string: -Wrestrict, and two more if it is precompiled.
# clang warns about loops that it does not vectorize although a pragma allows it.
WARNINGS += $(if $(CLANG),-Wno-pass-failed,-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
# Link OpenBLAS directly: Armadillo's wrapper library may load a reference BLAS.
ARMA     := -DARMA_DONT_USE_WRAPPER -DARMA_DONT_USE_OPENMP -DARMA_WARN_LEVEL=0
# -fopenmp-simd allows reordered sums in loops marked `omp simd reduction`; it starts no threads. No
# code reads errno after sqrt.
CXXFLAGS  = -std=c++20 $(OPTIMIZE) $(SANITIZE) $(WARNINGS) $(ARMA) -fopenmp-simd -fno-math-errno $(GARBAGE) -MMD -MP -pthread
LDLIBS   := -lopenblas -lz -lpthread
INCLUDE  := -Isrc -I$(BUILD)/generated -isystem $(BUILD)/generated/ids

SOURCES  := $(filter-out src/main.cpp,$(sort $(shell find src -name '*.cpp')))
TESTS    := $(sort $(shell find tests/unit -name '*.cpp') $(filter-out tests/fuzz/main.cpp,$(wildcard tests/fuzz/*.cpp)))
LIBRARY  := $(BUILD)/libranklab.a
BINARY   := $(BUILD)/ranklab
PRESET_FILES := $(filter-out %.schema.json,$(wildcard experiments/*.json))
PRESETS  := $(sort $(patsubst experiments/%.json,%,$(PRESET_FILES)))
# Further names of presets.
ALIASES  := $(shell sed -n '/^  "aliases":/s/"\([^"]*\)": "[^"]*"/\n\1\n/gp' $(PRESET_FILES) | grep -E '^[a-z][a-z0-9.-]*$$')

RUN_PACKAGES  := libarmadillo-dev libopenblas-dev liblapack-dev libcxxopts-dev nlohmann-json3-dev zlib1g-dev librsvg2-bin bible-kjv bible-kjv-text dataset-fashion-mnist
# The tests compare our Philox with that of Random123. They skip this test if Random123 is missing.
TEST_PACKAGES := doctest-dev python3 python3-jsonschema librandom123-dev
LINT_PACKAGES := clang-format clang-tidy
PAGE_PACKAGES := chromium
TORCH_PACKAGES := python3-torch python3-pip python3-setuptools python3-wheel
CLUSTER_PACKAGES := slurmd slurmctld slurm-client munge
FUZZ_PACKAGES := clang libclang-rt-dev llvm
DEB_PACKAGES  := build-essential debhelper dh-python

# Use all cores unless -j is given.
JOBS := $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(shell getconf _NPROCESSORS_ONLN))

.PHONY: help deps build test new-study check reference fuzz tsan soak test-page test-torch test-python cluster-test fresh-test smoke reproduce bench memory bench-compare lint format sanitize clean $(PRESETS) $(ALIASES)

# `##` lists a target for users, `###` one for work on ranklab itself.
help: ## list the targets
	@list() { grep -hE "^[a-z-]+:[^#]* $$1 " $(MAKEFILE_LIST) | sed -E 's/:[^#]*#+ /\t/' | \
	   while IFS=$$'\t' read -r target text; do fold -sw 80 <<< "$$text" | sed "1s/^/  $$(printf '%-16s' "$$target")/; 2,\$$s/^/                  /; s/ *$$//"; done; }; \
	 list '##'; printf '  %-16s%s\n' '<preset>' 'run one preset into results/ and draw its figure; `build/ranklab list` names them'; \
	 printf '\nFor work on ranklab itself (tests/README.md):\n'; list '###'

# yes: Debian packages can be installed here.
APT := $(shell command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && { [ "$$(id -u)" = 0 ] || command -v sudo; } >/dev/null && echo yes)

# Each library and one of its headers.
HEADERS_NEEDED := Armadillo:armadillo OpenBLAS:cblas.h cxxopts:cxxopts.hpp nlohmann-json:nlohmann/json.hpp doctest:doctest/doctest.h zlib:zlib.h
BY_HAND := $(if $(shell command -v apt-get),install them as root: apt-get install $(RUN_PACKAGES) $(TEST_PACKAGES),\
  CPATH and LIBRARY_PATH name the folders of libraries that the compiler does not search)

# Checks that the libraries can be found. If not, prints one line that says what to install.
define look_for_libraries
lacking=; for h in $(HEADERS_NEEDED); do \
  echo "#include <$${h#*:}>" | $(CXX) $(INCLUDE) -std=c++20 -E -x c++ - >/dev/null 2>&1 || lacking="$$lacking $${h%%:*} ($${h#*:}),"; \
done; \
if [ -n "$$lacking" ]; then echo "make deps: not found:$${lacking%,}$${why:-}; $(BY_HAND)" >&2; exit 1; fi
endef

ifeq ($(APT),)
deps:
	@$(look_for_libraries)
	@command -v rsvg-convert >/dev/null || echo "rsvg-convert not found: figures can be drawn as SVG, but not as PNG or PDF"
else
deps: ### install missing Debian packages
	@tools="$(RUN_PACKAGES) $(TEST_PACKAGES) $(EXTRA_PACKAGES)"; missing=; \
	for p in $$tools; do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; echo "installing:$$missing"; \
	  said=$$({ $$sudo apt-get update -q && \
	    $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; } 2>&1 >/dev/null) || { \
	    why=" ($$(grep -m 1 '^E:' <<< "$$said" || tail -n 1 <<< "$$said"))"; $(look_for_libraries); \
    echo "make deps: continuing without$$missing$$why" >&2; }; \
	fi
endif

build: deps ## build the program, build/ranklab
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY)

# --- compiling -------------------------------------------------------------------------------------------------------
# A tarball of `make dist` has no git repository; its file .revision names the commit.
GIT_DESCRIBE := $(or $(shell cat .revision 2>/dev/null || git describe --always --dirty --abbrev=10 --match 'v[0-9]*' 2>/dev/null),unknown)

# Replaces the target only if the new text differs, so that an unchanged file causes no rebuild.
renew = { cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }

$(BUILD)/generated/version.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo '#pragma once'; \
	   echo '#define RANKLAB_VERSION "$(VERSION)"'; \
	   echo '#define RANKLAB_GIT "$(GIT_DESCRIBE)"'; \
	   echo '#define RANKLAB_FLAGS "$(strip $(OPTIMIZE) $(SANITIZE))"'; } > $@.new
	@$(renew)
FORCE:

# The published verdicts: the reference results without their numbers and figures, as one JSON list.
# Written at each build, so that the list also loses a result that was removed.
$(BUILD)/generated/published_results.hpp: FORCE
	@mkdir -p $(@D)
	@{ echo 'inline constexpr const char* published_results_json[] = {R"file([)file",'; \
	   awk 'function say(text) { printf "%s%s\n", (lines++ % 200 ? "" : (lines > 1 ? ")file\",\n" : "") "R\"file("), text } \
	     FNR == 1 { say((files++ ? "," : "") "{\"scalars\":{},\"series\":[],\"figure\":null,\"trial_values\":{},"); next } \
	     /^ "/ { left_out = $$1 ~ /^"(scalars|series|figure|more_figures|table|trial_values)":/ } \
	     !left_out { sub(/^ +/, ""); say($$0) } \
	     END { if (lines) print ")file\"," }' $(sort $(wildcard results/reference/*.json)) /dev/null; \
	   echo 'R"file(])file"};'; } > $@.new
	@$(renew)

# These files are compiled separately, so that a commit, a new reference or an edit of a study does
# not compile others.
SEPARATE := $(filter src/result/environment.cpp src/judge/published.cpp src/judge/judged_at.cpp,$(SOURCES))
$(BUILD)/src/result/environment.o: $(BUILD)/generated/version.hpp
$(BUILD)/src/judge/published.o: $(BUILD)/generated/published_results.hpp
$(BUILD)/src/judge/judged_at.o: $(BUILD)/generated/judging_lines.hpp

# The files of the HTML page as text in a header: style.css becomes the constant style_css.
PAGE_FILES := $(wildcard src/page/*.html src/page/*.css src/page/*.js)
$(BUILD)/generated/page_files.hpp: $(PAGE_FILES)
	@mkdir -p $(@D)
	@for file in $^; do name=$${file##*/}; \
	   printf 'inline constexpr char %s[] = R"file(' $${name/./_}; cat $$file; printf ')file";\n'; done > $@

# The catalog of the papers' statements: each file is a list of pieces, because compilers need not
# accept a string of more than 65,536 characters.
PAPER_FILES := $(wildcard experiments/papers/*.json)
# Changes with the names of the files, so that a file that was removed is noticed.
LISTED := $(BUILD)/generated/listed
$(LISTED): FORCE
	@mkdir -p $(@D)
	@echo '$(PAPER_FILES) $(PRESET_FILES)' > $@.new
	@$(renew)
$(BUILD)/generated/papers.hpp: $(PAPER_FILES) $(LISTED) Makefile
	@mkdir -p $(@D)
	@{ echo '#include <span>'; names=; \
	   for file in $(PAPER_FILES); do name=$${file##*/}; name=$${name//[-.]/_}; names+="$$name, "; \
	     printf 'inline constexpr const char* %s[] = {' $$name; \
	     awk 'NR % 200 == 1 { printf "%sR\"file(", (NR > 1 ? ")file\",\n" : "") } { print }' $$file; printf ')file"};\n'; done; \
	   echo "inline constexpr std::span<const char* const> paper_files[] = {$$names};"; } > $@

# The presets of this version, name and text: a preset of the user's is another one.
$(BUILD)/generated/shipped_presets.hpp: $(PRESET_FILES) $(LISTED) Makefile
	@mkdir -p $(@D)
	@{ echo '#pragma once'; \
	   echo 'inline constexpr struct { const char *name, *text; } shipped_presets[] = {'; \
	   for file in $(PRESET_FILES); do name=$${file##*/}; \
	     printf '{"%s", R"file(' $${name%.json}; cat $$file; printf ')file"},\n'; done; echo '};'; } > $@.new
	@$(renew)

# A constant for the id of each statement and slip of the catalog: spectral/thm-3.7 becomes
# spectral::thm_3_7. The code names ids only by them, so that a wrong one does not compile. To the
# compiler the file is a system header, which it does not list among the files that an object depends
# on: a new id compiles nothing. What names a constant that is gone is compiled again, to be refused.
IDS := $(BUILD)/generated/ids/statement_ids.hpp
$(IDS): $(PAPER_FILES) $(LISTED) Makefile
	@mkdir -p $(@D) && rm -f $(BUILD)/generated/statement_ids.hpp
	@{ echo '#pragma once'; \
	   sed -nE 's|^ *"id": "([a-z-]+)/([^"]+)".*|\1 \2|p' $(PAPER_FILES) | sort -u | while read paper id; do \
	     echo "namespace ranklab::$${paper//-/_} { inline constexpr char $${id//[.\/-]/_}[] = \"$$paper/$$id\"; }"; done; } > $@.new
	@touch $@; comm -23 <(sort $@) <(sort $@.new) | sed -nE 's|.*ranklab::([a-z_]+) .* char ([A-Za-z0-9_]+).*|\1::\2|p' | while read name; do \
	   { grep -rlw "$$name" src tests/unit || true; } | while read file; do \
	     find $(BUILD) -name '*.d' -exec grep -qwF "$$file" {} ';' -print | sed 's|d$$|o|' | xargs -r rm -f; done; done
	@$(renew)

# The lines of the studies that name the constant of a statement, by file and line. Written at each
# build, so that the list also loses a file that was removed.
$(BUILD)/generated/judging_lines.hpp: $(IDS) FORCE
	@{ echo 'inline constexpr struct { const char *statement_id, *place; } judging_lines[] = {'; \
	   awk 'FNR == NR { sub(/.*ranklab::/, ""); sub(/ .* char /, "::"); sub(/;.*/, ""); split($$0, is, /\[\] = /); id[is[1]] = is[2]; next } \
	     { text = $$0; \
	       while (match(text, /[a-z_]+::[A-Za-z0-9_]+/)) { \
	         name = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH); \
	         if (name in id && !named[name, FILENAME, FNR]++) printf "{%s, \"%s:%d\"},\n", id[name], FILENAME, FNR } }' \
	     $< $(sort $(shell find src/experiments src/ranks -name '*.[ch]pp')); \
	   echo '};'; } > $@.new
	@$(renew)

# Up to twelve files below a second-level folder are compiled together as a unit, so that templates
# are instantiated once. A clean build takes 222 CPU seconds instead of 475 with g++ 12, and 287
# instead of 931 with g++ 14 (FILES_PER_UNIT=1 uses only precompiled headers). ccache does not
# replace units: filling it takes 333 CPU seconds instead of 935 (g++ 14), a build from it 6 instead
# of 9. A unit is written as a word, "kind/folder.number:file:file". Each kind has its own flags and
# precompiled headers.
units   = $(shell printf '%s\n' $(2) | awk -F/ -v kind=$(1) -v files=$(or $(FILES_PER_UNIT),$(3),12) \
  'NF { d = $$1 "/" $$2 (NF > 3 ? "/" $$3 : ""); u = kind "/" d "." int((n[d]++) / files); of[u] = of[u] ":" $$0 } END { for (u in of) print u of[u] }')
objects = $(foreach unit,$(1),$(BUILD)/units/$(firstword $(subst :, ,$(unit))).o)

# Small units for the studies, so that an edit compiles in seconds. They use LIGHT flags, because a
# profile of all presets finds only 1 % of the time in them.
WRITES   := $(filter-out $(SEPARATE),$(filter src/cli/% src/page/% src/figure/% src/own/% src/judge/% src/result/%,$(SOURCES)))
READS    := $(filter src/io/%,$(SOURCES))
STUDIES  := $(filter src/experiments/% src/ranks/%,$(SOURCES))
COMPUTES := $(filter-out $(SEPARATE) $(WRITES) $(READS) $(STUDIES),$(SOURCES))
PROGRAM_UNITS := $(call units,computes,$(COMPUTES)) $(call units,writes,$(WRITES)) $(call units,reads,$(READS)) $(call units,studies,$(STUDIES),6)
TEST_UNITS    := $(call units,tests,$(filter %_test.cpp,$(TESTS))) $(call units,helps,$(filter-out %_test.cpp,$(TESTS)))
UNITS         := $(PROGRAM_UNITS) $(TEST_UNITS)
UNIT_SOURCES  := $(patsubst %.o,%.cpp,$(call objects,$(UNITS)))
OBJECTS       := $(call objects,$(PROGRAM_UNITS)) $(SEPARATE:%.cpp=$(BUILD)/%.o)
TEST_OBJECTS  := $(call objects,$(TEST_UNITS))

# Recompile everything if the compiler or its flags change. Everything may include the ids.
$(BUILD)/flags: FORCE | $(IDS)
	@mkdir -p $(@D)
	@echo '$(CXX) $(MAJOR) $(CXXFLAGS) | $(LIGHT) | $(LIGHTEST) | $(INCLUDE)' > $@.new
	@$(renew)

# Rewrite a unit only if its list of files changes.
$(UNIT_SOURCES) &: FORCE
	@mkdir -p $(sort $(dir $(UNIT_SOURCES)))
	@for unit in $(UNITS); do \
	  files=$${unit#*:}; file=$(BUILD)/units/$${unit%%:*}.cpp; text=$$(printf '#include "%s"\n' $${files//:/ }); \
	  [ -e $$file ] && [ "$$text" = "$$(< $$file)" ] || echo "$$text" > $$file; \
	done

# Armadillo and the JSON library cost seconds in every file that includes them, so they are
# precompiled: Armadillo for the computing files, JSON for the files that read and write, Armadillo
# and doctest for the tests.
PRECOMPILED = $(BUILD)/precompiled/program.hpp
DOCUMENTS   = $(BUILD)/precompiled/documents.hpp
$(BUILD)/precompiled/%.hpp: HEADERS = algorithm cmath functional limits map memory string vector
$(PRECOMPILED): HEADERS += armadillo
$(DOCUMENTS): HEADERS += nlohmann/json.hpp
$(BUILD)/precompiled/tests.hpp: HEADERS += armadillo filesystem doctest/doctest.h

# A static pattern rule, because make would delete the files of an implicit rule as intermediate
# after a failed build.
$(PRECOMPILED) $(DOCUMENTS) $(BUILD)/precompiled/tests.hpp: $(BUILD)/precompiled/%.hpp: FORCE
	@mkdir -p $(@D)
	@printf '#include <%s>\n' $(HEADERS) > $@.new
	@$(renew)

%.hpp.gch: %.hpp $(BUILD)/flags
	@echo "  compile the headers of $(basename $(@F))"
	@$(CXX) $(filter-out -MMD -MP,$(CXXFLAGS)) -x c++-header $< -o $@.new && mv $@.new $@

# The objects of the given kinds.
of_kinds = $(filter $(foreach kind,$(1),$(BUILD)/units/$(kind)/%),$(OBJECTS) $(TEST_OBJECTS))
$(call of_kinds,writes studies helps): private OPTIMIZE = $(LIGHT)
$(call of_kinds,tests) $(BUILD)/precompiled/tests.hpp.gch: private OPTIMIZE = $(LIGHTEST)
$(call of_kinds,tests helps) $(BUILD)/tests/%.o: private INCLUDE += -Itests/unit
$(call of_kinds,writes reads) $(SEPARATE:%.cpp=$(BUILD)/%.o): private PRECOMPILED = $(DOCUMENTS)
$(call of_kinds,writes reads) $(SEPARATE:%.cpp=$(BUILD)/%.o): $(DOCUMENTS).gch
$(filter $(BUILD)/units/writes/src/page.%,$(OBJECTS)): $(BUILD)/generated/page_files.hpp
$(filter $(BUILD)/units/writes/src/judge.%,$(OBJECTS)): $(BUILD)/generated/papers.hpp
$(filter $(BUILD)/units/writes/src/cli.%,$(OBJECTS)): | $(BUILD)/generated/shipped_presets.hpp
$(call of_kinds,tests): private PRECOMPILED = $(BUILD)/precompiled/tests.hpp
$(call of_kinds,tests): $(BUILD)/precompiled/tests.hpp.gch
$(call of_kinds,studies computes helps) $(BUILD)/src/main.o $(addprefix $(BUILD)/tests/,bench/bench.o bench/speedup.o fuzz/main.o unit/tiny_checkpoint.o unit/tiny_layouts.o): $(BUILD)/precompiled/program.hpp.gch

COMPILE = $(CXX) $(CXXFLAGS) $(if $(MAKE_TERMERR),-fdiagnostics-color=always) -include $(PRECOMPILED) $(INCLUDE) -iquote .

# Removes the lines about the generated unit from compiler messages, so that they name the real file
# first.
NAMES_REAL_FILES := sed -e '\|^In file included from .*$(BUILD)/units/|d' -e '\|^ *from .*$(BUILD)/units/|d' -e 's|\./src/|src/|g' -e 's|\./tests/|tests/|g'

$(BUILD)/units/%.o: $(BUILD)/units/%.cpp $(BUILD)/flags
	@echo "  compile $*"
	@$(COMPILE) -c $< -o $@ 2>&1 | $(NAMES_REAL_FILES) >&2

$(BUILD)/%.o: %.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  compile $<"
	@$(COMPILE) -c $< -o $@

$(LIBRARY): $(OBJECTS)
	@rm -f $@.new && ar rcs $@.new $^ && mv $@.new $@

$(BINARY): $(BUILD)/src/main.o $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@.new && mv $@.new $@

# The program's objects come first, so that the tests run its instances of templates, not the slower
# ones of the tests.
$(BUILD)/unit-tests: $(OBJECTS) $(TEST_OBJECTS)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@.new && mv $@.new $@

$(BUILD)/bench: $(addprefix $(BUILD)/tests/,bench/bench.o unit/tiny_checkpoint.o unit/tiny_layouts.o) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@.new && mv $@.new $@

$(BUILD)/speedup: $(BUILD)/tests/bench/speedup.o $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@.new && mv $@.new $@

# Only `make fuzz` links this, with clang.
$(BUILD)/fuzz: $(addprefix $(BUILD)/tests/,fuzz/main.o unit/tiny_checkpoint.o unit/tiny_layouts.o) $(filter $(BUILD)/units/helps/tests/fuzz.%,$(TEST_OBJECTS)) $(LIBRARY)
	@echo "  link    $@"
	@$(CXX) $(CXXFLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ $(LDLIBS) -o $@.new && mv $@.new $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- testing ---------------------------------------------------------------------------------------------------------
test: deps ## build, then run unit tests, end-to-end tests, smoke runs and schema checks
	@mkdir -p $(BUILD) && date +%s > $(BUILD)/test-start
	@$(MAKE) --no-print-directory $(JOBS) $(BINARY) $(BUILD)/unit-tests $(BUILD)/bench $(BUILD)/speedup
	@RANKLAB_BUILD=$(BUILD) RANKLAB_BUILD_SECONDS=$$(($$(date +%s) - $$(< $(BUILD)/test-start))) python3 tests/run_tests.py

new-study: ### write a new study, its test and its preset: COMMAND=random-features NAME=gaussian-product [PAPER=products]
	@COMMAND='$(COMMAND)' NAME='$(NAME)' PAPER='$(PAPER)' python3 src/experiments/template/new_study.py

check: ### check one preset (NAME=my-preset): what is missing, its tests, toy run, picture, reference, memory
	@RANKLAB_BUILD=$(BUILD) NAME='$(NAME)' python3 tests/check_preset.py --name
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/unit-tests
	@RANKLAB_BUILD=$(BUILD) NAME='$(NAME)' python3 tests/check_preset.py

smoke: build ### run each command and study at toy size, in seconds
	@RANKLAB_BUILD=$(BUILD) python3 tests/run_tests.py smoke

fresh-test: ### test the README's two commands and the package in clean chroots of Debian 12 and 13 (mmdebstrap); 50 to 95 minutes
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES=mmdebstrap
	@tests/fresh/test.sh

# With sanitizers GCC gives false warnings about uninitialized values in the standard library.
sanitize: deps ### run the tests with the address and undefined-behavior sanitizers
	@$(MAKE) --no-print-directory test BUILD=build-sanitize OPTIMIZE='-O1 -g -march=$(MARCH)' \
	  SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized'

# The program computes the checksum of its own file, which takes ten seconds with debugging
# information, so a file of its own keeps that.
tsan: deps ### run every study and command under ThreadSanitizer; SECONDS=900 limits the runs
	@$(MAKE) --no-print-directory $(JOBS) build-tsan/ranklab BUILD=build-tsan OPTIMIZE='-O1 -g -march=$(MARCH)' \
	  LIGHT='-O1 -g -march=$(MARCH)' SANITIZE='-fsanitize=thread -Wno-tsan -Wno-maybe-uninitialized'
	@cd build-tsan && { [ ranklab.debug -nt ranklab ] || { objcopy --only-keep-debug ranklab ranklab.debug && \
	  objcopy --strip-debug --add-gnu-debuglink=ranklab.debug ranklab && touch ranklab.debug; }; }
	@RANKLAB_BUILD=build-tsan python3 tests/soak/tsan.py --seconds $(or $(SECONDS),900)

soak: build ### kill runs, fill disks, interrupt, limit memory and files, for half an hour; SECONDS=1800 limits the time
	@RANKLAB_BUILD=$(BUILD) python3 tests/soak/soak.py --seconds $(or $(SECONDS),1800)

# FUZZ selects targets: FUZZ='npy npz'.
fuzz: ### give every reader mutated files, with clang's libFuzzer and sanitizers; SECONDS=60 per reader
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(FUZZ_PACKAGES)'
	@$(MAKE) --no-print-directory $(JOBS) CXX=clang++ BUILD=build-fuzz OPTIMIZE='-O1 -gline-tables-only -march=$(MARCH)' \
	  LIGHT='-O1 -gline-tables-only -march=$(MARCH)' WARNINGS=-w \
	  SANITIZE='-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS' \
	  build-fuzz/fuzz
	@python3 tests/fuzz/fuzz.py $(or $(SECONDS),60) $(FUZZ)

test-page: build ### test the report in a headless browser: widths, console, figures, print
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(PAGE_PACKAGES)'
	@RANKLAB_BUILD=$(BUILD) python3 tests/browser/test_page.py

test-torch: test-python
test-python: ### test the Python package in python/ with Debian's PyTorch
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(TORCH_PACKAGES)'
	@PYTHONPATH=python /usr/bin/python3 -m unittest discover -s tests/python -p "test_*.py"

cluster-test: build ### test shards on a Slurm cluster of four nodes on this machine, with a killed task and a dead node; needs root
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(CLUSTER_PACKAGES)'
	@RANKLAB_BUILD=$(BUILD) tests/cluster/test.sh
	@RANKLAB_BUILD=$(BUILD) tests/cluster/parallel.sh

# Row names are in tests/bench/rows.py: ROWS=figure-3,files-2048.
bench: build ### measure the speed next to peers and to the machine's limits, into results/bench/bench.json and .svg; FULL=1: all rows, sizes and threads
	@$(MAKE) --no-print-directory $(BUILD)/bench $(if $(FULL),$(BUILD)/speedup)
	@python3 tests/bench/bench.py --build $(BUILD) $(if $(FULL),--full) $(if $(ROWS),--rows $(ROWS))

memory: build # measure the largest memory of the presets (ONLY=spectral-fig03,...: these) in their first SECONDS=30, into experiments/*.json and results/bench/memory.csv
	@python3 tests/bench/memory.py $(BINARY) $(if $(ONLY),--presets $(ONLY)) --seconds $(or $(SECONDS),30)

# Needs no build: A and B are two folders of builds, or two results of `make bench`.
bench-compare: ### what became slower between two builds (A=build B=build-other) or two results (A=a.json B=b.json)
	@[ -n "$(A)" ] && [ -n "$(B)" ] || { echo "usage: make bench-compare A=build B=build-other [ROWS=figure-3,...], or A=a.json B=b.json" >&2; exit 2; }
	@python3 tests/bench/compare.py $(A) $(B) $(if $(ROWS),--rows $(ROWS))

FORMATTED = $(shell find src tests -name '*.hpp' -o -name '*.cpp')

TIDY = clang-tidy --quiet --checks="$$0" "$$1" -- -std=c++20 $(ARMA) $(INCLUDE) -I. 2>/dev/null || { echo "clang-tidy: $$1"; exit 1; }

# clang-tidy reads units, as the compiler does, so that headers are read once for several files. It
# looks for unused declarations only in the file that it is given, so files with names of other
# namespaces are read once more.
lint: $(UNIT_SOURCES) ### check with clang-format, compiler warnings as errors (build-strict) and clang-tidy
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(LINT_PACKAGES)'
	@clang-format --dry-run -Werror $(FORMATTED)
	@$(MAKE) --no-print-directory $(JOBS) STRICT=1 BUILD=build-strict build-strict/ranklab build-strict/unit-tests
	@$(MAKE) --no-print-directory $(addprefix $(BUILD)/generated/,version.hpp page_files.hpp papers.hpp published_results.hpp judging_lines.hpp shipped_presets.hpp ids/statement_ids.hpp)
	@printf '%s\n' $(patsubst %.o,%.cpp,$(call objects,$(PROGRAM_UNITS))) $(SEPARATE) src/main.cpp | \
	  xargs -P $$(nproc) -n 1 sh -c '$(TIDY)' -bugprone-suspicious-include
	@grep -lE '^ *(using [a-zA-Z_:]+::[a-zA-Z_]+;|namespace [a-z_]+ = )' $(SOURCES) | \
	  xargs -P $$(nproc) -n 1 sh -c '$(TIDY)' '-*,misc-unused-*'

format: ### run clang-format on all sources
	@clang-format -i $(FORMATTED)

# --- figures ---------------------------------------------------------------------------------------------------------
$(PRESETS) $(ALIASES): build
	@$(BINARY) run $@
	@$(BINARY) plot results/$@.json --out results/$@.svg

# Presets that read trained weights, which another preset writes.
TRAINED := results/lambda-skip-trained/model.mamba2.safetensors
lambda-skip-fig01-trained lambda-skip-fig02-trained lambda-skip-fig03-trained: $(TRAINED)
$(TRAINED): | build
	@$(MAKE) --no-print-directory lambda-skip-trained

reproduce: build ## run every preset, draw its figure and write results/report.html, in minutes; FULL=1: all inputs and seeds
	@$(BINARY) reproduce $(if $(FULL),--full)

# Presets whose full run takes at most 40 seconds.
CHEAP = $(shell grep -lE '^  "seconds": ([1-3]?[0-9]|40),' experiments/*.json | sed 's|.*/|results/reference/|')

.PHONY: words reference gallery check-reference check-verdicts

# The results go to results/reference when all are there: a program with other published verdicts is
# another program, which would start over.
reference: RUNS = $(BUILD)/reference$(NAME:%=-%)
reference: build ### run every preset (hours), or NAME=my-preset, in full into results/reference, then make gallery
	@[ -z '$(NAME)' ] || { rm -rf $(RUNS) && $(MAKE) --no-print-directory memory ONLY='$(NAME)' && $(MAKE) --no-print-directory build; }
	@$(BINARY) reproduce $(NAME) --full --out $(RUNS)
	@cp $(RUNS)/*.json $(RUNS)/*.svg results/reference
	@$(MAKE) --no-print-directory gallery

REFERENCES = $(sort $(patsubst results/%,%,$(wildcard results/reference/*.json)))

# Where texts refer to numbers of the reference results.
NUMBERED = README.md python/README.md results/README.md $(wildcard experiments/*.md) $(PRESET_FILES) $(PAPER_FILES) $(addprefix results/,$(REFERENCES))

gallery: build ### write README.md, statements.md, a page per paper and reference/report.html in results/ from all reference results
	@$(BINARY) numbers $(NUMBERED)
	@$(MAKE) --no-print-directory build
	@cd results && ../$(BINARY) report $(REFERENCES) --out ../$(BUILD)/gallery.md --quiet
	@sed -i -e '/^<!-- gallery -->$$/,/^<!-- end of the gallery -->$$/{//!d}' -e '/^<!-- gallery -->$$/r $(BUILD)/gallery.md' results/README.md
	@cd results && ../$(BINARY) papers --results reference --out statements.md
	@cd results && for paper in $(basename $(notdir $(PAPER_FILES))); do ../$(BINARY) papers $$paper --results reference --out $$paper.md || exit; done
	@cd results/reference && ../../$(BINARY) report $(notdir $(REFERENCES)) --out report.html --quiet
	@python3 packaging/codecheck.py > codecheck.yml

words: build # collect every sentence that a user can see in build/words.txt
	@python3 tests/words.py $(BUILD)/ranklab $(BUILD)/words.txt
	@echo $(BUILD)/words.txt

check-verdicts: # check that no claim holds in one of results/ and results/reference and fails in the other
	@python3 tests/check_verdicts.py results results/reference

check-reference: build ### rerun the cheap presets and compare with results/reference
	@$(BINARY) verify $(CHEAP)

# --- installing ------------------------------------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
PLACE    = $(DESTDIR)$(PREFIX)

# The folder of the Python package: a folder below PREFIX that Python searches, else the usual
# site-packages folder below PREFIX.
PYTHON_PLACE ?= $(shell python3 -c 'import site, sys, sysconfig; prefix = sys.argv[1]; \
  searched = [path for path in [site.getusersitepackages(), *sys.path] if path.startswith(prefix + "/")]; \
  print((searched or [sysconfig.get_path("purelib", "posix_prefix", {"base": prefix})])[0])' $(abspath $(PREFIX)) 2>/dev/null \
  || echo $(PREFIX)/share/ranklab)

.PHONY: man install install-files dist deb wheel

man: build ### write the man page, build/ranklab.1
	@$(MAKE) --no-print-directory $(BUILD)/ranklab.1

$(BUILD)/ranklab.1: $(BINARY)
	@$(BINARY) man > $@

install: build ## install program, presets, man page and completion below PREFIX=/usr/local
	@$(MAKE) --no-print-directory install-files
	@echo "installed below $(PLACE)"

install-files: $(BUILD)/ranklab.1
	@install -D $(BINARY) $(PLACE)/bin/ranklab
	@install -d $(PLACE)/share/ranklab/experiments
	@install -m 644 experiments/*.json experiments/shards.sbatch $(PLACE)/share/ranklab/experiments
	@install -D -m 644 $(BUILD)/ranklab.1 $(PLACE)/share/man/man1/ranklab.1
	@install -D -m 644 packaging/ranklab.bash $(PLACE)/share/bash-completion/completions/ranklab
	@install -D -m 644 -t $(DESTDIR)$(PYTHON_PLACE)/ranklab python/ranklab/*.py

# Packs the last commit with its name in .revision, so that the tarball builds without git. In an
# unpacked tarball, packs its files.
TARBALL := $(BUILD)/ranklab-$(VERSION).tar.gz
dist: ## write build/ranklab-VERSION.tar.gz, which builds without git
	@mkdir -p $(BUILD)/dist
ifeq ($(wildcard .revision),)
	@[ -z "$$(git status --porcelain)" ] || echo "make dist: packing the last commit without uncommitted changes" >&2
	@git describe --always --abbrev=10 --match 'v[0-9]*' > $(BUILD)/dist/.revision
	@git archive --prefix=ranklab-$(VERSION)/ --add-file=$(BUILD)/dist/.revision --output=$(TARBALL) HEAD
else
	@tar --no-wildcards-match-slash --exclude='./build*' --exclude='./results/*.json' --exclude='./results/*.svg' \
	  --exclude='./results/*.html' --transform 's|^\.|ranklab-$(VERSION)|' --owner=0 --group=0 -czf $(TARBALL) .
endif
	@echo "$(TARBALL)"

# The changelog for dpkg, with VERSION and the release date from CHANGELOG.md.
RELEASED = $(shell sed -nE 's/^\#\# \[$(subst .,\.,$(VERSION))\] - ([0-9-]+)$$/\1/p' CHANGELOG.md)
$(BUILD)/deb/changelog: FORCE
	@mkdir -p $(@D)
	@[ -n "$(RELEASED)" ] || { echo "CHANGELOG.md has no section [$(VERSION)] with a date" >&2; exit 1; }
	@printf 'ranklab (%s) stable; urgency=medium\n\n  * Release %s; see CHANGELOG.md.\n\n -- %s  %s\n' $(VERSION) $(VERSION) \
	  "$$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$$(LC_ALL=C date -u -R -d $(RELEASED))" > $@

deb: ## build build/ranklab_VERSION_ARCH.deb for x86-64-v3 processors
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES='$(DEB_PACKAGES)'
	@$(MAKE) --no-print-directory dist $(BUILD)/deb/changelog
	@rm -rf $(BUILD)/deb/ranklab-$(VERSION) && tar -xf $(TARBALL) -C $(BUILD)/deb
	@cd $(BUILD)/deb/ranklab-$(VERSION) && mv packaging/debian debian && cp ../changelog debian/changelog && \
	  DEB_BUILD_OPTIONS="noautodbgsym nocheck" dpkg-buildpackage -b -us -uc > ../log 2>&1 || { tail -n 20 ../log >&2; exit 1; }
	@mv $(BUILD)/deb/ranklab_$(VERSION)_*.deb $(BUILD) && rm -rf $(BUILD)/deb/ranklab-$(VERSION)
	@ls $(BUILD)/ranklab_$(VERSION)_*.deb

# -lgfortran and -lquadmath are for OpenBLAS's LAPACK. libc and libm stay shared.
# src/linalg/blas.cpp relies on OpenBLAS starting before our own constructors, so it comes first.
FIRST  := -s -Wl,-u,gotoblas_init -l:libopenblas.a
STATIC := -static-libgcc -static-libstdc++ -Wl,-Bstatic -lopenblas -lgfortran -lquadmath -lz -Wl,-Bdynamic -lm -lpthread
wheel: ## build build/ranklab-VERSION-py3-none-linux_x86_64.whl, which pip installs: the program for x86-64-v3 and the Python package
	@$(MAKE) --no-print-directory deps EXTRA_PACKAGES=gfortran
	@rm -rf build-wheel/root && mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory $(JOBS) install-files BUILD=build-wheel MARCH=x86-64-v3 LDFLAGS='$(FIRST)' LDLIBS='$(STATIC)' \
	  DESTDIR=build-wheel/root PREFIX= PYTHON_PLACE=/python
	@python3 packaging/wheel.py build-wheel/root $(VERSION) $(BUILD)
	@objdump -T build-wheel/ranklab | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_/needs glibc /'

clean: ## remove the build folders; keep results
	@rm -rf build build-*
