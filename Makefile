# skidprof: one Makefile, not recursive; a new .c file needs no edit here.
#
#   make demo     install what is missing, build, record the samples, show raw and fixed against the truth
#   make check    the same set-up, then every test; closes with "N passed, N failed"
#
# V=1 shows commands; SAN=address,undefined builds into build-san; COVERAGE=1 into build-cov; B= names the folder.

VERSION := 0.1.0
PREFIX  ?= /usr/local
CC      ?= gcc
B       ?= build$(if $(SAN),-san)$(if $(COVERAGE),-cov)

# Every package of Debian 12 that building, testing and the demo need: the one list.  ncurses draws skidprof top, which tmux tests.
BUILD_PACKAGES := gcc make pkg-config libdw-dev libelf-dev libcapstone-dev libgsl-dev libzstd-dev \
                  libsmartcols-dev libjansson-dev libiberty-dev libpfm4-dev libncurses-dev qemu-user libc6-dev
TEST_PACKAGES  := $(BUILD_PACKAGES) g++ clang libclang-rt-14-dev clang-format clang-tidy cppcheck libcmocka-dev libglpk-dev \
                  valgrind linux-perf python3 xz-utils mandoc zstd gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
                  binutils lld mold gfortran qemu-system-arm cpio llvm procps tmux $(if $(filter x86_64,$(shell uname -m)),bolt-16) zsh fish dpkg-dev debhelper lintian debootstrap \
                  liblzma-dev zlib1g-dev libbz2-dev

PC      := libdw libelf capstone gsl libzstd smartcols jansson ncursesw
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

WARN    := -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith \
           -Wno-missing-field-initializers
