#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Two recordings of one program differ in nothing that is sure; a known change is found, through a new name and inlining.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
export PAGER=false # would fail if it were started

# In the later build step() has another name and is put in place no more, slow() does a tenth more turns, and quick() is new.
cat >diff.c <<'END'
#include <stdint.h>
#include <stdio.h>

#ifdef AFTER
#define STEP advance
#define STEP_KIND __attribute__((noinline))
#define TURNS 110
#else
#define STEP step
#define STEP_KIND inline __attribute__((always_inline))
#define TURNS 100
#endif

STEP_KIND static uint64_t STEP(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 29;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 32;
}

__attribute__((noinline)) static uint64_t steps(uint64_t x)
{
	for (int i = 0; i < 100; i++)
		x += STEP(x);
	return x;
}

__attribute__((noinline)) static uint64_t slow(uint64_t x)
{
	for (int i = 0; i < TURNS; i++)
		x = x * 3 + (x >> 7);
	return x;
}

#ifdef AFTER
__attribute__((noinline)) static uint64_t quick(uint64_t x)
{
	for (int i = 0; i < 20; i++)
		x = (x ^ x >> 3) * 5;
	return x;
}
#endif

int main(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 8000; i++) {
		x += slow(steps(x));
#ifdef AFTER
		x += quick(x);
#endif
	}
	printf("%d\n", x != 0);
	return 0;
}
END
mkdir -p before 'aft er'
gcc -O2 -fno-unroll-loops -g diff.c -o before/app && gcc -O2 -fno-unroll-loops -g -DAFTER diff.c -o 'aft er/app-2' || exit 1
record()
{
	"$SKIDPROF" record --pmu sim -q --seed "$1" -o "$2" --truth "$2.truth" "$3" >/dev/null
}
record 1 a1 before/app && record 2 a2 before/app && record 3 a3 before/app && record 1 b1 'aft er/app-2' && record 2 b2 'aft er/app-2' ||
	exit 1

check 'two recordings of one program' status 0 "$SKIDPROF" diff a1 a2 --format json
check 'differ in instructions of nothing that is large' json \
	'd["skidprof"] == 1 and all(r["instructions"] == "can'"'"'t tell" for r in d["functions"] + [d["all"]] if r["share"] > 0.05)'
check 'and in a tenth of the words at most' json \
	'(lambda w: sum(x != "can'"'"'t tell" for x in w) <= max(1, len(w) / 5))([r[m] for r in d["functions"] if r["share"] > 0.01 for m in ("instructions", "cycles", "ipc", "executions") if r[m]])'
check 'no condition fails' status 0 "$SKIDPROF" diff a1 a2 --fail-on 'instructions > 2%' --fail-on 'cycles > 5%'

check 'another build' status 0 "$SKIDPROF" diff a1 b1 --format json
cp out ab.json
check 'runs more' json 'd["all"]["instructions"] == "more" and d["all"]["instructions_change_lo"] > 0'
check 'slow() runs a tenth more' json \
	'(lambda r: r["instructions"] == "more" and r["instructions_change_lo"] < 0.0985 < r["instructions_change_hi"] + 0.005)([r for r in d["functions"] if r["function"] == "slow"][0])'
check 'step() is found under its new name, and runs the same but for call and return' json \
	'(lambda r: r["function_before"] == "step" and abs(r["instructions_change"]) < 0.3)([r for r in d["functions"] if r["function"] == "advance"][0])'
check 'quick() is new' json '(lambda r: r["instructions_before"] == 0 and r["instructions"] == "more")([r for r in d["functions"] if r["function"] == "quick"][0])'
check 'exact counts say the same' status 0 "$SKIDPROF" diff a1.truth b1.truth --format json
check 'to the last instruction' python3 - <<'END'
import json

