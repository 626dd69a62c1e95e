#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bursts begin at moments that lie evenly in the program's CPU time: in dear code and in cheap code, early and late.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ -e "$BUILD/skidreplay" ] && command -v perf >/dev/null && "$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "no replayer, no perf or no clock events here: $(head -1 probe.err 2>/dev/null)"
	exit 77
}
# Two parts of about as much time: one of a branch in two instructions, which touches one page; one of a branch in
# hundreds, all over 64 MB.  What they cost to replay differs by far.  Every few milliseconds it sleeps.
build parts <<'END' || exit 1
#include <stdlib.h>
#include <time.h>
enum { N = 1 << 23 };
static unsigned long *far;
__attribute__((noinline)) static unsigned long dense(unsigned long x)
{
	for (int i = 0; i < 300000; i++)
		__asm__ volatile("test $1, %0\n\tjz 1f\n\tinc %0\n1:\tadd $3, %0" : "+r"(x));
	return x;
}
__attribute__((noinline)) static unsigned long sparse(unsigned long x)
{
	for (int i = 0; i < 150; i++)
		for (int k = 0; k < 40; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			far[x >> 41] += x;
			__asm__ volatile(".rept 30\n\timul $3, %0, %0\n\t.endr" : "+r"(x));
		}
	return x;
}
int main(int argc, char **argv)
{
	struct timespec nap = { 0, 300000 };
	unsigned long x = 1;
	far = calloc(N, sizeof(*far));
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1000); i++) {
		x = sparse(dense(x));
		if (i % 8 == 0)
			nanosleep(&nap, NULL);
	}
	return x == 1;
}
END
SEED=${SEED:-$RANDOM}
"$SKIDPROF" record -v --pmu clock --seed "$SEED" --bursts 60 --burst-budget 1000% -o m.data ./parts 6000 >/dev/null 2>m.err
grep -E 'bursts' m.err | tail -5 | sed 's/^/# /'
perf script -i m.data -F event,time,ip,sym 2>/dev/null >m.txt
python3 - m.txt <<'END' >m.out
import re, sys
# Both bounds are passed by chance once in a million runs: five standard deviations of a share; of the largest distance
# between two distributions (Kolmogorov) 2.74 / sqrt(n).
bursts, clock = [], []
for line in open(sys.argv[1]):
    m = re.match(r"\s*([\d.]+):\s+(\S+)\s+[0-9a-f]+ (\S+)", line)
    if m:
        (bursts if m[2].startswith("bursts") else clock).append((float(m[1]), m[3]))
n, m = len(bursts), len(clock)
if n < 50 or m < 500:
    raise SystemExit(print(f"only {n} bursts, {m} samples"))
p, q = (sum(s == "sparse" for _, s in v) / len(v) for v in (bursts, clock))
sigma = (q * (1 - q) * (1 / n + 1 / m)) ** 0.5
print(f"sparse {p:.3f} of {n} bursts, {q:.3f} of {m} samples:", "same" if abs(p - q) < 5 * sigma else "differs")
# Where in the CPU time, which the samples are evenly spread over, whoever had the CPU in between.
times = sorted(t for t, _ in clock)
import bisect
u = sorted(bisect.bisect(times, t) / m for t, _ in bursts)
d = max(max((i + 1) / n - x, x - i / n) for i, x in enumerate(u))
print(f"largest distance from even {d:.3f}, allowed {2.74 / n ** 0.5:.3f}:", "even" if d < 2.74 / n ** 0.5 else "uneven")
END
sed 's/^/# /' m.out
check "as often in dear code as its time is (SEED=$SEED)" grep -q ': same$' m.out
check "as often early as late (SEED=$SEED)" grep -q ': even$' m.out
exit 0