# No -ffast-math, no contraction: the same seed gives the same bits.
OPT     := -O2 -g -ffp-contract=off
# What distributions build with.  Not under sanitizers, which look for the same by other means.
HARDEN  := $(if $(SAN)$(COVERAGE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -Wformat -Werror=format-security)
HARDEN_LD := $(if $(SAN)$(COVERAGE),,-Wl,-z,relro -Wl,-z,now)
# A build whose bytes are to be the same wherever it is made does not name the folder it was made in.
WHEREVER := $(if $(SOURCE_DATE_EPOCH),-ffile-prefix-map='$(CURDIR)'=.)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DSKIDPROF_VERSION='"$(VERSION)"' -iquote . -MMD -MP $(WARN) $(OPT) $(HARDEN) $(WHEREVER) \
             $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
             $(if $(COVERAGE),--coverage) $(PC_CFLAGS) $(CPPFLAGS) $(CFLAGS)
PC_CFLAGS = $(shell pkg-config --cflags $(PC) 2>/dev/null)
LIBS    = $(shell pkg-config --libs $(PC) 2>/dev/null) -liberty -lpfm -lpthread -lm
ALL_LDFLAGS = $(if $(SAN),-fsanitize=$(SAN)) $(if $(COVERAGE),--coverage) $(HARDEN_LD) $(LDFLAGS)

SRC     := $(filter-out profiler/main.c,$(wildcard profiler/*.c profiler/base/*.c profiler/perfdata/*.c \
           profiler/pmu/*.c profiler/calibrate/*.c profiler/doctor/*.c profiler/replay/*/decode*.c profiler/replay/*/emit*.c profiler/binary/*.c correct/*.c correct/*/*.c report/*.c report/*/*.c))
SIM_SRC := $(wildcard profiler/sim/*.c)
# The plugin shares only the base with the rest: the corrector must not know how samples were made.
PLUGIN_SRC := $(SIM_SRC) profiler/base/err.c profiler/base/vec.c profiler/base/pairs.c
OBJ     := $(SRC:%.c=$B/%.o)
SIM_OBJ := $(SIM_SRC:%.c=$B/pic/%.o)
UNIT    := $(patsubst tests/unit/%.c,$B/tests/%,$(wildcard tests/unit/test_*.c))
SAMPLES := $(patsubst samples/%,$B/samples/%,$(basename $(wildcard samples/*.c samples/*.cc)))
FUZZ    := $(patsubst tests/fuzz/%.c,$B/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: all demo cliffs cliffs-again cliffs-blind check check-unit check-san check-e2e check-guest stress bench accuracy plain-b accuracy-dev accuracy-frozen sensitivity headline calls lift lift-torture replay-torture bench-bursts \
        lint format fuzz readers samples kernels install uninstall deb tarball check-package clean packages test-packages
.DELETE_ON_ERROR:
.SECONDARY:

MACHINE := $(shell $(CC) -dumpmachine)

# Runs blocks for `lift`; what it emits is x86-64's.
SANDBOX_SRC := $(wildcard report/lift/sandbox/*.c)
SANDBOX := $(if $(findstring x86_64,$(MACHINE)),$B/skidblock)

# Replays what a stopped thread would do next.
REPLAY_ISA := $(if $(findstring x86_64,$(MACHINE)),x86)$(if $(findstring aarch64,$(MACHINE)),a64)
REPLAY_SRC := $(wildcard profiler/replay/*.c profiler/replay/$(or $(REPLAY_ISA),x86)/*.c)
REPLAY := $(if $(REPLAY_ISA),$B/skidreplay)
REPLAY_FLAGS_x86 := -mno-red-zone -fcf-protection=none
REPLAY_FLAGS_a64 := -mbranch-protection=none

# Completion is what --help says, so it is made where the program can run.
COMPLETION := $(if $(findstring $(shell uname -m),$(shell $(CC) -dumpmachine)),$(addprefix $B/completion/,skidprof.bash _skidprof skidprof.fish))

all: $B/skidprof $B/skidsim.so $(SANDBOX) $(REPLAY) $(COMPLETION)

$B/completion/skidprof.bash: TARGET_SHELL := bash
$B/completion/_skidprof: TARGET_SHELL := zsh
$B/completion/skidprof.fish: TARGET_SHELL := fish
$(COMPLETION): $B/skidprof $(wildcard man/completion.*)
	$(call say,GEN,$@)
	$Qmkdir -p $(@D) && man/completion.sh $(TARGET_SHELL) $B/skidprof >$@

$B/skidprof: $B/profiler/main.o $B/libskidprof.a $B/libskidsim.a
	$(call say,LINK,$@)
	$Q$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS) -o $@

$B/libskidprof.a: $(OBJ)
	$(call say,AR,$@)
	$Qrm -f $@ && $(AR) rcs $@ $^

# The emulator brings no sanitizer runtime, so the plugin is built without; its parts are tested with one in the unit tests.
$B/skidsim.so: $(PLUGIN_SRC:%.c=$B/pic/%.o)
	$(call say,LINK,$@)
	$Q$(CC) -shared $^ $(HARDEN_LD) $(LDFLAGS) $(shell pkg-config --libs capstone) -lpthread -lm -o $@

# Called code pushes below the stack pointer, and a sanitizer's runtime does not live under the filter.
$B/skidblock: $(SANDBOX_SRC) $(wildcard report/lift/sandbox/*.h)
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP -D_FORTIFY_SOURCE=% -fsanitize=% -fno-sanitize-recover=%,$(ALL_CFLAGS)) -fcf-protection=none \
	  -fno-stack-protector -mno-red-zone $(SANDBOX_SRC) $(HARDEN_LD) $(LDFLAGS) -o $@

# While a program is replayed the vector registers are the program's, and so is the stack pointer.
$B/skidreplay: $(REPLAY_SRC) $(wildcard profiler/replay/*.h profiler/replay/*/*.h)
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP -D_FORTIFY_SOURCE=% -fsanitize=% -fno-sanitize-recover=% --coverage,$(ALL_CFLAGS)) \
	  -mgeneral-regs-only -fno-stack-protector -fno-builtin \
	  $(REPLAY_FLAGS_$(REPLAY_ISA)) $(REPLAY_SRC) $(HARDEN_LD) $(LDFLAGS) -o $@

$B/%.o: %.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c $< -o $@

# Pages have their scripts and their style from there.
$B/report/html.o $B/fuzz/obj/report/html.o: report/html/page.js
$B/report/diff_html.o $B/fuzz/obj/report/diff_html.o: report/html/diff.js
$B/report/page.o $B/fuzz/obj/report/page.o: report/html/common.js report/html/page.css

