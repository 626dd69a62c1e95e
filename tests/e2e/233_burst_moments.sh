#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bursts begin at moments that lie evenly in the program's CPU time: in dear code and in cheap code, early and late, and
# in processes that are short.
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

# Three hundred processes of 30 ms each, in three parts of a third: what they begin with has its bursts, too.  Where an interrupt
# takes 45 microseconds the recorder comes to every third of them.
build short <<'END' || exit 1
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define PART(name) \
	__attribute__((noipa)) static unsigned long name(unsigned long n) \
	{ \
		unsigned long x = 1; \
		while (n--) \
			__asm__ volatile("imul $3, %0, %0\n\ttest $64, %0\n\tjz 1f\n\tinc %0\n1:" : "+r"(x)); \
		return x; \
	}
PART(first)
PART(second)
PART(third)
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(void)
{
	double begun = cpu_s();
	unsigned long n = 5000000;
	second(n);
	n = (unsigned long)((double)n * 0.01 / (cpu_s() - begun));
	for (int i = 0; i < 300; i++) {
		if (!fork())
			_exit(first(n) + second(n) + third(n) == 1);
		wait(NULL);
	}
	return 0;
}
END
# On one processor the recorder runs when it is woken, and never besides: moments are the samples that wake it, or they come late.
for cpus in all one; do
	on=()
	[ $cpus = all ] || on=(taskset -c "$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')")
	"${on[@]}" "$SKIDPROF" record -v --pmu clock --seed "$SEED" -o s.data ./short >/dev/null 2>s.err
	grep -E 'moments|due' s.err | sed 's/^/# /'
	perf script -i s.data -F event,time,ip,sym 2>/dev/null >s.txt
	python3 - s.txt <<'END' >s.out
import re, sys
PARTS = ("first", "second", "third")
bursts, clock = ({p: 0 for p in PARTS} for _ in range(2))
for line in open(sys.argv[1]):
    m = re.match(r"\s*[\d.]+:\s+(\S+)\s+[0-9a-f]+ (\S+)", line)
    if m and m[2] in PARTS:
        (bursts if m[1].startswith("bursts") else clock)[m[2]] += 1
n, m = sum(bursts.values()), sum(clock.values())
if n < 50 or m < 500:
    raise SystemExit(print(f"only {n} bursts, {m} samples"))
# Of two degrees of freedom; 27.6 is passed by chance once in a million runs.
chi = sum((bursts[p] / n - clock[p] / m) ** 2 / ((bursts[p] + clock[p]) / (n + m)) for p in PARTS) / (1 / n + 1 / m)
print(*(f"{p} {bursts[p]} of {n} bursts, {clock[p]} of {m} samples;" for p in PARTS), f"chi-square {chi:.1f}:",
      "same" if chi < 27.6 else "differs")
END
	sed 's/^/# /' s.out
	# Where an interrupt takes a tenth of a millisecond the recorder keeps its budget, and comes to too few of these processes.
	if grep -q '^only' s.out && awk '/where an interrupt takes/ { us = $(NF - 1) } END { exit !(us > 80) }' s.err; then
		ok 0 "short processes, on $cpus # SKIP interrupts of this machine are too slow: $(grep -o 'an interrupt takes .*' s.err)"
		continue
	fi
	check "what short processes begin with as often as its time is, on $cpus (SEED=$SEED)" grep -q ': same$' s.out
	# One that has just ended counts as asleep; asking takes a tenth of a millisecond of its thirty.
	read -r due asleep < <(sed -n 's/.* \([0-9]*\) due, .* \([0-9]*\) asleep.*/\1 \2/p' s.err)
	check "few moments find a process asleep, on $cpus" test $((asleep * 10)) -lt "$due"
done
exit 0
