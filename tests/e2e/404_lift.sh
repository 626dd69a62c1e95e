#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Block predictions are lifted to kernels: from a corrected profile nearly the same as from exact counts.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
export XDG_CACHE_HOME=$SCRATCH/cache
command -v llvm-mca >/dev/null || { echo 'skip: llvm-mca is not installed' && exit 77; }
record_two || exit 1

check 'lift with exact executions' status 0 "$SKIDPROF" lift -i two.data --truth two.cg --tool llvm-mca --format json
cp out exact.json
check 'main is a kernel, and measured' json '[k for k in d["kernels"] if k["kernel"] == "main" and k["measured"] > 0]'
check 'lifted is the sum over its blocks' json \
	'all(abs(sum(b["executions"] * b["llvm-mca_cycles"] for b in k["blocks"]) / k["llvm-mca_cycles"] - 1) < 1e-9 for k in d["kernels"])'
check 'the error is against the measured cycles' json \
	'all(abs(k["llvm-mca_cycles"] / k["measured"] - 1 - k["llvm-mca_error"]) < 1e-9 for k in d["kernels"])'
check 'lift with corrected executions' status 0 "$SKIDPROF" lift -i two.data --tool llvm-mca --format json
check 'is within 2% of the exact one' json \
	'all(abs(a["llvm-mca_cycles"] / b["llvm-mca_cycles"] - 1) < 0.02 for a in d["kernels"] for b in json.load(open("exact.json"))["kernels"] if a["kernel"] == b["kernel"])'
check 'and has an interval' json 'all(k["llvm-mca_lo"] <= k["llvm-mca_cycles"] <= k["llvm-mca_hi"] for k in d["kernels"])'
finish
