#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A loop that calls memcmp: the variant that libc chose belongs to the region, not the dynamic linker's own memcmp.
set -u
. "$TOP/tests/e2e/lib200.sh"

build compare <<'C'
#include <stdio.h>
#include <string.h>
static char a[4096], b[4096];
int main(void)
{
	int s = 0;
	for (int i = 0; i < 1000000; i++) {
		a[i & 255] = (char)i;
		if (memcmp(a + (i & 15), b + (i & 31), 20 + (size_t)(i & 63)) > 0)
			s += i;
		else
			s ^= i;
	}
	return printf("%d\n", s) < 0;
}
C
for how in -b --no-branches; do
	"$SKIDPROF" record --pmu sim -q $how -o c.data --truth c.truth ./compare >/dev/null 2>err
	"$SKIDPROF" compare -i c.data --truth c.truth --format json >c.json 2>/dev/null
	python3 - >shares <<'P'
import json
f = json.load(open("c.json"))
worst = max(abs(x["fixed_err"]) for x in f["functions"][:3])
names = [x["name"] for x in f["functions"][:3] if x["status"] == "fixed"]
print("%.4f %s" % (worst, " ".join(names)))
P
	echo "# $how: $(cat shares)"
	check "the three functions are fixed ($how)" grep -q 'main.*memcmp\|memcmp.*main' shares
	# Counted exactly but for start-up and the intervals at the edges of the run: a few of 2000.
	check "and right to 1% ($how)" awk '{ exit !($1 < 0.01) }' shares
done
exit 0
