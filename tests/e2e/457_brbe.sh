#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Arm's BRBE: up to 64 branches with cycles, a record that stands still at the overflow, S before the interrupt, and is empty after it.
# Linux writes more with each branch than others do, counts cycles by nine bits, and puts the kernel's branches between the program's.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

printf '%s\n' 'like cortex-a76' 'branch_records 64' 'branch_cycles 1' 'branch_freeze_overflow 1' >brbe.core
three_programs
check 'it is built' aarch64-linux-gnu-gcc -O2 -g three.c -o three

# record NAME OPTION...
record()
{
	local name=$1
	shift
	check "$name: it is recorded" status 0 env -i "$SKIDPROF" record -q --pmu sim -b --bursts 0 -c 2003 --core "$SCRATCH/brbe.core" "$@" \
		-o "$name.data" --truth "$name.truth" ./three
	check 'it is compared' status 0 "$SKIDPROF" compare -i "$name.data" --truth "$name.truth" --format json
}
eps_said() { eps_of | sed 's/^/# in the wrong function: /'; }
holds() { json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["truth"] > 0.01 * d["total_truth"])'; }
none_fixed() { json 'all(f["status"] != "fixed" for f in d["functions"])'; }

# As perf record -b does it: the records' cycles are all that tells instructions.
record three --plain
eps_said
check 'a point is in the wrong function at most, in 15 raw' json 'd["eps_fixed"] < 0.01 and d["eps_raw"] > 0.15'
check 'the total is known to a tenth' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.1'
check 'the truth is in the intervals' holds
check 'and nothing is fixed' none_fixed
check 'it is reported' status 0 "$SKIDPROF" report -i three.data
check 'records with cycles are what it rests on' has out 'branch records: yes, with cycles'
check 'perf reads as many branches, and the sampled address lies behind them' sh -c \
	'! command -v perf >/dev/null || perf script -i three.data -F ip,brstack 2>/dev/null | awk "NF > most { most = NF } END { exit most != 65 }"'

# The same file as Linux writes it, and what interrupts do to it: where the kernel's branches are on record stacks end there.
for how in 0:unknown 0.001:unknown 0.002:kernel 0.002:half 0.02:kernel; do
	plain stack=any "brbe=$how"
	check "brbe=$how: it is compared" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
	most=0.01
	eps_said
	[[ $how != 0.02* ]] || most=0.03
	check "$most are in the wrong function at most" json "d['eps_fixed'] < $most"
	check 'the total is known to 5%' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.05'
	check 'the truth is in the intervals' holds
	check 'and nothing is fixed' none_fixed
done

# With counts nothing is left open.
record group
check 'counts of cycles and instructions: the total is exact' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.002'
check 'a hundredth is in the wrong function at most' json 'd["eps_fixed"] < 0.01 and d["eps_raw"] > 0.15'
check 'all that matters is fixed' json 'all(f["status"] == "fixed" for f in d["functions"] if f["truth"] > 0.01 * d["total_truth"])'
check 'the truth is as near as three times the interval' json 'all(abs(f["fixed"] - f["truth"]) < 1.5 * (f["hi"] - f["lo"])
	for f in d["functions"] if f["truth"] > 0.01 * d["total_truth"])'
finish
