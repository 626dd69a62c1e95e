#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Events of units that tag what they sample (AMD's IBS, Arm's SPE as perf makes samples of it): read as what they are, and none
# taken for cycles or instructions that isn't.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
check 'it is recorded' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions -c 5003 -o three.data ./three

# IBS fetch is of fetches, IBS op of operations where it counts those, SPE of operations: where they were seen, and no more.
for as in '11:0:ibs_fetch/rand_en=1/' '12:0x80000:ibs_op/cnt_ctl=1/' '8:0:arm_spe_0/branch_filter=1/'; do
	name=${as##*:}
	plain events=cycles "as=$as"
	check "$name: it is reported" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'its samples are neither instructions nor cycles' json 'all(f["cycles"] is None and f["fixed"] is None and f["events"] for f in d["functions"])'
	check 'and raw' json 'all(f["status"] == "raw" for f in d["functions"])'
	check 'without a skid' json 'd["meta"]["skid"]["source"] == "precise"'
	check 'it is reported as text' status 0 "$SKIDPROF" report -i plain.data
	check 'by its name' has out "EVENTS are $name"
	check 'and compared with nothing' status 1 "$SKIDPROF" compare -i plain.data --truth three.truth
done

# IBS op that counts cycles is what cycles:p is on AMD's processors.
plain events=cycles as=12:0:ibs_op//
check 'ibs_op//: it is reported' status 0 "$SKIDPROF" report -i plain.data --format json
check 'its samples are of cycles' json 'all(f["cycles"] for f in d["functions"])'
check 'without a skid' json 'd["meta"]["skid"]["source"] == "precise"'

# Units are opened as sysfs describes them; where there is none that is said, and of SPE what records it.
check 'SPE is not recorded' status 1 "$SKIDPROF" record --pmu hardware -e arm_spe_0// -o no.data true
check 'and what does is said' one_line 'perf record -e arm_spe_0//'
[ -e /sys/bus/event_source/devices/ibs_op ] || {
	check 'no IBS is told' status 1 "$SKIDPROF" record --pmu hardware -e ibs -o no.data true
	check 'in one line' one_line 'there is no IBS here'
}
check 'a unit that is not there' status 2 "$SKIDPROF" record --pmu hardware -e none/x=1/ -o no.data true
check 'is named' one_line "no unit of that name"
if "$SKIDPROF" record -q --pmu hardware -e cpu-clock -o no.data true 2>/dev/null; then
	# The kernel's clock, by the number of its unit and code.
	check 'a unit by its codes' status 0 "$SKIDPROF" record --pmu hardware -q -e software/config=0/ -c 100000 -o unit.data ./three 3000000
	check 'it is reported' status 0 "$SKIDPROF" report -i unit.data --format json
	check 'by its name' json 'd["meta"]["events"][0]["name"] == "software/config=0/u" and d["meta"]["samples"] > 20'
fi
check 'as precise as the core can' status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 --core skylake \
	-e cycles:uP -c 20011 -o most.data ./three 100000
check 'it is reported' status 0 "$SKIDPROF" report -i most.data --format json
check 'without a skid' json 'd["meta"]["skid"]["source"] == "precise"'
check 'p and P is one too many' status 2 "$SKIDPROF" record --pmu sim -e cycles:pP -o no.data true
finish
