#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings as perf makes them on other machines, of a run whose counts are exact: what each tells is told, and no more.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
check 'it is recorded' record_three

# perf record -b: the shares of a region, with any event, whether the records tell cycles or not.
for how in 'events=cycles stack=any' 'events=cycles stack=any untimed' 'events=cycles stack=any untimed lose=0.25 freq' \
	'events=cycles stack=any untimed as=0:9:ref-cycles'; do
	# shellcheck disable=SC2086
	plain $how
	check "$how: it is reported" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'shares of the region are right to a point' shares 0.01
	case $how in
	*untimed*)
		check 'instructions are said not to be counted' json 'd["meta"]["instructions_relative"] and d["meta"]["branch_records"]'
		# Moments lean to what is slow, and nothing says how much: an interval that is narrow is no reason for the word.
		check 'and nothing that records tell is fixed' json '"weak" in (s := {f["status"] for f in d["functions"] if "path" in (f["known_by"] or "")}) and "fixed" not in s'
		;;
	*)
		# What cycles in the records tell is within 2% in all, chance (thirty thousand samples) being .2%.
		check 'instructions are told by the cycles in them' json 'not d["meta"]["instructions_relative"] and 0.1 < d["meta"]["instructions_per_cycle"] < 8'
		check 'as many as ran' total 0.02
		check 'functions have an IPC each' json 'len({round(f["ipc_fixed"], 2) for f in d["functions"] if f["name"] in ("mixed", "slow", "look", "quick")}) > 1'
		check 'they can be compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
		check 'and are right to a point' json 'd["eps_fixed"] < 0.01 < d["eps_raw"]'
		check 'lines have counts' status 0 "$SKIDPROF" report -i plain.data --lines --format json
		check 'and an IPC' json 'any(l["ipc_fixed"] for l in d["lines"])'
		;;
	esac
done

# Two loops of other pace one after another: time tells nothing of their shares, the cycles in the records do.
cat >apart.c <<'END'
#include <stdint.h>
#include <stdio.h>

__attribute__((noinline)) static uint64_t halves(uint64_t x, long n)
{
	for (long i = 0; i < n; i++)
		x = (x >> 40) % (1 + (x & 1023)) + (x ^ i) / 3 * 11;
	return x;
}

__attribute__((noinline)) static uint64_t wide(uint64_t x, long n)
{
	uint64_t a = x, b = x + 1, c = x + 2, d = x + 3;

	for (long i = 0; i < n; i++) {
		a += i ^ 5;
		b ^= i + 7;
		c += i << 1;
		d ^= i >> 2;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	return a ^ b ^ c ^ d;
}

int main(void)
{
	uint64_t x = 1;

	for (int k = 0; k < 3; k++) {
		x = halves(x, 400000);
		x = wide(x, 1500000);
	}
	printf("%ju\n", (uintmax_t)x);
	return 0;
}
END
gcc -O2 -g apart.c -o apart
check 'loops apart in time are recorded' status 0 "$SKIDPROF" record --pmu sim -q --plain -b -c 2003 --bursts 0 --core skylake -o apart.data --truth apart.truth ./apart
check 'and compared' status 0 "$SKIDPROF" compare -i apart.data --truth apart.truth --format json
check 'to a point' json 'd["eps_fixed"] < 0.01 and d["eps_raw"] > 0.1'
# Each runs three times, for long: how much of the time it has evenly spaced samples tell, of a thousand or of a hundred.
check 'few samples are recorded' status 0 "$SKIDPROF" record --pmu sim -q --plain -b -c 50021 --bursts 0 --core skylake -o apart.few --truth apart.truth ./apart
check 'and compared' status 0 "$SKIDPROF" compare -i apart.few --truth apart.truth --format json
check 'the intervals hold, and are of three percent' \
	json 'all(f["inside"] and f["hi"] - f["lo"] < 0.06 * f["truth"] for f in d["functions"] if f["truth_share"] > 0.05)'
# Regions that are not solved in time are averaged along their records, as where instructions are counted.
check 'without time to solve them they are compared' status 0 "$SKIDPROF" compare -i apart.data --truth apart.truth --format json --budget 1e-9
check 'and averaged: the intervals hold, where raw counts are five times as far off' \
	json 'd["eps_fixed"] < d["eps_raw"] / 5 and all(f["inside"] and f["status"] == "weak" for f in d["functions"] if f["truth_share"] > 0.05)'

# One instruction that takes a third of the time: no branch is taken from sample to sample, and that many cycles are not told as the
# instructions that others have in them.
cat >fill.c <<'END'
#include <stdio.h>

static char room[24 << 20];

__attribute__((noinline)) static void fill(char *to, unsigned long n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
}

__attribute__((noinline)) static unsigned turn(unsigned x, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		if (x & 64)
			x ^= i;
	}
	return x;
}