ours, exact = (json.load(open(f)) for f in ("ab.json", "out"))
exact = {r["function"]: r for r in exact["functions"]}
for r in ours["functions"]:
    if r["share"] > 0.05:
        e = exact[r["function"]]
        assert e["instructions_change_lo"] == e["instructions_change_hi"] or e["instructions_change"] is None
        for side in ("before", "after"):
            x, y = r["instructions_" + side], e["instructions_" + side]
            assert abs(x - y) <= 0.02 * max(x, y), (r["function"], side, x, y)
END
check 'several of each side' status 0 "$SKIDPROF" diff a1 b1 -a a2 -a a3 -b b2 --format json
check 'are read' json 'len(d["before"]) == 3 and len(d["after"]) == 2 and d["all"]["instructions"] == "more"'
check 'a table' status 0 "$SKIDPROF" diff a1 b1
check 'has the old name' has out 'advance (was step)'
check 'and the words' sh -c 'grep -E " slow$" out | grep -q "more"'
check 'lines' status 0 "$SKIDPROF" diff a1 b1 --lines
check 'has those of slow' sh -c 'grep -qE "diff.c:3[3-5] +slow" out'
check 'csv' status 0 "$SKIDPROF" diff a1 b1 --format csv --by cycles
check 'of one header' sh -c '[ "$(grep -c "^share," out)" -eq 1 ]'

