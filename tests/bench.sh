#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How fast recording and counting are, as ratios to callgrind on the same programs: bench.sh BUILD [SAMPLE...].
# Each round runs the two tools of a pair one after the other, so that both meet the same machine; the median
# of the rounds' ratios is printed.  ROUNDS=5 by default, ARGS for the programs' arguments.
set -u
B=$1
shift
rounds=${ROUNDS:-5}
command -v valgrind >/dev/null || { echo 'bench: valgrind is not installed' >&2; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
[ $# -gt 0 ] || set -- "$B"/samples/*

now() { date +%s%N; }
# seconds COMMAND...: wall time in ns, the output thrown away; exits when the command fails
measure()
{
	local begin end
	begin=$(now)
	"$@" >/dev/null 2>"$scratch/err" </dev/null || { echo "bench: $* failed:" >&2; cat "$scratch/err" >&2; exit 1; }
	end=$(now)
	echo $((end - begin))
}
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
rate() { awk -v n="$1" -v t="$2" 'BEGIN { printf "%.0f", n / t * 1000 }'; }

printf '%-10s %9s | %9s %9s %6s | %9s %9s %6s\n' sample 'M insn' 'record' 'callgrind' ratio truth 'callgrind' ratio
printf '%-10s %9s | %9s %9s %6s | %9s %9s %6s\n' '' '' 'M/s' 'c+b M/s' '' 'M/s' 'instr M/s' ''
for sample in "$@"; do
	[ -x "$sample" ] && [ -f "$sample" ] || continue
	r_record=() r_truth=() t_record=() t_cache=() t_truth=() t_instr=()
	measure "$B/skidprof" truth -q -o "$scratch/t.out" -- "$sample" ${ARGS:-} >/dev/null || exit 1
	insn=$(sed -n 's/^totals: //p' "$scratch/t.out")
	for ((i = 0; i < rounds; i++)); do
		a=$(measure "$B/skidprof" record -q --pmu sim -o "$scratch/r.data" -- "$sample" ${ARGS:-}) || exit 1
		b=$(measure valgrind -q --tool=callgrind --cache-sim=yes --branch-sim=yes \
			--callgrind-out-file="$scratch/c.out" "$sample" ${ARGS:-}) || exit 1
		c=$(measure "$B/skidprof" truth -q -o "$scratch/t.out" -- "$sample" ${ARGS:-}) || exit 1
		d=$(measure valgrind -q --tool=callgrind --dump-instr=yes \
			--callgrind-out-file="$scratch/c.out" "$sample" ${ARGS:-}) || exit 1
		t_record+=("$a") t_cache+=("$b") t_truth+=("$c") t_instr+=("$d")
		r_record+=("$(awk -v a="$a" -v b="$b" 'BEGIN { print b / a }')")
		r_truth+=("$(awk -v a="$c" -v b="$d" 'BEGIN { print b / a }')")
	done
	m() { printf '%s\n' "$@" | median; }
	printf '%-10s %9.1f | %9s %9s %6.2f | %9s %9s %6.2f\n' "${sample##*/}" "$(awk -v n="$insn" 'BEGIN { print n / 1e6 }')" \
		"$(rate "$insn" "$(m "${t_record[@]}")")" "$(rate "$insn" "$(m "${t_cache[@]}")")" "$(m "${r_record[@]}")" \
		"$(rate "$insn" "$(m "${t_truth[@]}")")" "$(rate "$insn" "$(m "${t_instr[@]}")")" "$(m "${r_truth[@]}")"
done
echo
echo "Wall time including start and end, median of $rounds rounds. ratio: how many times as fast as callgrind;"
echo 'record is held against --cache-sim=yes --branch-sim=yes, truth against --dump-instr=yes.'
