#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What recording costs beside perf record, with the same event, rate and program: bench_record.sh BUILD.
# Each round runs the program alone, under skidprof and under perf, in turns; medians of the rounds are printed.
# ROUNDS=15 and RATE=4000 (samples a second) by default.
set -u
B=$1
rounds=${ROUNDS:-15} rate=${RATE:-4000}
command -v perf >/dev/null || { echo 'bench: perf is not installed' >&2; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# A fixed amount of work that tells its own CPU time, that of interrupts in it included.
gcc -x c -O2 - -o "$scratch/work" <<'C' || exit 1
#include <stdio.h>
#include <sys/resource.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(int argc, char **argv)
{
	struct rusage u;
	FILE *f = fopen(argv[argc > 1], "w");
	unsigned x = 0;
	for (int i = 0; i < 10000; i++) x += hot(100000);
	getrusage(RUSAGE_SELF, &u);
	fprintf(f, "%ld\n", (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	return fclose(f) || x == 1;
}
C
# cpu COMMAND...: CPU time of it and its children, in microseconds
gcc -x c -O2 - -o "$scratch/cpu" <<'C' || exit 1
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct rusage u;
	int status;
	if (argc > 1 && fork() == 0) {
		dup2(open("/dev/null", O_WRONLY), 1);
		dup2(1, 2);
		execvp(argv[1], argv + 1);
		_exit(1);
	}
	if (wait4(-1, &status, 0, &u) < 0) return 1;
	printf("%ld\n", (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	return status != 0;
}
C
cpu() { "$scratch/cpu" "$@" || { echo "bench: $* failed" >&2; exit 1; }; }
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
n_samples() { perf script -i "$1" -F ip 2>/dev/null | wc -l; }

# row EVENT: both recorders at one sample every 1/rate s of the clock
row()
{
	local event=$1 period=$((1000000000 / rate)) i who total own n
	rm -f "$scratch"/*.list
	for ((i = 0; i < rounds; i++)); do
		for who in alone ours perf; do
			case $who in
			alone) total=$(cpu "$scratch/work" "$scratch/own") ;;
			ours) total=$(cpu "$B/skidprof" record -q --pmu hardware -e "$event:u" -c $period -o "$scratch/ours.data" "$scratch/work" "$scratch/own") ;;
			perf) total=$(cpu perf record -q -e "$event:u" -c $period -o "$scratch/perf.data" "$scratch/work" "$scratch/own") ;;
			esac || exit 1
			own=$(cat "$scratch/own")
			[ $who = alone ] && alone=$own && continue
			n=$(n_samples "$scratch/$who.data")
			awk -v a="$own" -v b="$alone" 'BEGIN { print 100 * (a / b - 1) }' >>"$scratch/$who.slow.list"
			awk -v t="$total" -v o="$own" -v n="$n" 'BEGIN { print (t - o) / n }' >>"$scratch/$who.cpu.list"
			awk -v b="$(stat -c %s "$scratch/$who.data")" -v n="$n" 'BEGIN { print b / n }' >>"$scratch/$who.size.list"
			echo "$n" >>"$scratch/$who.n.list"
		done
	done
	m() { median <"$scratch/$1.list"; }
	awk -v e="$event" -v n="$(m ours.n)" -v k="$(m perf.n)" -v c="$(m ours.cpu)" -v d="$(m perf.cpu)" -v s="$(m ours.size)" \
		-v t="$(m perf.size)" -v p="$(m ours.slow)" -v q="$(m perf.slow)" 'BEGIN {
		printf "%-12s %7d %7d | %7.2f %7.2f %6.2f | %6.1f %6.1f %6.2f | %6.2f %6.2f\n", e, n, k, c, d, c / d, s, t, s / t, p, q }'
}

printf '%-12s %15s | %22s | %20s | %13s\n' '' 'samples' 'recorder, us/sample' 'bytes/sample' 'slowdown %'
printf '%-12s %7s %7s | %7s %7s %6s | %6s %6s %6s | %6s %6s\n' event ours perf ours perf ratio ours perf ratio ours perf
row cpu-clock
row task-clock
echo
echo "$rate samples a second, medians of $rounds rounds. recorder: its own CPU time, start and end included;"
echo "slowdown: the program's own CPU time against the run without a recorder in the same round."