check 'a condition that holds' status 4 "$SKIDPROF" diff a1 b1 --fail-on 'instructions > 2%'
check 'is said' sh -c 'grep -q -- "--fail-on .instructions > 2%.: instructions of all changed by +" err'
check 'of one function' status 4 "$SKIDPROF" diff a1 b1 --fail-on 'slow: instructions > 5%'
check 'that does not hold' status 0 "$SKIDPROF" diff a1 b1 --fail-on 'slow: instructions > 20%'
check 'the other way' status 4 "$SKIDPROF" diff b1 a1 --fail-on 'slow: instructions < -5%'
check 'of a function by its name before' status 0 "$SKIDPROF" diff a1 b1 --fail-on 'step: instructions > 50%'
check 'of a function that there is not' status 3 "$SKIDPROF" diff a1 b1 --fail-on 'slwo: instructions > 5%'
check 'which can not be told' one_line "'slwo: instructions > 5%': neither side has a function of that name"
check 'beside one that holds' status 4 "$SKIDPROF" diff a1 b1 --fail-on 'slwo: instructions > 5%' --fail-on 'slow: instructions > 5%'
check 'both are said' sh -c 'grep -q "neither side has a function" err && grep -q "of slow changed by +" err'
check 'of what exact counts do not have' status 3 "$SKIDPROF" diff a1.truth b1.truth --fail-on 'cycles > 5%'
check 'can not be told either' one_line "'cycles > 5%': that is not known on both sides"
check 'of no such measure' status 2 "$SKIDPROF" diff a1 b1 --fail-on 'instuctions > 2%'
check 'the nearest is named' one_line "did you mean 'instructions'?"
check 'without a percentage' status 2 "$SKIDPROF" diff a1 b1 --fail-on 'instructions > 2'
check 'is no condition' one_line "as in 'instructions > 2%'"
# What can't be compared.  An exact count has no cycles; a second program with its work in functions of its own.
check 'equal exact counts are the same' sh -c '"$SKIDPROF" diff a1.truth a1.truth | grep -q " same " && ! "$SKIDPROF" diff a1.truth a1.truth | grep -q "can.t tell"'
check 'a measure that a side lacks' status 1 "$SKIDPROF" diff a1.truth b1.truth --by cycles
check 'what both have is said' one_line '--by cycles: not known on both sides; what both have: instructions'
check 'executions are not in such files either' status 1 "$SKIDPROF" diff a1.truth b1.truth --by executions
check 'of exact counts there is neither a status nor an interval' sh -c '! "$SKIDPROF" diff a1.truth b1.truth | grep -q "STATUS\|INTERVAL"'
check 'and have no column' sh -c '! "$SKIDPROF" diff a1.truth b1.truth | grep -q EXECUTED'
cat >other.c <<'END'
__attribute__((noipa)) unsigned elsewhere(unsigned n)
{
	unsigned s = 0;
	for (unsigned i = 0; i < n; i++)
		s = s * 5 + (i ^ s >> 3);
	return s;
}
int main(int argc, char **argv)
{
	(void)argv;
	return elsewhere(2000000 + (unsigned)argc) == 1;
}
END
gcc -O2 -g other.c -o other
record 1 o1 ./other
"$SKIDPROF" record --pmu sim -q --seed 1 -o o2 ./other 2 >/dev/null
check 'another program' status 3 "$SKIDPROF" diff a1 o1
check 'is said in one line' one_line 'they are different programs'
check 'another command line' status 0 "$SKIDPROF" diff o1 o2
check 'is told' one_line "another input may be all that differs"
if "$SKIDPROF" record -q --pmu clock --bursts 0 -c 249989 -o c1 ./other >/dev/null 2>&1 && "$SKIDPROF" record -q --pmu clock --bursts 0 -c 249989 -o c2 ./other >/dev/null 2>&1; then
	check 'simulated cycles against time' status 1 "$SKIDPROF" diff o1 c1
	check 'are not the same' one_line "they can't be compared"
	check 'and no table says that they are more or fewer' test ! -s out
	check 'two recordings of time' status 0 "$SKIDPROF" diff c1 c2
	check 'have no status, for nothing was corrected' sh -c '! grep -qE "STATUS|fixed" out'
	check 'and no instructions' status 1 "$SKIDPROF" diff c1 c2 --by instructions
	check 'how runs differ is not known of one each' status 0 "$SKIDPROF" diff c1 c2 --format json
	check 'so nothing of time is sure' json '(lambda m: all(r[m] == "can'"'"'t tell" and r[m + "_change_lo"] is None and r[m + "_before"] is not None for r in d["functions"] + [d["all"]] if r["share"] > 0.01))("cycles" if d["all"]["cycles"] else "events")'
	of=$(python3 -c 'import json; print("cycles" if json.load(open("out"))["all"]["cycles"] else "events")')
	"$SKIDPROF" diff c1 c2 >out 2>err
	check 'and that is said' has out 'give three of each or more (-a, -b)'
	check 'a condition on it has no answer' status 3 "$SKIDPROF" diff c1 c2 --fail-on "$of > 5%"
	check 'which is said' one_line 'from run to run'
	check 'nor has one on instructions' status 3 "$SKIDPROF" diff c1 c2 --fail-on 'instructions > 5%'
	check 'that were not counted' one_line 'not known on both sides'
	"$SKIDPROF" record -q --pmu clock --bursts 0 -c 249989 -o c3 ./other >/dev/null 2>&1
	check 'a second recording of one side tells' status 0 "$SKIDPROF" diff c1 c2 -a c3 --format json
	check 'what the interval is' json '(d["all"]["cycles_change_lo"] or d["all"]["events_change_lo"]) is not None'
fi

check 'one file' status 2 "$SKIDPROF" diff a1
check 'three' status 2 "$SKIDPROF" diff a1 a2 b1
check 'how more are given is said' one_line '-a FILE and -b FILE'
check 'no such file' status 1 "$SKIDPROF" diff a1 nowhere
: >empty
check 'an empty file' status 1 "$SKIDPROF" diff a1 empty
check 'a file of neither kind' status 1 "$SKIDPROF" diff a1 diff.c
check 'a full disk' sh -c '"$SKIDPROF" diff a1 a2 >/dev/full 2>err; [ $? -eq 1 ]'
# Two processors differ in cycles whatever the program does; of two instruction sets nothing is alike.
check 'another core' status 0 "$SKIDPROF" record --pmu sim -q --core skylake -o core.data before/app
check 'can be compared' status 0 "$SKIDPROF" diff a1 core.data
check 'and that is said' one_line 'cycles and IPC differ by the processor, too'
finish
