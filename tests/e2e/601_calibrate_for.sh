#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# skidprof calibrate --for: a program that walks through memory, then counts, is two clusters with cliffs of their own.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
gcc -O1 -g -x c - -o walk <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	unsigned long n = 1 << 23, *p = malloc(n * sizeof(*p)), i, at = 0, s = 0;

	for (i = 0; i < n; i++)
		p[i] = (i * 6364136223846793005 + 1442695040888963407) % n;
	for (i = 0; i < 100000; i++)
		at = p[at];
	for (i = 0; i < 40000000; i++)
		s += i ^ s >> 3;
	printf("%lu\n", at + s);
	free(p);
	return 0;
}
C
events=cycles,instructions,branch-misses,l1d-misses,l2-misses,l3-misses
check 'recorded' status 0 "$SKIDPROF" record --pmu sim -c 500009 -e "$events" -o walk.data ./walk
check 'clusters are found' status 0 "$SKIDPROF" calibrate --for walk.data
sed 's/^/# /' out
check 'one waits for memory' grep -q '^  chiefly memory:.* dram-latency' out
check 'one computes' grep -q '^  chiefly rest: add-latency' out
check 'the core is named' grep -q '^walk.data on core ' out
check 'other events' status 0 "$SKIDPROF" record --pmu sim -c 500009 -e cycles,instructions -o few.data ./walk
check 'are an error' status 1 "$SKIDPROF" calibrate --for few.data
check 'that says which to record' grep -q "record with --pmu sim -e $events" err
check 'too few samples' status 0 "$SKIDPROF" record --pmu sim -c 100000007 -e "$events" -o short.data ./walk
check 'are one, too' status 1 "$SKIDPROF" calibrate --for short.data
check 'no recording' status 1 "$SKIDPROF" calibrate --for walk
finish