# The plugin runs for every instruction of a program, on what the program can't write to.
SIM_OPT ?= -O3 -fno-math-errno
$B/pic/%.o: %.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(ALL_CFLAGS)) $(SIM_OPT) -fPIC -fno-stack-protector -fvisibility=hidden -c $< -o $@

# Unit tests link what they test from the archives; sim/ objects only in tests named test_sim_*.
$(SIM_SRC:%.c=$B/%.o): CFLAGS += $(SIM_OPT)
$B/libskidsim.a: $(SIM_SRC:%.c=$B/%.o)
	$Qrm -f $@ && $(AR) rcs $@ $^

# GLPK is a witness of the flows that interior.c finds.
$B/tests/test_infer_interior: LIBS += -lglpk
$B/tests/%: $B/tests/unit/%.o $B/libskidprof.a $B/libskidsim.a
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< -Wl,--start-group $B/libskidprof.a $B/libskidsim.a -Wl,--end-group -lcmocka $(LIBS) -o $@

# Samples are programs of their own: what a user would compile.
SAMPLE_FLAGS := -O2 -g
$B/samples/%: samples/%.c
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && gcc $(SAMPLE_FLAGS) $< -lm -lpthread -o $@
$B/samples/%: samples/%.cc
	$(call say,CXX,$<)
	$Qmkdir -p $(@D) && g++ $(SAMPLE_FLAGS) $< -lm -lpthread -o $@
samples: $(SAMPLES)

