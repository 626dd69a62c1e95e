#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The clock's samples of processes that live for few of its periods, or for less than one: they lie evenly over their
# lives, are as many as their time asks for, and what is missed is said.
set -u
. "$TOP/tests/e2e/lib200.sh"
"$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "skipped: no clock events here: $(head -1 probe.err)"
	exit 77
}
# Children that run two functions of the same loop for as many turns, one after the other.  It tells what time they had.
build halves <<'END' || exit 1
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define HALF(name, by) __attribute__((noinline)) static unsigned long name(long n) \
	{ unsigned long x = 1; while (n--) __asm__ volatile("imul $3, %0, %0\n\timul $" by ", %0, %0" : "+r"(x)); return x; }
HALF(first, "5") HALF(second, "7")
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(int argc, char **argv)
{
	double us = atof(argv[1]), best = 1;
	struct rusage u;
	for (int i = 0; i < 20; i++) {
		double t = now();
		first(20000);
		best = now() - t < best ? now() - t : best;
	}
	for (int i = 0; i < atoi(argv[2]); i++) {
		int status;
		if (!fork())
			_exit((first(us * 1e-6 / 2 / best * 20000) ^ second(us * 1e-6 / 2 / best * 20000)) == 1);
		wait(&status);
	}
	getrusage(RUSAGE_CHILDREN, &u);
	printf("%.6f\n", u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec));
	(void)argc;
}
END
# share FILE: of the first half, and the time of all samples over what the children had; both in percent.
share() {
	"$SKIDPROF" report -i "$1" --format json --limit 0 >r.json 2>/dev/null
	python3 - "$2" <<'END'
import json, sys
p = json.load(open("r.json"))
n = {f["name"]: f["samples"] for f in p["functions"]}
event = p["meta"]["events"][0]
all = n.get("first", 0) + n.get("second", 0)
print("%.1f %.1f %.1f" % (100 * n.get("first", 0) / all if all else 0, 1e-7 * event["total"] / float(sys.argv[1]),
                          100 * event["ended"]))
END
}
# at_least US N: 75% of what N children of US are to have in their loops, of all that they had, in percent.  The clock samples no kernel,
# in which they begin and end: on machines whose page faults are slow that is a third of a child of 300 us.
at_least() {
	python3 -c "print('%.1f' % (75 * min(1, $1 * 1e-6 * $2 / $(cat time.txt))))"
}
# Wide: a share of some 300 samples has a standard deviation of 3 points, and a busy machine adds to it.
for how in '1200 500' '3000 200' '10000 60'; do
	# shellcheck disable=SC2086
	"$SKIDPROF" record --pmu clock -o h.data ./halves $how >time.txt 2>h.err
	read -r first all missed < <(share h.data "$(cat time.txt)")
	# shellcheck disable=SC2086
	least=$(at_least $how)
	echo "# children of ${how% *} us: $first% of it in the first half, $all% of their time sampled, $missed% known to be missed; at least $least%"
	check "children of ${how% *} us: their halves are alike" python3 -c "exit(not 35 < $first < 65)"
	check "children of ${how% *} us: most of their time is sampled" python3 -c "exit(not $least - 10 < $all < 115)"
	check "children of ${how% *} us: what is missed is known" python3 -c "exit(not $least < $all + $missed < 120)"
	"$SKIDPROF" report -i h.data >out 2>/dev/null
	check "children of ${how% *} us: no function is fixed where that is over 2%" sh -c '! grep -q "^# short processes" out || ! grep -E "^ *[0-9.]+%.* fixed " out'
