#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Counts of a static program agree with callgrind's within 0.5 %; callgrind is another counter altogether.
# The arrays are small: of large ones memcpy makes use of rep movsb, which callgrind counts once a step, and
# processors' counters (and we) once.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v valgrind >/dev/null || { echo 'skip: no valgrind'; exit 77; }

build static -static <<'C'
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noipa)) unsigned mix(unsigned x) { x ^= x << 13; x ^= x >> 17; return x ^ x << 5; }
static int cmp(const void *a, const void *b) { return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1; }
int main(void)
{
	static unsigned v[400];
	unsigned x = 1;
	for (int r = 0; r < 500; r++) {
		for (int i = 0; i < 400; i++) v[i] = x = mix(x);
		qsort(v, 400, sizeof *v, cmp);
	}
	printf("%u\n", v[123]);
	return 0;
}
C
valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=cg.out ./static >want 2>cg.err
cg=$(sed -n 's/^totals: *//p' cg.out)
"$SKIDPROF" record --pmu sim -o r.data --truth both.out ./static >got 2>err
check 'recording and counting together leave the output alone' cmp want got
"$SKIDPROF" truth -q -o alone.out ./static >got
check 'counting alone leaves the output alone' cmp want got
both=$(sed -n 's/^totals: *//p' both.out) alone=$(sed -n 's/^totals: *//p' alone.out) file=$(total r.data instructions)
echo "# callgrind $cg, truth $alone, truth beside a recording $both, samples $file"
check 'truth alone within 0.5 %' near "$alone" "$cg" 0.5
check 'truth beside a recording within 0.5 %' near "$both" "$cg" 0.5
check 'instructions of the recording within 0.5 %' near "$file" "$cg" 0.5
check 'truth beside and alone are the same run but for its environment' near "$both" "$alone" 0.01

# Function by function: nothing in these depends on the machine, so they agree to the instruction.
for f in mix cmp; do
	a=$(callgrind_annotate --threshold=100 alone.out 2>/dev/null | grep -E "[:]$f( |\$)" | awk '{ gsub(",", "", $1); print $1; exit }')
	b=$(callgrind_annotate --threshold=100 cg.out 2>/dev/null | grep -E "[:]$f( |\$)" | awk '{ gsub(",", "", $1); print $1; exit }')
	echo "# $f: truth $a, callgrind $b"
	check "function $f has callgrind's count to the instruction" test -n "$a" -a "$a" = "$b"
done
exit 0
