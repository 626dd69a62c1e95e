#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# aarch64 from end to end on another machine: programs built for it, dynamic and static, recorded on the simulated core,
# corrected (instructions, DWARF, regions, mix), and held against the exact counts of the same run.
set -u
. "$TOP/tests/e2e/lib400.sh"
command -v aarch64-linux-gnu-gcc >/dev/null || {
	echo 'skipped: no aarch64 compiler'
	exit 77
}
cd "$SCRATCH" || exit 1

# a64 NAME SOURCE OPTION...: build, record and compare; the JSON is in out.
a64()
{
	local name=$1 source=$2
	shift 2
	check "$name is built" aarch64-linux-gnu-gcc -O2 -g "$source" -lm -o "$name" "$@"
	# With no environment, whose size moves the stack, every run is the same: intervals are missed one time in ten.
	check "$name is recorded" status 0 env -i "$SKIDPROF" record -q --pmu sim -o "$name.data" --truth "$name.cg" "./$name"
	check "$name is compared" status 0 "$SKIDPROF" compare -i "$name.data" --truth "$name.cg" --format json
	check 'all instructions are accounted for' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.005'
	check 'every function that matters is nearer the truth than its samples' json \
		'(lambda v: v and all(abs(f["fixed_err"]) < abs(f["raw_err"]) for f in v))(
		 [f for f in d["functions"] if f["truth"] >= 0.01 * d["total_truth"]])'
	check 'so is the whole, by far' json 'd["eps_fixed"] < 0.1 * d["eps_raw"] and d["eps_raw"] > 0.02'
}

# all_fixed: no function of weight is weak or raw, and the truth is within 5 standard deviations, for one interval of ten is to
# miss it: three times the 90% interval, which is under 1% wide.
all_fixed()
{
	json 'all(f["status"] == "fixed" and abs(f["fixed"] - f["truth"]) < 1.5 * (f["hi"] - f["lo"]) and f["hi"] - f["lo"] < 0.01 * f["truth"]
		for f in d["functions"] if f["truth"] >= 0.01 * d["total_truth"])'
}

a64 hmmer "$TOP/samples/hmmer.c"
check 'hmmer: two simple loops, one free flow; the truth is as near as the intervals say' all_fixed
check 'hmmer is explained' status 0 "$SKIDPROF" report -i hmmer.data --why P7Viterbi
check 'known by the totals of other events' has out 'totals: other events'
check 'instructions are disassembled' status 0 "$SKIDPROF" report -i hmmer.data --insns --function P7Viterbi --format json
check 'as aarch64 ones' json 'any("smull" in i["text"] for i in d["instructions"]) and any(i["text"].startswith("ldr") for i in d["instructions"])'
check 'lines come from DWARF' status 0 "$SKIDPROF" report -i hmmer.data --lines --format json
check 'of the file that was compiled' json 'any(l["file"].endswith("hmmer.c") and l["function"] == "path_max" for l in d["lines"])'

two_program
a64 two two.c -static
check 'two: the same' all_fixed
check 'two: for this machine' sh -c 'mv two two.a64 && gcc -O2 -g two.c -o two && "$SKIDPROF" record -q --pmu sim -o here.data ./two >/dev/null'
"$SKIDPROF" diff two.data here.data >out 2>err
check 'two: a comparison of both says so' grep -q 'is of aarch64 code, here.data of x86_64 code' err
a64 mcf "$TOP/samples/mcf.c"
finish
