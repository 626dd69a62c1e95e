#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Counters alone, and functions of a few instructions that are called through pointers: each has too few samples to be looked for,
# but what they call has most of the program, and belongs to the loop.  Left outside it would be raw, a quarter too low.
set -u
. "$TOP/tests/e2e/lib200.sh"

{
	cat <<'C'
#include <stdint.h>
#include <stdio.h>
static volatile uint64_t sink;
__attribute__((noinline)) static uint64_t mix(uint64_t x)
{
#define R(n) x ^= x << 13, x += x >> 7 ^ n, x ^= x << 17;
	R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12)
	return x;
}
__attribute__((noinline)) static uint64_t slow(uint64_t x)
{
	for (int i = 0; i < 6; i++)
		x = x / ((x & 15) + 3) + 0x9e3779b97f4a7c15u * (uint64_t)i;
	return x;
}
C
	for ((f = 0; f < 32; f++)); do
		echo "__attribute__((noinline)) static uint64_t thin$f(uint64_t x) { return mix(x + $f) + $f; }"
	done
	echo 'static uint64_t (*volatile table[])(uint64_t) = {'
	for ((f = 0; f < 32; f++)); do
		echo "thin$f,"
	done
	cat <<'C'
};
int main(void)
{
	uint64_t x = 1;
	for (int i = 0; i < 150000; i++) {
		x = slow(x);
		x += table[x >> 5 & 31](x);
	}
	sink = x;
	return 0;
}
C
} | build thin -O2

"$SKIDPROF" record --pmu sim -q --no-branches --bursts=0 -o t.data --truth t.truth ./thin >/dev/null 2>err
check "it is recorded" test -s t.data
"$SKIDPROF" compare -i t.data --truth t.truth --format json >t.json 2>err
python3 - >rows <<'P'
import json
d = json.load(open("t.json"))
for f in d["functions"]:
    if f["truth_share"] > 0.03:
        print(f["name"], f["status"], "%.4f" % abs(f["fixed_err"]), f["inside"], "# raw %+.1f%%" % (100 * f["raw_err"]))
P
sed 's/^/# /' rows
check "what thin callbacks call is corrected" grep -q '^mix \(fixed\|weak\)' rows
check "and right to 3%" awk '$1 == "mix" { exit !($3 < 0.03) }' rows
check "and within its interval" grep -q '^mix .* True ' rows
check "as is the loop" awk '$1 == "slow" || $1 == "main" { n += $3 < 0.03 } END { exit !(n >= 1) }' rows
exit 0
