#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of `perf record -e arm_spe//`, whose samples are packets: read as perf script reads them, one by one, and reported as they
# are, by exact counts.  spe.py writes them, as perf on arm64 does, of an aarch64 program on the simulated core.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
command -v aarch64-linux-gnu-gcc >/dev/null || {
	echo 'skipped: no aarch64 compiler'
	exit 77
}
cd "$SCRATCH" || exit 1
export HOME=$SCRATCH PERF_CONFIG=/dev/null DEBUGINFOD_URLS=
# shellcheck disable=SC2046
gcc -std=gnu11 -O1 -D_GNU_SOURCE -iquote "$TOP" "$TOP/tests/e2e/perfdata_dump.c" "$BUILD/libskidprof.a" \
	$(pkg-config --libs libdw libelf libzstd) -o dump || exit 1

three_programs
aarch64-linux-gnu-gcc -O2 -g three.c -o three || exit 1
check 'it is recorded' status 0 env -i "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions -c 1009 \
	-o three.data --truth three.truth ./three 300000

# spe WORD...: spe.data, and in list what samples there are.
spe()
{
	python3 "$TOP/tests/e2e/spe.py" three.data spe.data list=list there=three.truth "$@"
}

# ours [-]: our samples are the ones that were written; -: out of a pipe.
ours()
{
	./dump "${1:-spe.data}" samples < <(cat spe.data) | awk '$8 ~ /^arm_spe/ { print $1, $2, $3, $4, $5 }' | sort >ours
	sort list | cmp -s - ours && [ -s ours ] && return
	echo "# $(wc -l <ours) samples, $(wc -l <list) written: $(sort list | diff - ours | head -2 | tail -1)"
	return 1
}

# as_perf [-]: so are perf's.  Out of a pipe, which has no index, perf leaves out the last pieces, some 2 or 3%: all that it sees are ours.
as_perf()
{
	perf script -G -i "${1:-spe.data}" --itrace=i1i --ns -F time,cpu,pid,tid,ip 2>/dev/null < <(cat spe.data) | tr -d '[]:' |
		awk '{ split($1, t, "/"); split($3, s, "."); printf "%d %d %d %d %s\n", s[1] * 1e9 + s[2], $2, t[1], t[2], $4 }' | sort >theirs
	cmp -s theirs ours && return
	[ -n "${1:-}" ] && [ -z "$(comm -23 theirs ours)" ] && [ "$(wc -l <theirs)" -gt $(($(wc -l <ours) * 9 / 10)) ] && return
	echo "# $(wc -l <theirs) samples of perf's, $(wc -l <ours) of ours: $(diff theirs ours | head -2 | tail -1)"
	return 1
}

# shares_of_chance: a function's share of the samples is off by no more than four standard deviations of that many draws.
shares_of_chance()
{
	"$SKIDPROF" compare -i three.data --truth three.truth --method raw --format json 2>/dev/null >exact.json
	python3 - <<'P'
import json
exact = {f["name"]: f["truth"] for f in json.load(open("exact.json"))["functions"]}
d = json.load(open("out"))
seen, n, total = {f["name"]: f["samples"] for f in d["functions"]}, d["meta"]["samples"], sum(exact.values())
bad = False
for name in ("mixed", "slow", "look", "quick"):
    p = exact[name] / total
    z = (seen[name] / n - p) / (p * (1 - p) / n) ** 0.5
    print(f"# {name}: {seen[name] / n:.4f} of {n} samples, exact {p:.4f}: {z:+.1f} standard deviations")
    bad |= abs(z) > 4
raise SystemExit(bad)
P
}

# Debian 12's perf knows the older layout, takes CONTEXT and SWITCH_CPU_WIDE for the thread, and no packet in two pieces.
n_perf=$(perf --version 2>/dev/null | grep -c .)
for how in tasks=context 'tasks=context kernel=10 collide=3' 'tasks=wide bytes=3000' pipe; do
	from=$([ "$how" = pipe ] && echo -)
	# shellcheck disable=SC2086
	spe $how
	check "$how: samples are the ones that were written" ours $from
	[ "$n_perf" -eq 0 ] || check 'and the ones that perf sees' as_perf $from
done
for how in info=2 cycles 'tasks=switch any bytes=777' 'tasks=tid any bytes=4097 info=2' unretired=20 'pipe tasks=wide'; do
	# shellcheck disable=SC2086
	spe $how
	check "$how: samples are the ones that were written" ours
done

spe
check 'it is reported' status 0 "$SKIDPROF" report -i spe.data --format json
check 'every function by its share' shares_of_chance
check 'raw, without a skid' json 'd["meta"]["skid"]["source"] == "precise" and all(f["status"] == "raw" for f in d["functions"])'
check 'as neither instructions nor cycles' json 'all(f["fixed"] is None and f["cycles"] is None for f in d["functions"])'
check 'all of them' test "$(wc -l <list)" -eq "$(python3 -c 'import json; print(json.load(open("out"))["meta"]["samples"])')"
check 'lines are told' status 0 "$SKIDPROF" report -i spe.data --lines --format json
check 'of the source' json 'any(l["file"].endswith("three.c") for l in d["lines"])'
spe cycles
check 'with cycles: it is reported' status 0 "$SKIDPROF" report -i spe.data --format json
check 'by cycles, with the skid that those have' json 'any(f["cycles"] for f in d["functions"]) and d["meta"]["skid"]["source"] != "precise"'
check 'or by SPE' status 0 "$SKIDPROF" report -i spe.data --event arm_spe_0/ts_enable=1/u --format json
check 'as it was' json 'd["meta"]["skid"]["source"] == "precise" and not any(f["cycles"] for f in d["functions"])'

# What is no sample is said.
spe unretired=20 collide=2
check 'operations that did not retire' status 0 "$SKIDPROF" report -i spe.data
check 'are named' grep -q "^# .*2 times SPE's operations collided, .* sampled operations did not retire" out
spe full=2
check 'memory that was full' status 0 "$SKIDPROF" report -i spe.data --format json
check 'is named, and the records without an end' json 'd["meta"]["spe"]["memory_full"] == 2 and d["meta"]["spe"]["cut"] == 2'
check 'nothing else is lost' ours
spe tasks=none
check 'samples of no known thread' status 0 "$SKIDPROF" report -i spe.data
check 'are named' grep -q "samples of no known thread" out
spe damage=5
check 'damaged packets' status 3 "$SKIDPROF" report -i spe.data
check 'end with status 3 and a line' one_line "5 bytes in what Arm's SPE wrote are no packets"
check 'all other records are read' ours
finish
