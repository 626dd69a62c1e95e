#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The map has every folder, and includes point one way: report -> correct -> profiler/perfdata and profiler/record.h -> profiler/base.
# The simulator and the corrector know nothing of each other: one tested by the other's assumptions proves nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1

# allow FOLDER PATTERN FILES...: complain about every "rooted" include of FILES that does not match.
bad=0
allow()
{
	local room=$1 may=$2 found
	shift 2
	[ $# -gt 0 ] || return
	found=$(grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' -- "$@" | grep -vE "include[[:space:]]+\"($may)")
	[ -n "$found" ] || return
	printf '%s may include only %s:\n%s\n' "$room" "$may" "$found"
	bad=1
}

files()
{
	local room=$1
	shift
	find "$room" "$@" -name '*.[ch]' 2>/dev/null | sort
}

base='profiler/base/'
mapfile -t v < <(files profiler/base)
allow profiler/base "$base" "${v[@]}"
mapfile -t v < <(files profiler/perfdata)
allow profiler/perfdata "profiler/perfdata/|$base" "${v[@]}"
mapfile -t v < <(files profiler/sim)
allow profiler/sim "profiler/sim/|$base" "${v[@]}"
mapfile -t v < <(find profiler -name '*.[ch]' ! -path 'profiler/sim/*' ! -path 'profiler/main.c' | sort)
allow profiler "profiler/" "${v[@]}"
mapfile -t v < <(files correct)
allow correct "correct/|profiler/perfdata/|profiler/record\.h|$base" "${v[@]}"
# In correct/ a folder may include those that stand before it here, so that none can come to need itself.  profile.h and work.h are
# what they work towards and on, correct.h what is asked of them; correct.c puts the folders together.
below='' waists='correct/(profile|correct|work)\.h|profiler/perfdata/'
for room in model judge binary skid flow recording infer evidence divide solve assemble; do
	below="${below:+$below|}correct/$room/"
	mapfile -t v < <(files "correct/$room")
	allow "correct/$room" "$below|$waists|$base" "${v[@]}"
done
for room in correct/*/; do
	[[ $below == *$room* ]] || { echo "$room: its place among the folders of correct/ is not given" && bad=1; }
done
mapfile -t v < <(files report)
# Exact counts are read and written by themselves, and put beside a profile by what knows both.
mapfile -t v < <(files report/truth)
allow report/truth "report/truth/|correct/binary/|profiler/record\.h|$base" "${v[@]}"
mapfile -t v < <(files report/inclusive)
allow report/inclusive "report/inclusive/|correct/|$base" "${v[@]}"
mapfile -t v < <(files report/match)
allow report/match "report/match/|report/truth/|correct/|$base" "${v[@]}"
# lift asks the simulated core of a block's time through that one header.
allow report "report/|correct/|profiler/perfdata/|profiler/predict\.h|$base" "${v[@]}"
while read -r room; do
	grep -qF "$room/" man/skidprof-design.7 || { echo "$room: what it is for is not in man/skidprof-design.7" && bad=1; }
done < <(find profiler correct report -type d)
exit $bad
