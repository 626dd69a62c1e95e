#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Trip counts that the code tells (eq. 8), where nothing else tells: cycles and instructions alone, and a skid of many iterations.
set -u
. "$TOP/tests/e2e/lib200.sh"

# A loop that waits and two that do not; by samples all have one IPC.
build turns -O2 <<'C'
#include <stdio.h>

static unsigned data[64];

/* 40 turns of a chain of multiplications. */
__attribute__((noinline)) static unsigned chain(unsigned x)
{
	for (int i = 0; i < 40; i++)
		x = (x ^ data[i]) * 16777619u;
	return x;
}

/* 64 turns that do not wait for each other; left by their count alone, though they branch on data. */
__attribute__((noinline)) static unsigned count(unsigned x)
{
	unsigned n = 0;

	for (int i = 0; i < 64; i++) {
		__asm__ volatile("");
		if (data[i] > x)
			n += i;
	}
	return n;
}

/* It may end early: its 48 turns say nothing. */
__attribute__((noinline)) static int find(unsigned x)
{
	int i;

	for (i = 0; i < 48; i++)
		if (data[i] % 64 == x % 64)
			break;
	return i;
}

int main(int argc, char **argv)
{
	unsigned sum = (unsigned)argc;

	(void)argv;
	for (unsigned i = 0; i < 64; i++)
		data[i] = i * 2654435761u;
	for (unsigned turn = 0; turn < 60000; turn++) {
		sum += chain(sum);
		sum += count(sum) + count(sum ^ turn);
		sum += (unsigned)find(sum);
	}
	return printf("%u\n", sum) < 0;
}
C

# With no environment, whose size moves the stack, every run is the same.
env -i "$SKIDPROF" record --pmu sim -q --no-branches -e cycles,instructions -o t.data --truth t.truth ./turns >/dev/null 2>err
check 'it is recorded' test -s t.data
"$SKIDPROF" compare -i t.data --truth t.truth --format json >t.json 2>err
check 'it is compared' test -s t.json

# judge NAME EXPRESSION of f, a function.
judge()
{
	python3 - "$@" <<'P'
import json, sys
f = next(f for f in json.load(open("t.json"))["functions"] if f["name"] == sys.argv[1])
print("# %s: raw %+.1f%%, fixed %+.2f%%, %s, %s" % (f["name"], 100 * f["raw_err"], 100 * f["fixed_err"], f["status"], f["inside"]))
sys.exit(not eval(sys.argv[2]))
P
}

check 'by its samples alone the chain has far too many instructions' judge chain 'f["raw_err"] > 0.3'
# How many turns find makes nothing tells, so none of the three is known well; but the other two are to each other.
check 'two counted loops are right to each other, to 1%' python3 -c '
import json
f = {f["name"]: f["fixed"] for f in json.load(open("t.json"))["functions"]}
t = {f["name"]: f["truth"] for f in json.load(open("t.json"))["functions"]}
assert abs(f["chain"] / f["count"] / (t["chain"] / t["count"]) - 1) < 0.01, (f, t)'
for name in chain count; do
	check "$name is nearer the truth than its samples, and inside its interval" judge $name \
		'abs(f["fixed_err"]) < abs(f["raw_err"]) and f["inside"]'
done
"$SKIDPROF" report -i t.data --why chain >why 2>err
check 'why says that iterations are known' grep -q 'bounds: iterations that the code itself fixes' why

# Two dozen counted loops that a switch chooses among: bursts go round each as often as it goes, which says nothing of how well they
# know the choice.  Taken for a check of their noise, that left intervals a third to a quarter as wide as the errors were.
python3 - >many.c <<'P'
print("#include <stdint.h>\n#include <stdio.h>")
for i in range(24):
    print(f"static __attribute__((noinline, noclone)) unsigned long f{i}(unsigned long x) "
          f"{{ for (int i = 0; i < {1 + i % 7}; i++) x = x * {2 * i + 3}u + (x >> {i + 1}); return x; }}")
print("static __attribute__((noinline)) unsigned long choose(unsigned long x, unsigned k) { switch (k) {")
for i in range(24):
    print(f"case {i}: x = f{i}(x) + {i}; {'break;' if i % 5 else '/* falls through */'}")
print("""default: x++; } return x; }
int main(void)
{
	unsigned long x = 1;
	uint32_t r = 1;
	for (long i = 0; i < 1000000; i++) {
		r ^= r << 13, r ^= r >> 17, r ^= r << 5;
		x += choose(x, (uint64_t)(uint32_t)(r * 2654435769u) * 24 >> 32);
	}
	printf("%lx\\n", x);
}""")
P
gcc -O2 -g -o many many.c || exit 1
for how in '-e cycles' '-e instructions,cycles'; do
	"$SKIDPROF" record --pmu sim -q $how --no-branches --bursts auto -o m.data --truth m.truth ./many >/dev/null || exit 1
	"$SKIDPROF" compare -q -i m.data --truth m.truth --limit 0 --format json >m.json
	check "$how: loops with counts make bursts no surer" python3 -c '
import json, math
f = [f for f in json.load(open("m.json"))["functions"] if f["name"] == "choose" or f["name"][0] == "f" and f["name"][1:].isdigit()]
z = [1.645 * (x["fixed"] - x["truth"]) / ((x["hi"] - x["lo"]) / 2) for x in f]
rms = math.sqrt(sum(x * x for x in z) / len(z))
print("# %u functions miss by %.2f of their noise; %u are in their intervals" % (len(f), rms, sum(x["inside"] for x in f)))
assert len(f) == 25 and rms < 2'
done
exit 0
