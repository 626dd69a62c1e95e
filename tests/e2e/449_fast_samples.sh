#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Samples that come as fast as they skid: an overflow before the interrupt of the one before has no sample.  Without group reads
# nothing in the file counts what is missing, so it is said, and no interval is made of totals that are wrong.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
for period in 401 20011; do
	check "period $period: it is recorded" status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 \
		-e cycles,instructions -c $period -o $period.data --truth $period.truth ./three 100000
done
check 'a short period: it is reported' status 3 "$SKIDPROF" report -i 401.data
check 'what is missing is said, and the remedy' grep -Eq '^# instructions: samples come about as fast as they skid, .* some [0-9]+% or more are missing.*larger period' out
check 'JSON' status 3 "$SKIDPROF" report -i 401.data --format json
check 'has it for both events' json 'all(0.02 < e["hidden"] <= 0.5 for e in d["meta"]["events"])'
check 'what can not be trusted has no interval' json 'sum(f["lo"] is None and f["status"] == "unreliable" for f in d["functions"] if f["name"] in ("mixed", "slow", "look", "quick")) == 4'
check 'and says why' json 'any("as fast as they skid" in (f["why"] or "") for f in d["functions"])'
# Exit status 3 is of the dynamic linker, which has 1% of so short a run or not.
"$SKIDPROF" report -i 20011.data >out 2>err
check 'a period that no skid reaches hides nothing' sh -c 'grep -q slow out && ! grep -q "as fast as they skid" out'
"$SKIDPROF" report -i 20011.data --format json >out 2>err
check 'and JSON says so' json 'not any(e["hidden"] for e in d["meta"]["events"])'

# Where the counters are read with each sample, what is missing is counted, and totals are right.
check 'read in groups: it is recorded' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions \
	-c 401 -o group.data --truth group.truth ./three 100000
check 'it is compared' status 0 "$SKIDPROF" compare -i group.data --truth group.truth --format json
check 'all instructions are there' json 'abs(sum(f["fixed"] for f in d["functions"]) / sum(f["truth"] for f in d["functions"]) - 1) < 0.03'
finish
