#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A thread has one tracer.  Where it has one already bursts can't be taken: it is said who that is, and not that the program had ended.
set -u
. "$TOP/tests/e2e/lib200.sh"
"$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "skipped: no clock events here: $(head -1 probe.err)"
	exit 77
}
build traced241 <<'END' || exit 1
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile uint64_t sink;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void work(double s)
{
	for (double end = now() + s; now() < end;)
		for (int i = 0; i < 1000; i++)
			sink = sink * 31 + i;
}
/* self SECONDS; or cont SECONDS NAME, step SECONDS NAME: of who traces. */
int main(int argc, char **argv)
{
	double s = atof(argv[2]);
	pid_t child;
	int status;
	if (!strcmp(argv[1], "self")) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		work(s);
		return 0;
	}
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work(s);
		_exit(0);
	}
	prctl(PR_SET_NAME, argv[3]);
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		ptrace(strcmp(argv[1], "step") ? PTRACE_CONT : PTRACE_SINGLESTEP, child, 0, 0);
	return 0;
}
END
recorded() # MODE SECONDS [NAME]
{
	timeout -k 5 100 "$SKIDPROF" record --pmu clock -o a.data ./traced241 "$@" >a.out 2>a.err
}
recorded cont 1 someone
ok $? 'a program that traces its child is recorded'
check 'it is said who traces' grep -qE 'bursts? (was|were) refused: the thread is traced already \(by [1-9][0-9]* someone\)$' a.err
check 'and what helps' grep -q 'no bursts in .* traced already (by .* someone); record it without its tracer$' a.err
recorded step 4 someone
ok $? 'a program that steps its child is recorded'
sed 's/^/# /' a.err
check 'it is said who traces, though the child is stopped more often than it runs' grep -qE 'traced already \(by [1-9][0-9]* someone\)' a.err
check 'and not that anything had ended' sh -c '! grep -q "had ended" a.err'
recorded self 1
ok $? 'a program that asked its parent to trace it is recorded'
check 'it is said that this is us' grep -q 'refused: the thread is traced already (by skidprof, which started it' a.err
check 'and what helps' grep -q "no bursts in .* traced already (by skidprof.*; 'skidprof truth' counts what it runs$" a.err
recorded cont 1 "$(printf 'a\033[1mb')"
check "a tracer's name reaches no terminal as it is" grep -q '(by [0-9]* a?\[1mb)$' a.err
exit 0
