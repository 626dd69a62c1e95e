#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A short loop of many ways has samples, but too few to solve it, and no burst fell into it: averages along bursts know nothing
# of it, so what its samples say stays, and is not taken for nothing.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

{
	printf '#include <stdio.h>\n#include <stdlib.h>\n\nstatic unsigned long tab[1024];\n\n'
	printf '__attribute__((noinline)) static unsigned long hot(unsigned long a, int n)\n{\n\tfor (int i = 0; i < n; i++) {\n'
	printf '\t\ta = a * 6364136223846793005ul + 1;\n\t\tif (a >> 63)\n\t\t\ta ^= tab[a >> 20 & 1023];\n\t}\n\treturn a;\n}\n\n'
	printf '__attribute__((noinline)) static unsigned long rare(unsigned long a, int n)\n{\n\tfor (int i = 0; i < n; i++) {\n'
	printf '\t\ta = a * 6364136223846793005ul + 1;\n'
	for i in $(seq 0 39); do
		printf '\t\tif (a >> %d & 1)\n\t\t\ttab[a >> %d & 1023] += a ^ %d;\n' $((i + 20)) $((i + 3)) "$i"
	done
	printf '\t}\n\treturn a;\n}\n\nint main(void)\n{\n\tunsigned long a = hot(1, 4000000);\n\n'
	printf '\ta += rare(a, 700);\n\tprintf("%%lu\\n", a + hot(a, 4000000));\n\treturn 0;\n}\n'
} >short.c
check 'it is built' gcc -O1 -g short.c -o short
check 'it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --no-branches --bursts 3600 -o s.data --truth s.truth ./short
check 'it is compared' status 0 "$SKIDPROF" compare -i s.data --truth s.truth --format json
python3 - >rows <<'P'
import json
d = json.load(open("out"))
for f in d["functions"]:
    if f["name"] in ("hot", "rare"):
        print(f["name"], f["status"], f["truth"], f["raw"], f["fixed"])
P
sed 's/^/# /' rows
check 'the short loop was sampled' awk '$1 == "rare" && $4 < 10000 { exit 1 }' rows
check 'and is not nothing' awk '$1 == "rare" && ($5 < $4 / 2 || $5 > $4 * 2) { exit 1 }' rows
check 'nor fixed' awk '$1 == "rare" && $2 == "fixed" { exit 1 }' rows
check 'the long one is' grep -q '^hot fixed ' rows

# Precise cycles, and instructions a skid later: a wait stands on one block, which where blocks cost alike would be many executions.
cat >waits.c <<'END'
#include <stdio.h>
#include <stdlib.h>

static unsigned long next[1 << 20];

__attribute__((noinline)) static unsigned long chase(unsigned long at, unsigned long *odd, int n)
{
	while (n--) {
		at = next[at];
		if (at & 1)
			*odd += at >> 3;
		else
			*odd ^= at;
	}
	return at;
}

int main(void)
{
	unsigned long at = 1, odd = 0;

	for (unsigned long i = 0; i < 1 << 20; i++)
		next[i] = (i * 0x9e3779b1 + 12345) & ((1 << 20) - 1);
	for (int i = 0; i < 3000; i++) {
		at = chase(at, &odd, 60);
		for (int k = 0; k < 300; k++)
			odd = odd * 6364136223846793005ul + (odd >> 63 ? k : 1);
	}
	printf("%lu\n", at + odd);
	return 0;
}
END
check 'another is built' gcc -O1 -g waits.c -o waits
check 'it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --core zen5-real --plain -e cycles:pp,instructions -c 5003 --bursts 0 \
	--no-branches -o w.data --truth w.truth ./waits
check 'it is compared' status 0 "$SKIDPROF" compare -i w.data --truth w.truth --format json
check 'it is no worse than raw' json 'd["eps_fixed"] <= 1.05 * d["eps_raw"] + 0.002'
check 'nothing is fixed that is wrong' json 'all(f["status"] != "fixed" or abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth_share"] > 0.01)'
"$SKIDPROF" report -i w.data --why main >out 2>err
check 'why says what would tell' has out 'instructions precisely, too (-e instructions:pp)'
exit $failed
