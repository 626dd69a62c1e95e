#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Recording with the kernel's own events, which need no PMU: perf reads it and finds the same, and what is
# recorded keeps to its course.
set -u
. "$TOP/tests/e2e/lib200.sh"
"$SKIDPROF" record -q --pmu hardware -e page-faults -o probe.data true 2>probe.err || {
	echo "skip: $(cat probe.err)"
	exit 77
}
R=("$SKIDPROF" record --pmu hardware)
monotonic() { python3 -c 'import time; print(time.monotonic())'; } # in seconds

# About 70% of its time in `more`, the rest in `less`: half a second of CPU time, or two SECONDS; with two SECONDS FILE
# until FILE is there as well.
build two <<'C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define F __attribute__((noipa)) unsigned
F more(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
F less(unsigned n) { unsigned s = 1; while (n--) s = s * 7 + (s >> 2); return s; }
int main(int argc, char **argv)
{
	double s = argc > 1 ? atof(argv[1]) : 0.5;
	unsigned x = 0;
	while (clock() < s * CLOCKS_PER_SEC || (argc > 2 && access(argv[2], F_OK) < 0)) x += more(70000) + less(30000);
	return x == 1;
}
C
# A main program, a thread, a child and what it execs, each touching 300 pages of its own.
build pages -pthread <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *touch(void *arg)
{
	volatile char *p = mmap(0, 300 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)p, 300 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < 300; i++) p[i * 4096] = 1;
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	touch(0);
	if (argc > 1) return 0;
	pthread_create(&t, 0, touch, 0);
	pthread_join(t, 0);
	if (fork() == 0) { touch(0); execl(argv[0], "again", "again", (char *)0); }
	wait(0);
	return 0;
}
C

# shares FILE: percent of `more` and `less`, and the number of samples
shares() { perf script -i "$1" -F comm,ip,sym 2>/dev/null | awk '/more/ { m++ } /less/ { l++ } END { printf "%f %f %d\n", 100 * m / NR, 100 * l / NR, NR }'; }
"${R[@]}" -e cpu-clock:u -o two.data --stats ./two 2>two.err
check 'cpu-clock is sampled' grep -q 'samples (.* of cpu-clock:u at period 1999993)' two.err
check '--stats tells what it cost' grep -qE 'stats: .* samples/s, .* bytes/sample, recorder .* s of CPU' two.err
check 'the source is named' grep -q 'no PMU: cpu-clock:u' two.err
if command -v perf >/dev/null; then
	perf record -q -e cpu-clock:u -c 249989 -o perf.data ./two 2>/dev/null
	read -r m1 l1 n1 <<<"$(shares two.data)"
	read -r m2 l2 n2 <<<"$(shares perf.data)"
	echo "# ours: more $m1 less $l1 of $n1, perf: $m2 $l2 of $n2"
	# Two shares p of n1 and n2 samples differ by more than 5 sqrt(p (1 - p) (1/n1 + 1/n2)) less than once in a million.
	check 'the profile is that of perf record' awk -v a="$m1" -v b="$m2" -v n="$n1" -v k="$n2" \
		'BEGIN { p = (a + b) / 200; exit !(n > 200 && k > 200 && ((a - b) / 100) ^ 2 <= 25 * p * (1 - p) * (1 / n + 1 / k)) }'
	perf report -i two.data --stdio >rep 2>rep.err
	check 'perf report reads it' grep -q more rep
	check 'perf report does not complain' test ! -s rep.err
	check 'perf annotate reads it' sh -c 'perf annotate -i two.data --stdio -s more 2>/dev/null | grep -q Percent'
	check 'perf evlist reads it' sh -c 'perf evlist -v -i two.data 2>/dev/null | grep -q "cpu-clock:u.*sample_period.*1999993"'
	"${R[@]}" -q -z -e '{cpu-clock,page-faults}:S' -o z.data ./two 0.2
	check 'perf reads a compressed group, asked for as of perf' sh -c 'perf report -i z.data --stdio 2>&1 | grep -q more'
	"${R[@]}" -q -e cpu-clock -o - ./two 0.2 >pipe.data
	check 'perf reads a pipe' sh -c 'perf script -i - <pipe.data 2>/dev/null | grep -q more'
	"${R[@]}" -q -e page-faults -o pages.data ./pages
	perf script -i pages.data -F pid,tid,comm --show-task-events >pages.txt 2>/dev/null
	# 300 of the program and of its thread, 600 of the child that becomes another program.
	check 'main, thread, child and exec are all sampled' test "$(awk '$0 !~ /PERF_/ { n[$1 $2]++ }
		END { for (k in n) { c += n[k] >= 300; d += n[k] >= 600 } print c, d }' pages.txt)" = '3 1'
	"${R[@]}" -q -e page-faults,task-clock -c 1 -o read.data ./pages
	check 'so they are with values read' test "$(perf script -D -i read.data 2>/dev/null | grep -cE 'PERF_RECORD_SAMPLE')" -ge 1200
	check 'maps carry the build id' sh -c "perf buildid-list -i two.data | grep -q $(readelf -n two | sed -n 's/ *Build ID: //p')"