# The kernels of `make lift`: LEVEL with all that this machine has, LEVEL-emu without what the emulator lacks.
# Loops stay loops: none becomes a call of memset or memcpy.
KERNEL_FLAGS := -g -march=native -fno-tree-loop-distribute-patterns -fno-math-errno
KERNEL_EMU_x86_64 := -mno-avx512f -mno-avxvnni
KERNELS := $(foreach l,O1 O2 O3,$B/kernels/$l $B/kernels/$l-emu)
$B/kernels/%: $(wildcard samples/kernels/*.[ch])
	$(call say,CC,$@)
	$Qmkdir -p $(@D) && gcc -$(*:%-emu=%) $(KERNEL_FLAGS) $(if $(filter %-emu,$*),$(KERNEL_EMU_$(shell uname -m))) \
	  $(filter %.c,$^) -lm -o $@
kernels: $(KERNELS)

# libFuzzer is clang's; each target is one file beside the parser's sources, which are compiled once for all.
FUZZ_CC  = clang $(filter-out $(HARDEN),$(ALL_CFLAGS)) -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
$B/fuzz/obj/%.o: %.c
	$(call say,FUZZ,$<)
	$Qmkdir -p $(@D) && $(FUZZ_CC) -fsanitize=fuzzer-no-link -c $< -o $@

$B/fuzz/libskidprof.a: $(SRC:%.c=$B/fuzz/obj/%.o) $(SIM_SRC:%.c=$B/fuzz/obj/%.o)
	$Qrm -f $@ && $(AR) rcs $@ $^

$(FUZZ): $B/fuzz/%: $B/fuzz/obj/tests/fuzz/%.o $B/fuzz/libskidprof.a
	$(call say,LINK,$@)
	$Q$(FUZZ_CC) -fsanitize=fuzzer $^ $(LIBS) -o $@

fuzz: $(FUZZ)
	$Qtests/fuzz/run.sh '$B' $(or $(SECONDS_EACH),60)

packages test-packages:
	$Qtests/setup.sh $(if $(filter packages,$@),$(BUILD_PACKAGES) g++,$(TEST_PACKAGES))

demo:
	$Q$(MAKE) --no-print-directory packages
	$Q$(MAKE) --no-print-directory all samples
	$Qsamples/demo.sh '$B'

check:
	$Q$(MAKE) --no-print-directory test-packages
	$Qtests/run.sh '$B'

check-unit: $(UNIT)
	$Qtests/run.sh '$B' unit

check-e2e: all samples
	$Qtests/run.sh '$B' e2e

# The hardware recorder in an arm64 guest, whose PMU counts exactly.
check-guest: all
	$Qtests/run.sh '$B' guest

# Measures, and writes what it prints into man/skidprof-figures.7; PRINT_ONLY=1: prints only.
FIGURES := tests/figures.py

# Recordings under load and faults, whole; a short form is part of check.
stress: all
	$Q$(FIGURES) --from '^1\.\.' 'make stress' tests/stress/run.py '$B' whole

check-san:
	$Q$(MAKE) --no-print-directory SAN=address,undefined all samples
	$QSAN=address,undefined tests/run.sh build-san unit cases

# Programs that the cases and scripts of tests/ look through.
$B/cases/%: $B/tests/cases/%.o $B/libskidprof.a
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

unit-tests: $(UNIT) $B/cases/flowdump

# The kernels, on the simulated core and on this one: every predictor against measured cycles.  CORE=FILE of calibrate.
lift: all kernels
	$Qmkdir -p $B/lift && CORE='$(CORE)' $(FIGURES) --from 'in the first-level cache' 'make lift' tests/lift.sh '$B'

# Up to 20,000 different blocks of the programs in /usr/bin, run natively.
lift-torture: all
	$Qscratch=$$(mktemp -d) && TOP='$(CURDIR)' BUILD='$(abspath $B)' SCRATCH=$$scratch BLOCKS=20000 \
	  tests/e2e/405_lift_native.sh; status=$$?; rm -rf $$scratch; exit $$status

# The replayer against the processor, at length: a million instructions, hundreds of stops of each program.
replay-torture: all samples
	$Qscratch=$$(mktemp -d) && TOP='$(CURDIR)' BUILD='$(abspath $B)' SKIDPROF='$(abspath $B)/skidprof' SCRATCH=$$scratch \
	  LC_ALL=C.UTF-8 CASES=$(or $(CASES),1400000) FILES=400 STOPS=$(or $(STOPS),300) BRANCHES=160; \
	  export TOP BUILD SKIDPROF SCRATCH LC_ALL CASES FILES STOPS BRANCHES; \
	  tests/e2e/232_replay.sh && tests/e2e/236_replay_a64.sh; status=$$?; rm -rf $$scratch; exit $$status

bench: all samples
	$Q$(FIGURES) 'make bench, counting' tests/bench.sh '$B'
	$Q$(FIGURES) 'make bench, recording' tests/bench_record.sh '$B'
	$Q$(FIGURES) 'make bench, reports' tests/bench_report.sh '$B'
	$Q$(FIGURES) 'make bench, growth' tests/bench_growth.sh '$B'

# What replayed bursts cost and are worth, of the samples and of real programs: ten minutes at a time, goes on where it was.
# SECONDS_EACH=10, LIMIT=540, FRESH=1, PROGRAMS="xz perl".
bench-bursts: all samples
	$Q$(if $(PROGRAMS),PRINT_ONLY=1) $(FIGURES) 'make bench-bursts' tests/bench_bursts.py '$B'

# The model of a core against cores: this machine's, hidden ones, kernels that no cliff resembles.
$B/blind: tests/stat/blind.c $B/libskidprof.a $B/libskidsim.a
	$(call say,LINK,$@)
	$Q$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS) -o $@
$B/heldout: $(wildcard tests/stat/heldout*.c) tests/stat/heldout.h
	$(call say,CC,$<)
	$Qmkdir -p $(@D) && gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -iquote . $(filter %.c,$^) -lm -o $@
cliffs: all $B/heldout
	$Q$B/skidprof calibrate -o '$B/cliffs.core' --html '$B/cliffs.html'
	$Q$(FIGURES) 'make cliffs' python3 tests/stat/heldout.py '$B' profiler/sim/cores/turin.core
# The same table again: how far each clean row moves between N runs (OPTS=--quick).
cliffs-again: all
	$Qpython3 tests/stat/again.py '$B' $(or $(N),6) $(OPTS)
cliffs-blind: $B/blind
	$Q$(FIGURES) 'make cliffs-blind' $B/blind profiler/sim/cores/zen5.core $(or $(N),50) 1 -v

# Calls and trip counts of the samples against exact ones of the same runs.
calls: all samples
	$Q$(FIGURES) 'make calls' python3 tests/stat/calls.py $(if $(N),-n $(N)) '$B'

# On programs that nobody tuned on: the set to develop with, and the one to confirm with, before and after.  Recordings are
# made once, below CACHE.  BASE=FOLDER, of an earlier run's RESULTS: the difference to it, too.  PART_S=450: a quarter of an hour at a
# time, half of it to record, which goes on where it was and closes with the table of what there is.
accuracy-dev accuracy-frozen: all
	$QCACHE='$(CACHE)' SKIDPROF='$(abspath $B)/skidprof' tests/stat/sets.sh record $(@:accuracy-%=%) $(or $(PART_S),36000) || [ $$? -eq 3 ]
	$QCACHE='$(CACHE)' PART_S='$(PART_S)' tests/stat/sets.sh evaluate $(@:accuracy-%=%) '$B' '$B/sets/$(@:accuracy-%=%)' || [ $$? -eq 3 ]
	$Qtests/stat/sets.py '$(CACHE)/rec/$(@:accuracy-%=%)' '$B/sets/$(@:accuracy-%=%)'
	$Q$(if $(BASE),tests/stat/sets.py '$(CACHE)/rec/$(@:accuracy-%=%)' '$(BASE)' '$B/sets/$(@:accuracy-%=%)')

# What half and twice of every constant of the model do, on recordings of accuracy-dev: 900 s at a time, goes on where it was.
# PROGRAMS="lame json", CONSTANTS="few small", SECONDS_EACH=600; SHOW=1: what there is, into the page.
sensitivity: all
	$Q$(if $(PROGRAMS)$(CONSTANTS),PRINT_ONLY=1) $(FIGURES) 'make sensitivity' tests/stat/sensitivity.py '$B' '$(CACHE)/rec/dev'

# plain perf record -b, twenty programs; recordings stay in $B/plain-b.
plain-b: all
	$Qtests/stat/plain_b.sh '$B'

# Half an hour or an hour; LIMIT=1200: so many seconds at a time, goes on where it was.  PART="--variants 'plain-b plain-turns' --groups random
# --programs 10" is a part of it, which is printed only; KEEP=1 leaves recordings, for the corrector of the next build.
accuracy: all samples
	$Q$(if $(QUICK)$(PART),PRINT_ONLY=1) $(FIGURES) 'make accuracy' tests/stat/accuracy.sh '$B' $(if $(QUICK),--quick) $(if $(KEEP),--keep) $(if $(LIMIT),--limit $(LIMIT)) $(PART)

# The tables of README.md: some forty minutes.
headline: all samples
	$Q$(FIGURES) --into README.md 'make headline' tests/stat/headline.sh '$B' $(if $(KEEP),--keep)

CACHE ?= $(HOME)/.cache/skidprof-sets

TIDY_SRC := $(SRC) $(SIM_SRC) $(SANDBOX_SRC) $(REPLAY_SRC) profiler/main.c
C_FILES   = $(shell git ls-files '*.c' '*.h' '*.cc' 2>/dev/null)

# Other tools' counts beside our own, into skidprof-truth(1).
readers: all
	$Qtests/readers.py '$B' man/skidprof-truth.1

lint:
	$Qtests/lint/lint.sh $(TIDY_SRC)

format:
	$Qclang-format -i $(C_FILES)

# Where zsh looks; distributions have vendor-completions beside site-functions.
ZSH_DIR ?= share/zsh/site-functions

install: all
	$Qinstall -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/skidprof' \
	  '$(DESTDIR)$(PREFIX)/share/skidprof/cores' '$(DESTDIR)$(PREFIX)/share/skidprof/tools' '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/man/man7' \
	  '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' '$(DESTDIR)$(PREFIX)/$(ZSH_DIR)' \
	  '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	$Qinstall $B/skidprof '$(DESTDIR)$(PREFIX)/bin/'
	$Qinstall -m 644 $B/skidsim.so '$(DESTDIR)$(PREFIX)/lib/skidprof/'
	$(if $(SANDBOX)$(REPLAY),$Qinstall $(SANDBOX) $(REPLAY) '$(DESTDIR)$(PREFIX)/lib/skidprof/')
	$Qinstall -m 644 profiler/sim/cores/*.core '$(DESTDIR)$(PREFIX)/share/skidprof/cores/'
	$Qinstall -m 644 report/lift/tools/*.tool '$(DESTDIR)$(PREFIX)/share/skidprof/tools/'
	$Qinstall -m 644 man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1/'
	$Qinstall -m 644 man/*.7 '$(DESTDIR)$(PREFIX)/share/man/man7/'
	$(if $(COMPLETION),$Qinstall -m 644 $B/completion/skidprof.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/skidprof')
	$(if $(COMPLETION),$Qinstall -m 644 $B/completion/_skidprof '$(DESTDIR)$(PREFIX)/$(ZSH_DIR)/')
	$(if $(COMPLETION),$Qinstall -m 644 $B/completion/skidprof.fish '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/')
	@echo "installed: $(DESTDIR)$(PREFIX)/bin/skidprof, its parts in lib/skidprof and share/skidprof, manual pages in share/man"

uninstall:
	$Qrm -rf '$(DESTDIR)$(PREFIX)/bin/skidprof' '$(DESTDIR)$(PREFIX)/lib/skidprof' '$(DESTDIR)$(PREFIX)/share/skidprof'
	$Qrm -f $(patsubst man/%,'$(DESTDIR)$(PREFIX)/share/man/man1/%',$(wildcard man/*.1)) \
	  $(patsubst man/%,'$(DESTDIR)$(PREFIX)/share/man/man7/%',$(wildcard man/*.7)) \
	  '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/skidprof' '$(DESTDIR)$(PREFIX)/$(ZSH_DIR)/_skidprof' \
	  '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/skidprof.fish'
	$Qfor d in man/man1 man/man7 bash-completion/completions bash-completion '$(patsubst share/%,%,$(ZSH_DIR))' zsh fish/vendor_completions.d fish; do \
	  rmdir '$(DESTDIR)$(PREFIX)/share/'"$$d" 2>/dev/null || :; done
	@echo "removed: $(DESTDIR)$(PREFIX)/bin/skidprof, lib/skidprof, share/skidprof, manual pages, completion"

# A Debian package, in $B/deb.
deb:
	$Q.package/deb.sh '$B' '$(VERSION)'

# All but the C library and libsmartcols is linked in; what is beside the program is found from there.
ARCHIVES := $(patsubst %,-l:lib%.a,dw elf capstone gsl gslcblas zstd jansson iberty pfm z lzma bz2 ncursesw tinfo)
$B/portable/skidprof: $B/profiler/main.o $B/libskidprof.a $B/libskidsim.a
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(ALL_LDFLAGS) $(filter-out %.a,$^) -Wl,--start-group $(filter %.a,$^) $(ARCHIVES) \
	  -Wl,--end-group -lsmartcols -lpthread -lm -Wl,-rpath,'$$ORIGIN/../lib/skidprof' -o $@
$B/portable/skidsim.so: $(PLUGIN_SRC:%.c=$B/pic/%.o)
	$(call say,LINK,$@)
	$Qmkdir -p $(@D) && $(CC) -shared $^ $(HARDEN_LD) $(LDFLAGS) -l:libcapstone.a -lpthread -lm -o $@
tarball: all $B/portable/skidprof $B/portable/skidsim.so
	$Q.package/tarball.sh '$B' '$(VERSION)'

# The packages at length: built twice, and installed into a minimal Debian.
check-package: all
	$Qscratch=$$(mktemp -d) && TOP='$(CURDIR)' BUILD='$(abspath $B)' SKIDPROF='$(abspath $B)/skidprof' SCRATCH=$$scratch \
	  SKIDPROF_CONFIG= LC_ALL=C.UTF-8 LONG=1 tests/e2e/460_package.sh; status=$$?; rm -rf $$scratch; exit $$status

clean:
	$Qrm -rf build build-san build-cov build-clang build-arm64 build-guest

-include $(shell find $B -name '*.d' 2>/dev/null)
