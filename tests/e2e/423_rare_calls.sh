#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A loop that prints a line now and then: the few samples in the printing make it no part of the region.  What it calls comes to thousands
# of blocks, and counters alone could settle nothing of them.
set -u
. "$TOP/tests/e2e/lib200.sh"
cd "$SCRATCH" || exit 1

build rare <<'C'
#include <stdint.h>
#include <stdio.h>
#define ALONE __attribute__((noinline, noclone))

ALONE static uint64_t mix(uint64_t x)
{
	return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
}

ALONE static uint64_t fold(const uint8_t *p, int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum = sum * 31 + (p[i] & 1 ? mix(sum) : p[i]);
	return sum;
}

int main(void)
{
	uint8_t p[600];
	char line[100];
	uint64_t x = 1;

	for (int i = 0; i < 12000; i++) {
		for (int k = 0; k < 600; k++)
			p[k] = (uint8_t)((x = x * 6364136223846793005ull + 1) >> 56);
		x += fold(p, 600);
		if (i % 1500 == 0)
			x += (uint64_t)snprintf(line, sizeof(line), "%.17g %d %s", (double)x / 3, i, "of them");
	}
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
C
"$SKIDPROF" record --pmu sim --core zen5-real --seed 1 -c 1009 --no-branches --bursts 0 -q -o r.data --truth r.truth ./rare >/dev/null 2>err
"$SKIDPROF" compare -i r.data --truth r.truth --format json >r.json 2>err
check 'some samples fell into the printing' python3 - <<'P'
import json
rows = {f["name"]: f for f in json.load(open("r.json"))["functions"]}
printed = sum(f["raw"] or 0 for n, f in rows.items() if "printf" in n)
assert 0 < printed < 0.002 * sum(f["raw"] or 0 for f in rows.values()), printed
P
check 'the three functions are fixed, and right to 1%' python3 - <<'P'
import json
rows = {f["name"]: f for f in json.load(open("r.json"))["functions"]}
for name in ("fold", "main", "mix"):
    f = rows[name]
    assert f["status"] == "fixed" and abs(f["fixed_err"]) < 0.01 and f["inside"], (name, f)
assert abs(rows["mix"]["raw_err"]) > 0.5
P
"$SKIDPROF" report -i r.data --regions --format json >g.json 2>err
check 'and their region is no larger than they are' python3 - <<'P'
import json
assert json.load(open("g.json"))["regions"][0]["blocks"] < 100
P
exit 0