fi
cp two gone
"${R[@]}" -q -e cpu-clock -o gone.data ./gone 0.1 replaced & rec=$!
wait_until pgrep -P $rec -x gone >pid
cp pages gone.new
mv gone.new gone
touch replaced
wait $rec
# perf's cache of build ids may have it from a recording above.
PERF_BUILDID_DIR=$SCRATCH/none "$SKIDPROF" report --raw -i gone.data >gone.out 2>&1
check 'a program that was replaced meanwhile is told' grep -qi 'build id' gone.out
"$SKIDPROF" report --raw -i two.data >raw 2>&1
check 'skidprof report reads it' grep -q more raw

"${R[@]}" -q -o s.data -e cpu-clock sh -c 'exit 7'
check 'the exit status is passed on' test $? -eq 7
"${R[@]}" -q -o s.data -e cpu-clock sh -c 'kill -SEGV $$' 2>/dev/null
check 'a signal that kills is passed on' test $? -eq 139
begun=$(monotonic)
"${R[@]}" -q -o s.data -e cpu-clock -D 200 ./two 0.1 sampled & rec=$!
wait_until larger s.data 20000
touch sampled
wait $rec
if command -v perf >/dev/null; then
	perf script -i s.data -F time,event 2>/dev/null | awk '/cpu-clock/ { sub(":", "", $1); print $1 }' >delay.txt
	# Times are CLOCK_MONOTONIC's.
	echo "# begun at $begun, first sample at $(head -1 delay.txt)"
	check 'a delay leaves out what comes before' awk -v b="$begun" 'NR == 1 { exit !($1 >= b + 0.2 && $1 < b + 100) }' delay.txt
	check 'and nothing after' test "$(wc -l <delay.txt)" -gt 100
fi
timeout 60 "${R[@]}" --duration 0.2 -e cpu-clock -o d.data ./two 0.1 never 2>d.err
check '--duration ends the program, as perf does, and that is no failure' test $? -eq 0
check '--duration is said' grep -q 'ended by --duration, and the program with it' d.err
timeout 60 "${R[@]}" --duration 0.2 -e cpu-clock -o d.data \
	sh -c './two 0.1 never & trap "kill $!; exit 3" TERM; wait' 2>d.err
check 'a program that ends by itself when it is asked to has its own status' test $? -eq 3
"${R[@]}" --max-size 16K -c 10000 -e cpu-clock -o d.data ./two 2>d.err
check '--max-size is said' grep -q 'ended by --max-size' d.err
check '--max-size is kept' test "$(stat -c %s d.data)" -lt 20000

