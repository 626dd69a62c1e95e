#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Stages that are shorter than the turns of events, and than the time between bursts: an event was counted in one turn of them, and
# a burst saw one of their loops.  What else ran may be other code, and what is wrong is not called fixed.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

cat >stages.c <<'C'
#include <stdio.h>
static unsigned long s = 638250775;
static inline unsigned rnd(void) { s = s * 6364136223846793005ul + 1442695040888963407ul; return s >> 35; }
static long sum[4096];
static inline long mix(long v) { v ^= v >> 4; v *= 31; return v % 563; }
__attribute__((noinline)) static long weigh(long v)
{
	long t = 0;
	for (int i = 0; i < 8; i++) t += sum[(v + i) & 4095] > v ? 3 : v & 5;
	return t;
}
int main(void)
{
	long t = 0;
	for (int i = 0; i < 13575; i++) t += weigh(sum[i & 4095]);
	for (int i = 0; i < 11366; i++) sum[rnd() & 4095] ^= mix(i);
	for (int i = 0; i < 182935; i++) { t += rnd() & sum[i & 4095]; t ^= mix(t + i); }
	for (int r = 0; r < 20; r++) for (int i = 0; i < 40000; i++) t += sum[(t + i * 7) & 4095] + (t > i ? 3 : t & 5);
	for (int i = 0; i < 6623; i++) { t += weigh(i); sum[t & 4095] ^= mix(i); }
	printf("%ld\n", t);
}
C
cc -O2 -g stages.c -o stages || exit 1
for bursts in 0 4000; do
	check "$bursts bursts a second: it is recorded" status 0 "$SKIDPROF" record --pmu sim -q --core zen5-real --no-branches --bursts "$bursts" \
		-o stages.data --truth stages.truth ./stages
	check 'it is reported' status 0 "$SKIDPROF" report -i stages.data --format json --insns --min-share 0
	check 'a region is the sum of its instructions' json 'd["regions"] and all(abs(sum(i["fixed"] for i in d["instructions"] if i["region"] == r["name"]) / r["fixed"] - 1) < 1e-6 for r in d["regions"] if r["fixed"])'
	check 'and regions are no more than all' json 'sum(r["share"] for r in d["regions"]) <= 1.000001'
	check 'it is compared' status 0 "$SKIDPROF" compare -i stages.data --truth stages.truth --format json
	check 'what is fixed is right to 1%, or inside its interval' json \
		'all(f["lo"] <= f["truth"] <= f["hi"] or abs(f["fixed_err"]) < 0.01 for f in d["functions"] if f["status"] == "fixed" and f["truth_share"] > 0.01)'
	check 'functions are right to 5%' json 'all(abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth_share"] > 0.01)'
done
finish
