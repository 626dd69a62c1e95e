#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Three loops one after another spend nearly all of their time in one function that they all call.  The second has hardly any
# samples of its own; what it ran of the function is known all the same.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

cat >shared.c <<'C'
#include <stdint.h>
#include <stdio.h>

static uint64_t table[1024];

__attribute__((noinline)) static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 12; i++) {
		x ^= x >> 29;
		x = x * 0x9e3779b97f4a7c15u + table[x & 1023];
		x ^= x << 7;
	}
	return x;
}

int main(void)
{
	uint64_t a = 1, b = 2, c = 3;

	for (int i = 0; i < 1024; i++)
		table[i] = (uint64_t)i * 0xd1342543de82ef95u;
	for (int i = 0; i < 400000; i++)
		a += mix(a + (uint64_t)i);
	for (int i = 0; i < 60000; i++)
		b ^= mix(b);
	for (int i = 0; i < 400000; i++)
		c = mix(c) - (c >> 3 ^ (uint64_t)i);
	printf("%llx\n", (unsigned long long)(a ^ b ^ c));
	return 0;
}
C
check 'it is built' gcc -O1 -g shared.c -o shared
check 'it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --no-branches -o s.data --truth s.truth ./shared
check 'it is compared' status 0 "$SKIDPROF" compare -i s.data --truth s.truth --format json
python3 - >rows <<'P'
import json
d = json.load(open("out"))
for f in d["functions"]:
    if f["truth"] >= 0.01 * d["total_truth"]:
        print(f["name"], abs(f["fixed_err"]), f["status"], "# %.4g, fixed %.4g" % (f["truth"], f["fixed"]))
P
sed 's/^/# /' rows
check 'both functions are there' test "$(grep -c . rows)" -ge 2
# Before, what the second loop ran of it was left raw: 7%, unreliable.
check 'what all of them call is fixed' awk '$1 == "mix" && $3 != "fixed" { exit 1 }' rows
check 'and right to 1%' awk '$1 == "mix" && $2 > 0.01 { exit 1 }' rows
exit $failed
