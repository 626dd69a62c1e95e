#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Code that always runs next to where one loop gives way to another (eq. 39): conjugate gradients, whose dot products stand
# between solving triangles and the rest.  Few intervals between two samples of the rest lie wholly in them.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

check 'it is built' gcc -Os -g "$TOP/tests/stat/written/sparsechol.c" -o cg -lm
# With no environment, whose size moves the stack, every run is the same.
check 'it is recorded' status 0 env -i "$SKIDPROF" record -q --pmu sim -o cg.data --truth cg.truth ./cg
check 'it is compared' status 0 "$SKIDPROF" compare -i cg.data --truth cg.truth --format json
python3 - <<'P'
import json
for f in json.load(open("out"))["functions"]:
    if f["name"] in ("dot", "spmv"):
        print("# %s: raw %+.1f%%, fixed %+.2f%%, %s, inside: %s" % (f["name"], 100 * f["raw_err"], 100 * f["fixed_err"], f["status"], f["inside"]))
P
# By the inside intervals alone, dot was off by -12% and called fixed.  An interval is missed one time in ten: by twice itself not.
for name in dot spmv; do
	check "$name is within 5%, and twice its interval" json \
		"(lambda f: abs(f['fixed_err']) < 0.05 and abs(f['fixed'] - f['truth']) < f['hi'] - f['lo'])(
		 next(f for f in d['functions'] if f['name'] == '$name'))"
done
check 'the whole is nearer the truth than its samples' json 'd["eps_fixed"] < d["eps_raw"]'
exit $failed
