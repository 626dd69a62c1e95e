#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings of many perf versions, whole and broken, where a folder of them is there: each is read or refused within
# modest memory; what perf can read as well, both see alike.
set -u
. "$TOP/tests/e2e/lib100.sh"
[ -d "${EXTRA_PERFDATA-}" ] || {
	echo "skipped: no folder of recordings (EXTRA_PERFDATA)"
	exit 77
}
tool dump

# Read with 400 MB of address space, or refused in one line that names the file.
read_or_refused() # FILE
{
	(ulimit -v 400000 && exec timeout 60 "$SCRATCH/dump" "$1" counts) >"$SCRATCH/out" 2>"$SCRATCH/err"
	case $? in
	0) [ ! -s "$SCRATCH/err" ] && [ -s "$SCRATCH/out" ] ;;
	1) [ "$(wc -l <"$SCRATCH/err")" = 1 ] && grep -qF "$1: " "$SCRATCH/err" ;;
	*) return 1 ;;
	esac
}
# Samples and summed periods by event, as perf sees them. Group reads are left out: perf makes new samples of them.
same_counts() # FILE
{
	perf script -f -G -i "$1" -F event,period 2>/dev/null |
		awk '{ e = $2; sub(/:$/, "", e); n[e]++; p[e] += $1 } END { for (e in n) printf "%d %.0f %s\n", n[e], p[e], e }' |
		sort >"$SCRATCH/perf"
	"$SCRATCH/dump" "$1" counts | grep -v '^#' | sort >"$SCRATCH/ours"
	cmp -s "$SCRATCH/perf" "$SCRATCH/ours" && return
	diff "$SCRATCH/perf" "$SCRATCH/ours" | head -6 | sed 's/^/# /'
	return 1
}
# Files that samples lie in. Two things perf names otherwise: a module by its name alone, memory a JIT filled by a file
# of symbols. And it knows nothing of ips in the kernel's half outside the kernel's recorded map, nor of those whose mode
# does not fit their half (a sample or two a file, taken while the mode changes).
same_places() # FILE
{
	local module='s,/[^ ]*/([^/ ]+)\.ko(\.[gx]z)?$,[\1],'
	perf script -f -G -i "$1" -F pid,ip,dso 2>/dev/null |
		sed -E "s/^ *-?([0-9]+) +([0-9a-f]+) \((.*)\)$/\1 \2 \3/; s,/tmp/perf-[0-9]+\.map$,//anon,; $module" >"$SCRATCH/perf"
	"$SCRATCH/dump" "$1" places | sed -E "$module" >"$SCRATCH/ours"
	[ -s "$SCRATCH/ours" ] || return 1
	paste -d ' ' "$SCRATCH/perf" "$SCRATCH/ours" | awk '
		$1 != $4 || $2 != $5 { bad++; next }
		$3 == $6 { next }
		$3 == "[unknown]" && $6 ~ /^\[kernel/ { kernel++; next }
		$3 == "[unknown]" { mode++; next }
		{ bad++; print "# perf: " $3 ", ours: " $6 }
		END { print "# " NR " samples, " bad + 0 " differ, " kernel + 0 " and " mode + 0 " are unknown to perf"
		      exit bad > 0 || mode > 2 }'
}
while IFS= read -r -d '' file; do
	case $file in *.md) continue ;; esac
	check "${file##*/} is read or refused" read_or_refused "$file"
done < <(find "$EXTRA_PERFDATA" -type f -print0 | sort -z)

need_perf
while IFS= read -r -d '' file; do
	case $file in *.md) continue ;; esac
	perf script -f -G -i "$file" -F ip >"$SCRATCH/out" 2>/dev/null || continue
	[ -s "$SCRATCH/out" ] || continue
	case ${file##*/} in
	leader-sampling*) continue ;;
	esac
	check "${file##*/}: perf counts the same" same_counts "$file"
	check "${file##*/}: perf finds the same files" same_places "$file"
done < <(find "$EXTRA_PERFDATA" -type f -print0 | sort -z)
