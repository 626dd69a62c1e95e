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
finish
