#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings as perf makes them on other machines, of a run whose counts are exact: what each tells is told, and no more.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
check 'it is recorded' record_three

# perf record -b: the shares of a region, with any event, whether the records tell cycles or not.
for how in 'events=cycles stack=any' 'events=cycles stack=any untimed' 'events=cycles stack=any untimed lose=0.25 freq' \
	'events=cycles stack=any untimed as=0:9:ref-cycles'; do
	# shellcheck disable=SC2086
	plain $how
	check "$how: it is reported" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'instructions are said not to be counted' json 'd["meta"]["instructions_relative"] and d["meta"]["branch_records"]'
	check 'shares of the region are right to a point' shares 0.01
done

# Other filters: no path is made of them.  Calls alone, returns, conditional branches, the calls that are not back yet.
# Without any record it is right or says that it is not; so it must be with these.
plain events=cycles,instructions
check 'without records it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
worst_of >without
for how in call ret cond callstack; do
	plain events=cycles,instructions stack=$how
	check "stack=$how: it is compared" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
	check 'it is no worse than without records' no_worse "$(cat without)" 0.02
	check 'it is reported' status 0 "$SKIDPROF" report -i plain.data
	check 'and what they are is said' grep -Eq '^# branch records are (calls only|returns only|conditional branches only|a call stack):' out
	plain events=cycles stack=$how
	check "stack=$how without instructions: raw" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'there are no shares' json 'not d["meta"]["instructions_relative"] and not d["meta"]["branch_records"]'
done
# Minimum-cost flow has one answer: no interval, and no word for one.
plain events=cycles,instructions
check 'method flow' status 0 "$SKIDPROF" report -i plain.data --method flow --format json
check 'has no interval and is weak' json 'all(f["lo"] is None and f["status"] != "fixed" for f in d["functions"]) and any(f["status"] == "weak" for f in d["functions"])'
finish