done
cp h.data long.data
"$SKIDPROF" record --pmu clock -o h.data ./halves 300 800 >time.txt 2>h.err
read -r _ all missed < <(share h.data "$(cat time.txt)")
least=$(at_least 300 800)
echo "# children of 300 us: $all% of their time sampled, $missed% known to be missed; at least $least%"
"$SKIDPROF" report -i h.data >out 2>/dev/null
# How much depends on how long this machine lets a child live; that it is much, and is what the samples lack, does not.
check 'children of 300 us: what is missed is known' python3 -c "exit(not (5 < $missed and $least < $all + $missed < 120))"
check 'children of 300 us: the recorder says that much is in no sample' grep -qE '^skidprof: warning: [0-9]+% of the CPU time is in no sample' h.err
check 'children of 300 us: reports say that much is in no sample' grep -Eq "^# short processes or threads: (${missed%.*}|$((${missed%.*} + 1)))% of their CPU time" out
check 'and no function of them is fixed' sh -c '! grep -E "^ *[0-9.]+%.* fixed " out'
"$SKIDPROF" record --pmu clock --bursts 0 -c 100003 -o h.data ./halves 3000 100 >time.txt 2>h.err
read -r first all missed < <(share h.data "$(cat time.txt)")
echo "# children of 3000 us, every 0.1 ms: $first% of it in the first half, $all% of their time sampled, $missed% known to be missed"
check 'a period that is short for them misses little' python3 -c "exit(not (40 < $first < 60 and 70 < $all < 115 and $missed < 12))"
# One process that works for long is sampled as it was.
"$SKIDPROF" record --pmu clock -v -o one.data sh -c 'exec ./halves 600000 1' >time.txt 2>one.err
check 'one long process is sampled at the period alone' sh -c '! grep -q "sampled finer" one.err'
read -r first all missed < <(share one.data "$(cat time.txt)")
check 'and nothing of it is missed' python3 -c "exit($missed != 0)"
# Where tasks end while others run on other processors no record is lost: all births are told, and their time is sampled.
build pool -pthread <<'END' || exit 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
static long turns;
static void *work(void *arg)
{
	unsigned long x = (unsigned long)arg;
	for (long n = 0; n < turns; n++)
		__asm__ volatile("imul $3, %0, %0" : "+r"(x));
	return (void *)x;
}
int main(int argc, char **argv)
{
	struct rusage u;
	turns = atol(argv[2]);
	for (int i = 0; i < atoi(argv[1]); i++) {
		pthread_t t[4];
		for (int k = 0; k < 4; k++)
			pthread_create(&t[k], NULL, work, (void *)1);
		for (int k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
	}
	getrusage(RUSAGE_SELF, &u);
	printf("%.6f\n", u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec));
	(void)argc;
}
END
for i in 1 2 3; do
	"$SKIDPROF" record --pmu clock --bursts 0 -o pool.data ./pool 1000 1000000 >time.txt 2>pool.err
	"$SKIDPROF" report -i pool.data --format json >r.json 2>/dev/null
	python3 - "$(cat time.txt)" >pool.txt <<'END'
import json, sys
event = json.load(open("r.json"))["meta"]["events"][0]
print("%.1f %.1f" % (1e-7 * event["total"] / float(sys.argv[1]), 100 * event["ended"]))
END
	read -r all missed <pool.txt
	echo "# threads by four, $all% of their time sampled, $missed% known to be missed; $(tail -1 pool.err)"
	check "4000 threads, four at once, run $i: most of their time is sampled" python3 -c "exit(not 60 < $all < 115)"
	if command -v perf >/dev/null; then
		n=$(perf script -i pool.data --show-task-events 2>/dev/null | grep -c PERF_RECORD_FORK)
		check "4000 threads, four at once, run $i: $n births are told" [ "$n" -eq 4000 ]
	fi
done
# Threads of a hundredth of a millisecond have no samples, however long one records: thirty moments, of two thirds of a second, tell it.
"$SKIDPROF" record --pmu clock -o pool.data ./pool 150000 10000 >time.txt 2>pool.err
sed 's/^/# /' pool.err
check 'no advice to record for longer where that gives no bursts' sh -c '! grep -q "no bursts in .*record for longer" pool.err'
# What bursts say they held is of the time of all processes.
"$SKIDPROF" record --pmu clock -v --burst-budget 0.001% -o h.data ./halves 1200 300 >time.txt 2>h.err
grep -E 'bursts? (in|of) ' h.err | sed 's/^/# /'
check 'the time named beside bursts is that of all processes' python3 - "$(cat time.txt)" <<'END'
import re, sys
text = open("h.err").read()
m = re.search(r"no bursts in ([\d.]+) s", text)
s = float(m[1]) if m else 1e-3 * float(re.search(r"held for [\d.]+ ms of ([\d.]+) ms", text)[1])
sys.exit(not 0.8 < s / float(sys.argv[1]) < 1.3)
END
if command -v perf >/dev/null; then
	perf record -q -s -e cpu-clock:u -c 1999993 -o perf.data ./halves 700 300 >time.txt 2>/dev/null
	"$SKIDPROF" report -i perf.data >out 2>/dev/null
	grep 'short processes' out | cut -c1-60
	check "perf record -s at that period misses much, and we say so" grep -Eq '^# short processes or threads: [3-9][0-9]%|^# no functions to show' out
	perf record -q -e cpu-clock:u -c 1999993 -o perf.data ./halves 3000 200 >time.txt 2>/dev/null
	"$SKIDPROF" report -i perf.data >out 2>/dev/null
	check "without -s it is told by how long threads lived" grep -Eq '^# short processes or threads: [1-9][0-9]%' out
	perf report -i long.data --stdio 2>perf.err | grep -q 'first$'
	check 'perf reads our file' test ! -s perf.err
fi
exit 0