int main(void)
{
	fill(room, sizeof(room));
	printf("%u %d\n", turn(1, 3000000), room[12345]);
	return 0;
}
END
gcc -O2 -g fill.c -o fill
check 'one long instruction is recorded' status 0 "$SKIDPROF" record --pmu sim -q --plain -b -c 20011 --bursts 0 --core skylake-real -o fill.data --truth fill.truth ./fill
check 'and reported' status 0 "$SKIDPROF" report -i fill.data --format json
check 'it has a fifth of the time, and no instructions to speak of' \
	json '(f := next(f for f in d["functions"] if f["name"] == "fill"))["cycles_raw"] > 0.2 * sum(g["cycles_raw"] for g in d["functions"]) and f["share"] < 0.005'
check 'others are right' status 0 "$SKIDPROF" compare -i fill.data --truth fill.truth --format json
check 'to two points' json 'd["eps_fixed"] < 0.02'

# Samples of branches, of those taken above all, as AutoFDO, Propeller and llvm-profgen ask for: records are spread evenly over
# branches, and so tell instructions, of loops apart in time too.
for event in taken-branches taken-branches:upp branches; do
	check "records of $event are recorded" status 0 "$SKIDPROF" record --pmu sim -q --plain -b -e $event/1009 --bursts 0 --core skylake-real -o apart.data --truth apart.truth ./apart
	check 'and reported' status 0 "$SKIDPROF" report -i apart.data --format json
	check 'instructions are told by the branches' json 'not d["meta"]["instructions_relative"] and d["meta"]["instructions_per_cycle"] is None and d["meta"]["instructions_per_branch"] > 5'
	check 'compared' status 0 "$SKIDPROF" compare -i apart.data --truth apart.truth --format json
	check 'and right to a point, within intervals, which raw counts are not' \
		json 'd["eps_fixed"] < 0.01 and d["eps_raw"] > 0.03 and all(f["inside"] and abs(f["fixed_err"]) < 0.03 for f in d["functions"] if f["name"] in ("wide", "halves"))'
	check 'it is said in words' status 0 "$SKIDPROF" report -i apart.data
	check 'instructions a branch, no cycles' eval "grep -Eq 'branch records tell them, [0-9.]+ a branch in all' out && ! grep -q CPI out"
done

# Other filters: no path is made of them.  Calls alone, returns, conditional branches, the calls that are not back yet.
# Without any record it is right or says that it is not; so it must be with these.
plain events=cycles,instructions
check 'without records it is compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
worst_of >without
for how in call ret cond callstack; do
	plain events=cycles,instructions stack=$how
	check "stack=$how: it is compared" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
	check 'it is no worse than without records' no_worse "$(cat without)" 0.02
	check 'it is reported' status 0 "$SKIDPROF" report -i plain.data
	check 'and what they are is said' grep -Eq '^# branch records are (calls only|returns only|conditional branches only|a call stack):' out
	plain events=cycles stack=$how
	check "stack=$how without instructions: raw" status 0 "$SKIDPROF" report -i plain.data --format json
	check 'there are no shares' json 'not d["meta"]["instructions_relative"] and not d["meta"]["branch_records"]'
done
finish
