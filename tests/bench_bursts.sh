#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench_bursts.sh BUILD: what bursts cost and what they are worth, as two tables.  Each program is
# recorded natively with all defaults, for about SECONDS_EACH (10) of its time on an EPYC of 2023, and its shares are held
# against exact counts of a run with the same argument.
set -u
B=$(realpath "${1:?bench_bursts.sh BUILD}")
cd "$(dirname "$0")/.." || exit 1
seconds=${SECONDS_EACH:-10}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
export LC_ALL=C.UTF-8

ln -s "$B/skidreplay" "$out/"
gcc -std=gnu11 -D_GNU_SOURCE -O1 -Wall -iquote . tests/bench_bursts.c "$B/libskidprof.a" -lcapstone -lgsl -lgslcblas -lelf \
	-ldw -lm -o "$out/held" || exit 1

# What makes them run for a second.
programs=("soplex 2500" "omnetpp 400000" "mcf 45000" "hmmer 900000" "libsvm 2800")

echo "thread held for a burst, microseconds (median of ${BURSTS:-20} each, in turns, of one run):"
printf '%-10s %21s %21s %15s\n' '' 'of 160 branches' 'of 1,000 branches' 'times less'
printf '%-10s %10s %10s %10s %10s %7s %7s\n' '' replayed stepped replayed stepped 160 1,000
for p in "${programs[@]}"; do
	read -r name second <<<"$p"
	"$out/held" "${BURSTS:-20}" "$B/samples/$name" $((second * 1000)) >"$out/times" || echo "# $name: no bursts of one kind"
	read -r r160 r1000 s160 s1000 <"$out/times"
	awk -v n="$name" -v a="$r160" -v b="$s160" -v c="$r1000" -v d="$s1000" \
		'BEGIN { printf "%-10s %10d %10d %10d %10d %7.0f %7.0f\n", n, a, b, c, d, b / (a ? a : 1), d / (c ? c : 1) }'
done

echo
echo "bursts in about $seconds s of the program's time, and shares of functions of at least 1% of their region, off by, points:"
printf '%-10s %7s %9s %6s %17s %17s\n' '' '' '' '' 'by time' 'by bursts'
printf '%-10s %7s %9s %6s %8s %8s %8s %8s\n' '' bursts branches held mean worst mean worst
for p in "${programs[@]}"; do
	read -r name second <<<"$p"
	"$B/skidprof" record -v -o "$out/data" "$B/samples/$name" $((second * seconds)) >/dev/null 2>"$out/err"
	"$B/skidprof" truth -o "$out/truth" "$B/samples/$name" $((second * seconds)) >/dev/null 2>&1
	"$B/skidprof" report -i "$out/data" --format json >"$out/bursts.json" 2>/dev/null
	"$B/skidprof" report -i "$out/data" --truth "$out/truth" --format json >"$out/truth.json" 2>/dev/null
	python3 tests/bench_bursts.py "$name" "$out"
done
