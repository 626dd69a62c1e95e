#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What perf records on this machine, we read as perf does: a program that forks and executes, compressed and not, to a
# file, to a folder and to a pipe.
set -u
. "$TOP/tests/e2e/lib100.sh"
need_perf
tool dump
cd "$SCRATCH" || exit 1

load='for i in 1 2 3; do xz -0 -k -c "$0" | sha1sum & gzip -1 -c "$0"; done >/dev/null; wait'
record() # FILE OPTION...
{
	local file=$1
	shift
	if [ "$file" = pipe.data ]; then
		perf record -q -e cpu-clock -F 2000 "$@" -o - -- sh -c "$load" "$(command -v perf)" 2>/dev/null >"$file"
	else
		perf record -q -e cpu-clock -F 2000 "$@" -o "$file" -- sh -c "$load" "$(command -v perf)" 2>/dev/null
	fi
}
record try.data || {
	echo "skipped: perf can't record cpu-clock here"
	exit 77
}
compare() # FILE
{
	perf script -G -i "$1" -F pid,ip,dso 2>/dev/null |
		sed -E 's/^ *-?([0-9]+) +([0-9a-f]+) \((.*)\)$/\1 \2 \3/' >perf.places
	./dump "$1" places >our.places
	[ -s our.places ] || return 1
	paste -d ' ' perf.places our.places | awk '
		$1 != $4 || $2 != $5 { order++; next }
		$3 == $6 { next }
		$3 == "[unknown]" || $3 ~ /^\[/ { kernel++; next }
		{ bad++; print "# perf: " $3 ", ours: " $6 }
		END { print "# " NR " samples, " order + 0 " in other order, " bad + 0 " elsewhere, " kernel + 0 " of the kernel named otherwise"
		      exit bad > 0 || order > 0 || NR < 100 }'
}
whole() # FILE
{
	./dump "$1" counts | grep -q '^# .* dropped 0 unfinished 0 unknown 0$'
}
record file.data -g
record zstd.data -z
record pipe.data
# A folder, of a file for each of perf's threads; perf before 5.18 can't.
threads=
if record threads.data --threads -z && [ -d threads.data ]; then
	threads=threads
	check 'perf --threads made a folder' [ -s threads.data/data.0 ]
fi
for file in try file zstd pipe $threads; do
	check "$file.data is whole" whole $file.data
	check "$file.data: each sample lies where perf puts it" compare $file.data
done