# attach: the target must neither stop nor stay watched
./two 0.1 detached & target=$!
"${R[@]}" -p $target --duration 3 -e cpu-clock -o p.data 2>p.err
check 'attaching to a process' grep -qE '^skidprof: [1-9][0-9]* samples' p.err
check 'its symbols are found' sh -c '"$SKIDPROF" report --raw -i p.data 2>/dev/null | grep -q more'
"${R[@]}" -t $target --duration 3 -e cpu-clock -o p.data 2>p.err
check 'attaching to a thread' grep -qE '^skidprof: [1-9][0-9]* samples' p.err
check 'its own command line is told' sh -c '"$SKIDPROF" report --raw -i p.data 2>/dev/null | grep -qx "# file p.data: ./two 0.1 detached"'
check 'the target runs on' sh -c "grep -qE '^State:.[RSD]' /proc/$target/status"
check 'and is not traced' grep -q '^TracerPid:.0$' /proc/$target/status
setsid bash -c 'trap - INT; exec "$SKIDPROF" record --pmu hardware -p '$target' -e cpu-clock -o i.data' 2>i.err & rec=$!
wait_until larger i.data 20000
kill -INT $rec
wait $rec
check 'Ctrl-C ends an attached recording well' grep -qE '^skidprof: [1-9][0-9]* samples' i.err
touch detached
wait $target
check "the target's own status is its own" test $? -eq 0
"${R[@]}" -p 4000000 -e cpu-clock -o p.data 2>p.err
check 'no such process' grep -q 'no process 4000000' p.err
rm p.data
./two 0.1 attached & target=$!
"${R[@]}" -q -p $target -e page-faults -o p.data 2>/dev/null & rec=$!
wait_until grep -qs /two p.data # its maps: they come after all counters
touch attached
wait $rec
check 'a recording ends with its target' test $? -eq 0

if [ "$(id -u)" -eq 0 ]; then
	./two 0.1 seen & target=$!
	"${R[@]}" -a --duration 2 -e cpu-clock -o a.data 2>a.err
	check 'the whole system is sampled' grep -qE '^skidprof: [1-9][0-9]* samples' a.err
	check 'other programs are found in it' sh -c '"$SKIDPROF" report --raw -i a.data 2>/dev/null | grep -q more'
	touch seen
	wait $target
	"${R[@]}" -e context-switches -o cs.data sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done' 2>cs.err
	check 'context switches are sampled, though they happen in the kernel' grep -qE 'of context-switches:uk' cs.err
	check 'each sleep is one' test "$(sed -n 's/.*(\([0-9]*\) of context-switches.*/\1/p' cs.err)" -ge 16
	taskset -c 0 ./two 0.1 seen0 & target=$! # something to be seen there, also on an idle machine
	"${R[@]}" -C 0 --duration 0.2 -e cpu-clock -o a.data 2>/dev/null
	touch seen0
	wait $target
	if command -v perf >/dev/null; then
		check '-C keeps to its CPUs' test "$(perf script -i a.data -F cpu 2>/dev/null | tr -d '[] ' | sort -u)" = 000
	fi
	chmod 777 .
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	if as_nobody test -x "$SKIDPROF" 2>/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		as_nobody "${R[@]}" -e cpu-clock,page-faults -o nobody.data ./two 0.2 2>n.err
		check 'it works without privileges' grep -qE '^skidprof: [1-9][0-9]* samples' n.err
		as_nobody "${R[@]}" -a -e cpu-clock --duration 0.1 -o nobody2.data 2>n.err
		check 'what needs them is said, with the remedy' grep -q 'CAP_PERFMON or root' n.err
	else
		echo "ok $((++n_tests)) - without privileges # SKIP not reachable or forbidden for nobody"
	fi
fi

