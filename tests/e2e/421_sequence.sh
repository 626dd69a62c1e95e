#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# 47 kernels one after another, all called by one loop, as benchmarks do.  Samples by themselves are nearly right then, and a
# correction that takes the kernels for the ways through one loop is not.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

check 'they are built' gcc -O1 -g -fno-tree-loop-distribute-patterns "$TOP"/samples/kernels/*.c -lm -o kernels
# With no environment, whose size moves the stack, every run is the same.
check 'they are recorded' status 0 env -i "$SKIDPROF" record -q --pmu sim -b -o k.data --truth k.truth ./kernels
check 'they are compared' status 0 "$SKIDPROF" compare -i k.data --truth k.truth --format json
python3 - >rows <<'P'
import json
d = json.load(open("out"))
for f in d["functions"]:
    if f["name"].startswith("kernel_") and f["truth"] >= 0.005 * d["total_truth"]:
        print(f["name"], abs(f["fixed_err"]), f["status"], "# raw %+.2f%%, fixed %+.2f%%" % (100 * f["raw_err"], 100 * f["fixed_err"]))
P
sed 's/^/# /' rows
# With at most eight phases they were off by 3.4%.
check 'most of them are there' test "$(grep -c . rows)" -ge 40
check 'they are right to 1% in the mean' awk '{ sum += $2 } END { exit !(sum / NR < 0.01) }' rows
check 'none that is called fixed is off by 5%' awk '$3 == "fixed" && $2 > 0.05 { exit 1 }' rows
exit $failed
