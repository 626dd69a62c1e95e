#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# perf's percentages and ours of the same file are the same, to the digit that perf prints; and what perf recorded in any
# mode is reported.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib100.sh"
need_perf
tool dump
cd "$SCRATCH" || exit 1
two_program
# -no-pie: ips are the linked addresses.  -fno-plt: this perf calls a stub of the linkage table by the symbol before it,
# "_init", where ours is "strtol@plt"; a sample there is rare, and would be told as a difference of shares.
gcc -O2 -g -no-pie -fno-plt two.c -o two

# shares FILE: perf's share of each function of the program, and of each file, against ours. perf prints 0.01%.
shares()
{
	perf report -i "$1" --no-children -g none --stdio -F overhead,dso,sym 2>/dev/null >perf.func
	perf report -i "$1" --no-children -g none --stdio -F overhead,dso 2>/dev/null >perf.file
	"$SKIDPROF" report -i "$1" --raw --rollup --format json >out 2>err || return 1
	python3 - <<'P'
import json, re, sys
ours, funcs, bad, n = {}, {}, 0, 0
d = json.load(open("out"))
for f in d["functions"]:
    # Samples of inlined functions are in the one that holds them, too.
    bad += abs(f["samples"] / d["meta"]["samples"] - f["share"]) > 1e-6
    ours[f["module"]] = ours.get(f["module"], 0) + f["share"]
    funcs[f["module"], f["name"]] = f["share"]
rows = [(funcs, line) for line in open("perf.func") if " two " in line] + [(ours, line) for line in open("perf.file")]
for known, line in rows:
    m = re.match(r" *([0-9.]+)% +(\S+)(?: +\[.\] (\S+))? *$", line)
    if not m:
        continue
    key = (m[2], m[3]) if m[3] else m[2]
    n += 1
    if abs(100 * known.get(key, -1) - float(m[1])) > 0.005 + 1e-9:
        bad += 1
        print(f"# {key}: perf {m[1]}%, ours {100 * known.get(key, -1):.4f}%")
print(f"# {n} shares of perf's")
sys.exit(bad > 0 or n < 4)
P
}

on=()
record() # FILE OPTION...
{
	local file=$1
	shift
	"${on[@]}" perf record -q -F 5000 -o "$file" "$@" ./two 60000000 >/dev/null 2>err
}
record plain.data -e cpu-clock || {
	echo "skipped: perf can't record cpu-clock here"
	exit 77
}
record g.data -e cpu-clock -g
record z.data -e cpu-clock -z
perf record -q -F 5000 -e cpu-clock -o - sh -c './two 60000000 >&2' 2>/dev/null >pipe.data
for mode in plain g z pipe; do
	check "perf record, $mode: our shares are perf's" shares $mode.data
done

# In a group whose counters are read with each sample, perf weighs a sample not by its period but by how far each counter
# got since the task's last sample.  So perf's shares of such a file are found in the reads, and so are ours where a frequency was
# asked for, whose periods are guesses.  Where the period is fixed ours are in the samples: the read tells how many overflows one
# stands for, two where one interrupt served both.
read_shares() # FILE EVENT COLUMN [PERIOD]
{
	perf report -i "$1" --no-children -g none --stdio --group -F overhead,sym 2>/dev/null >perf.func
	./dump "$1" all | sed 's/:u\b//g' >records
	"$SKIDPROF" report -i "$1" --raw --rollup --format json >out 2>err
	nm -S two >symbols
	python3 - "$2" "$3" "${4:-0}" <<'P'
import json, re, sys
event, column, period = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
symbols = [(int(w[0], 16), int(w[1], 16), w[3]) for w in map(str.split, open("symbols")) if len(w) == 4]
last, told, by_read, by_sample = {}, {}, {"": 0}, {"": 0}
for line in open("records"):
    w = line.split()
    if w[3] != "sample":
        continue
    value = int(dict(v.rsplit("=", 1) for v in w[8:])[event])
    stands_for = 0
    if w[4] == event:
        # Without a period, of one event.
        stands_for = value // (period or 1) - told.get(w[1], 0)
        told[w[1]] = value // (period or 1)
    where = [name for start, size, name in symbols if start <= int(w[5], 16) < start + size]
    for key in [""] + where[:1]:
        by_read[key] = by_read.get(key, 0) + value - last.get(w[1], 0)
        by_sample[key] = by_sample.get(key, 0) + stands_for
    last[w[1]] = value
perf = {}
for line in open("perf.func"):
    m = re.match(r"((?: *[0-9.]+%)+) +\[.\] (\S+)", line)
    if m:
        perf[m[2]] = float(m[1].split()[column].rstrip("%"))
ours = {f["name"]: f["share"] for f in json.load(open("out"))["functions"]}
bad = False
for name in ("main", "cheap"):
    read, sample = 100 * by_read[name] / by_read[""], by_sample[name] / by_sample[""]
    print(f"# {name}: perf {perf[name]}%, by reads {read:.4f}%; ours {100 * ours[name]:.4f}%, by samples {100 * sample:.4f}%")
    bad |= abs(read - perf[name]) > 0.005 + 1e-9 or abs(sample - ours[name]) > 1e-9
sys.exit(bad)
P
}
# On one processor: a task that moves to another is counted there by other counters, whose reads begin at 0.
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')
on=(taskset -c "$cpu")
record s.data -e '{cpu-clock,task-clock,page-faults}:S'
check "perf record -e '{...}:S': perf's shares are in the reads, and ours" read_shares s.data cpu-clock 0
check 'our recording' status 0 "$SKIDPROF" record -q --pmu sim --bursts=0 -e instructions,cycles,branches -o ours.data ./two
check 'the same of our recording: instructions' read_shares ours.data instructions 0 10007
check 'perf evlist -v reads it' sh -c 'perf evlist -v -i ours.data >out 2>err && test ! -s err && test "$(wc -l <out)" -ge 3'

# Branch stacks need a PMU that has them: here perf's own files are the input, where a folder of them is there.
if [ -d "${EXTRA_PERFDATA-}" ]; then
	while IFS= read -r -d '' file; do
		timeout 120 "$SKIDPROF" report -i "$file" >out 2>err </dev/null
		got=$?
		check "${file##*/} is reported, or refused in a line (exit $got)" \
			test $got -eq 0 -o $got -eq 3 -o \( $got -eq 1 -a "$(wc -l <err)" -eq 1 \)
		[[ $file == *branch* ]] && check 'its branch records are seen' has out 'branch records: yes'
	done < <(find "$EXTRA_PERFDATA" -type f ! -name '*.md' -print0 | sort -z)
fi
finish