# A recorder that stands still while 40000 pages are touched: what the ring can't hold is counted, to the last.
build many <<'C'
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	char c;
	if (read(0, &c, 1) != 1) return 1;
	for (int k = 0; k < 100; k++) {
		volatile char *p = mmap(0, 400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise((void *)p, 400 * 4096, MADV_NOHUGEPAGE);
		for (int i = 0; i < 400; i++) p[i * 4096] = 1;
		munmap((void *)p, 400 * 4096);
	}
	return 0;
}
C
mkfifo go
"${R[@]}" -e page-faults -o lost.data ./many <go 2>lost.err & rec=$!
exec 9>go
wait_until pgrep -P $rec -x many >pid
kill -STOP $rec
echo >&9
wait_until ended "$(cat pid)"
kill -CONT $rec
wait $rec
exec 9>&-
echo "# $(grep -h samples lost.err | tr '\n' ' ')"
check 'lost samples are reported' grep -q 'were lost because the buffers were full' lost.err
check 'all of them' test "$(sed -n 's/.* warning: \([0-9]*\) samples.*/\1/p; s/.*: \([0-9]*\) samples (.*/\1/p' lost.err | awk '{ n += $1 } END { print n }')" -ge 40000

# A recorder that is killed: the file up to then can be read, the program runs on.
"${R[@]}" -q -e cpu-clock -o nine.data ./two 0.1 never & rec=$!
wait_until larger nine.data 20000
child=$(pgrep -P $rec -x two)
kill -9 $rec
wait $rec 2>/dev/null
check 'the program survives its recorder' runs "$child"
kill "$child"
"$SKIDPROF" report --raw -i nine.data >nine.out 2>&1
check "a killed recorder's file can be read" grep -q more nine.out

# What can't be done is said in one line.
says() # NAME PATTERN ARGUMENTS...
{
	local name=$1 pattern=$2
	shift 2
	"$SKIDPROF" record "$@" >says.out 2>&1
	check "$name" grep -qE "$pattern" says.out
	[ "$(grep -c . says.out)" -le 2 ] || { ok 1 "$name: in one line"; cat says.out; }
}
says 'a misspelt event' "did you mean 'page-faults'" --pmu hardware -e page-fualts true
says 'a tracepoint' "'skidprof record -e help' lists them .tracepoints only perf record takes.$" --pmu hardware -e sched:sched_switch true
says 'whatever would sample it' "did you mean 'cycles'" --pmu clock -e cylces true
says 'an event that the clock does not count' "with --pmu clock time is all that is sampled; without --pmu events of the kernel" --pmu clock -e cycles true
says 'a missing program' 'no such program' --pmu clock nosuchprogram
check 'and not first what would be sampled' test "$(grep -c . says.out)" -eq 1
says 'a file that cannot be written' 'cannot be written' --pmu clock -o nosuchfolder/x true
check 'nor there' test "$(grep -c . says.out)" -eq 1
# The kernel's timer ticks no faster: each sample would be counted for less time than it stands for.
says 'a period that no timer keeps' 'cpu-clock:u is in nanoseconds, and its periods begin at 10000' --pmu clock -c 9999 true
"${R[@]}" -q --pmu clock -F 99 -o rate.data true 2>says.out
check 'a clock has no skid to warn of' test ! -s says.out
says 'a group that is not closed' '} expected' --pmu hardware -e '{cpu-clock,page-faults' true
says 'branches of a kernel event' 'no branch records' --pmu hardware -b -e cpu-clock true
says 'a period and a rate' 'either a period' -c 100 -F 100 true
says 'attaching the simulated core' '^skidprof: -p: the simulated core' --pmu sim -p 1
says 'a list of CPUs that is none' "'x' is no list" --pmu hardware -C x -e cpu-clock true
if ! "$SKIDPROF" record -q --pmu hardware -o x.data true 2>no.err; then
	check 'the cause of having no PMU is named, with the remedy' grep -qE 'no PMU|paranoid|seccomp|locked down|taken' no.err
fi
exit 0
