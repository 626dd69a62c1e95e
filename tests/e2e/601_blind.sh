#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A simulated core with hidden parameters is found by its cliffs: one here, fifty by `make cliffs-blind`.
set -u
command -v gcc >/dev/null || exit 77
# shellcheck disable=SC2046
gcc -std=gnu11 -D_GNU_SOURCE -O2 -iquote "$TOP" "$TOP/tests/stat/blind.c" -Wl,--start-group "$BUILD/libskidprof.a" \
	"$BUILD/libskidsim.a" -Wl,--end-group $(pkg-config --libs libdw libelf capstone gsl libzstd smartcols jansson) \
	-liberty -lpthread -lm -o "$SCRATCH/blind" || exit 1
if "$SCRATCH/blind" "$TOP/profiler/sim/cores/zen5.core" 1 1 -v >"$SCRATCH/out" 2>&1; then
	echo 'ok 1 - a hidden core is found: 95% of whole numbers exactly, of the others within 2%'
else
	echo 'not ok 1 - a hidden core is found: 95% of whole numbers exactly, of the others within 2%'
	sed 's/^/# /' "$SCRATCH/out"
fi
