#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Counters alone, and code that goes on by jumps to where a function returned, as compiled Prolog does: no loop is found in it, but
# its samples skidded as in any other.  Such functions are not called raw, as if there were nothing to correct.
set -u
. "$TOP/tests/e2e/lib200.sh"

build next -O2 -foptimize-sibling-calls <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void step(uint64_t x, uint64_t n);
static step heavy, light, slow;
static step *volatile table[] = { heavy, light, slow, light };
__attribute__((noinline)) static step *pick(uint64_t x) { return table[x >> 7 & 3]; }
#define GO(x, n) \
	if (n == 0) exit((int)printf("%lu\n", (unsigned long)x) < 0); \
	pick(x)(x, n - 1)
#define R(n) x ^= x << 13, x += x >> 7 ^ n, x ^= x << 17;
__attribute__((noinline)) static void heavy(uint64_t x, uint64_t n)
{
	R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8)
	GO(x, n);
}
__attribute__((noinline)) static void light(uint64_t x, uint64_t n)
{
	R(1)
	GO(x, n);
}
__attribute__((noinline)) static void slow(uint64_t x, uint64_t n)
{
	x = x / ((x & 15) + 3) / ((x & 7) + 1) + 0x9e3779b97f4a7c15u * n;
	GO(x, n);
}
static volatile uint64_t warm;
int main(void)
{
	/* A loop that is found, so that a recording has a region. */
	for (uint64_t i = 0; i < 2000000; i++)
		warm += i;
	pick(1)(88172645463325252u, 600000);
}
C
"$SKIDPROF" record --pmu sim -q --no-branches --bursts=0 -o n.data --truth n.truth ./next >/dev/null 2>err
check "it is recorded" test -s n.data
"$SKIDPROF" compare -i n.data --truth n.truth --format json >n.json 2>err
python3 - >rows <<'P'
import json
for f in json.load(open("n.json"))["functions"]:
    if f["name"] in ("heavy", "light", "slow", "pick"):
        print(f["name"], f["status"], abs(f["fixed_err"]) < 0.1, "# raw %+.1f%%, fixed %+.1f%%" % (
            100 * f["raw_err"], 100 * f["fixed_err"]))
P
sed 's/^/# /' rows
check "all four are there" test "$(wc -l <rows)" -eq 4
check "none is raw" sh -c '! grep -q "^[a-z]* raw" rows'
check "for some are a tenth off" grep -q ' False ' rows
"$SKIDPROF" report -i n.data --why light >why 2>err
check "with the reason" grep -q 'it ran again and again, but in no loop that was found' why
# What is outside of loops and has a few samples stays raw.
"$SKIDPROF" report -i n.data --format json >r.json 2>err
check "what has few samples is" python3 -c '
import json, sys
f = [f for f in json.load(open("r.json"))["functions"] if f["status"] == "raw" and f["raw"]]
sys.exit(not f or max(x["raw"] for x in f) > 20 * 10007)'
exit 0
