#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The map has every folder, and includes point one way: report -> correct -> profiler/binary -> profiler/perfdata and
# profiler/record.h -> profiler/base.
# The simulator and the corrector know nothing of each other: one tested by the other's assumptions proves nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1

# allow FOLDER PATTERN [FIND-OPTION...]: complain about every "rooted" include of FOLDER's files that does not match.
bad=0
allow()
{
	local room=$1 may=$2 found
	shift 2
	found=$(find "$room" -name '*.[ch]' "$@" 2>/dev/null | sort |
		xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' -- | grep -vE "include[[:space:]]+\"($may)")
	[ -n "$found" ] || return
	printf '%s may include only %s:\n%s\n' "$room" "$may" "$found"
	bad=1
}

base='profiler/base/'
allow profiler/base "$base"
allow profiler/perfdata "profiler/perfdata/|$base"
allow profiler/sim "profiler/sim/|$base"
allow profiler "profiler/" ! -path 'profiler/sim/*' ! -path 'profiler/main.c'
allow profiler/binary "profiler/binary/|profiler/perfdata/|$base"
allow correct "correct/|profiler/binary/|profiler/perfdata/|profiler/record\.h|$base"
# In correct/ a folder may include those that stand before it here, so that none can come to need itself.  known.h and work.h are
# what they tell and work on, correct.h what is asked of them; correct.c puts the folders together.
below='' waists='correct/(known|correct|work)\.h|profiler/binary/|profiler/perfdata/'
for room in model judge skid flow recording infer evidence divide solve; do
	below="${below:+$below|}correct/$room/"
	allow "correct/$room" "$below|$waists|$base"
done
for room in correct/*/; do
	[[ $below == *$room* ]] || { echo "$room: its place among the folders of correct/ is not given" && bad=1; }
done
# Exact counts are read and written by themselves, and put beside a profile by what knows both.
allow report/truth "report/truth/|profiler/binary/|profiler/record\.h|$base"
# A profile is assembled of what a correction worked out, and no view of it is known there.
allow report/assemble "report/assemble/|report/profile\.h|correct/|profiler/binary/|profiler/perfdata/|$base"
allow report/inclusive "report/inclusive/|report/profile\.h|report/assemble/|correct/|$base"
allow report/match "report/match/|report/profile\.h|report/truth/|report/assemble/|correct/|profiler/binary/|$base"
# lift asks the simulated core of a block's time through that one header.
allow report "report/|correct/|profiler/binary/|profiler/perfdata/|profiler/predict\.h|$base" ! -path 'report/truth/*'
while read -r room; do
	grep -qF "$room/" man/skidprof-design.7 || { echo "$room: what it is for is not in man/skidprof-design.7" && bad=1; }
done < <(find profiler correct report -type d)
# Few things stand at the top.
while read -r name; do
	case $name in
	Makefile | profiler | correct | report | tests | samples | man | README.md | LICENSE | .* | build*) ;;
	*) echo "$name: it has no place at the top" && bad=1 ;;
	esac
done < <(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u)
exit $bad
