#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A thread that is not the first puts the program anew in its process's place, thousands of times, while bursts are taken.  It goes on
# as the first thread: asked to stop under its old number it stayed traced, and stopped for good at the next signal.
set -u
. "$TOP/tests/e2e/lib200.sh"
"$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "skipped: no clock events here: $(head -1 probe.err)"
	exit 77
}
build again240 -pthread <<'END' || exit 1
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile uint64_t sink;
static char **args;
static int left;
static void take(int sig) { (void)sig; }
static void *run(void *arg)
{
	char n[20];
	for (int i = 0; i < 200000; i++)
		sink = sink * 3 + 1;
	snprintf(n, sizeof(n), "%d", left - 1);
	execl(args[0], args[0], n, (char *)0);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;
	args = argv;
	left = argc > 1 ? atoi(argv[1]) : 0;
	signal(SIGUSR1, take);
	raise(SIGUSR1);
	if (!left)
		return puts("done") == EOF;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	return 1;
}
END
timeout -k 5 60 "$SKIDPROF" record -v --pmu clock --bursts 1000 --burst-budget 1000% -o a.data ./again240 3000 >a.out 2>a.err
ended=$?
grep -E 'bursts:' a.err | tail -1 | sed 's/^/# /'
[ "$ended" -eq 0 ] || pkill -9 -x again240
check "the program runs to its end" [ "$ended" -eq 0 ]
check "and says so" grep -qx "done" a.out
exit 0
