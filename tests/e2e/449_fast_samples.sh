#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Samples that come as fast as they skid: an overflow before the interrupt of the one before has no sample.  Without group reads
# nothing in the file counts what is missing, so it is said, and no interval is made of totals that are wrong.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
for period in 401 20011; do
	check "period $period: it is recorded" status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 \
		-e cycles,instructions -c $period -o $period.data --truth $period.truth ./three 100000
done
check 'a short period: it is reported' status 3 "$SKIDPROF" report -i 401.data
check 'what is missing is said, and the remedy' grep -Eq '^# instructions: samples come about as fast as they skid, .* some [0-9]+% or more are missing.*larger period' out
check 'JSON' status 3 "$SKIDPROF" report -i 401.data --format json
check 'has it for both events' json 'all(0.02 < e["hidden"] <= 0.5 for e in d["meta"]["events"])'
check 'what can not be trusted has no interval' json 'sum(f["lo"] is None and f["status"] == "unreliable" for f in d["functions"] if f["name"] in ("mixed", "slow", "look", "quick")) == 4'
check 'and says why' json 'any("as fast as they skid" in (f["why"] or "") for f in d["functions"])'
# Exit status 3 is of the dynamic linker, which has 1% of so short a run or not.
"$SKIDPROF" report -i 20011.data >out 2>err
check 'a period that no skid reaches hides nothing' sh -c 'grep -q slow out && ! grep -q "as fast as they skid" out'
"$SKIDPROF" report -i 20011.data --format json >out 2>err
check 'and JSON says so' json 'not any(e["hidden"] for e in d["meta"]["events"])'

# Where the counters are read with each sample, what is missing is counted, and totals are right.
check 'read in groups: it is recorded' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions \
	-c 401 -o group.data --truth group.truth ./three 100000
check 'it is compared' status 0 "$SKIDPROF" compare -i group.data --truth group.truth --format json
check 'all instructions are there' json 'abs(sum(f["fixed"] for f in d["functions"]) / sum(f["truth"] for f in d["functions"]) - 1) < 0.03'

# What a task runs between its last sample and its end is in no count.
cat >short.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noinline)) unsigned work(unsigned n) { unsigned s = 1; for (unsigned i = 0; i < n; i++) s = s * 5 + i; return s; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < n; i++) {
		if (fork() == 0)
			_exit(work(4000 + i * 7) == 7);
		wait(NULL);
	}
	printf("%u\n", work(1000000));
	return 0;
}
C
gcc -O2 -g short.c -o short
check 'short processes: they are recorded' status 0 "$SKIDPROF" record --pmu sim -q -c 10007 -o short.data --truth short.truth ./short 400
check 'they are compared' status 0 "$SKIDPROF" compare -i short.data --truth short.truth --format json
check 'the truth is in the interval' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["name"] == "work")'
check 'they are reported' status 0 "$SKIDPROF" report -i short.data
check 'and what none of their samples stands for is said' has out 'short processes or threads'
check 'JSON' status 0 "$SKIDPROF" report -i short.data --format json
check 'has its share' json '0.05 < d["meta"]["events"][0]["ended"] < 0.5'
check 'a process by itself' status 0 "$SKIDPROF" record --pmu sim -q -c 10007 -o one.data ./short
check 'is reported' status 0 "$SKIDPROF" report -i one.data --format json
check 'and lacks nothing' json 'd["meta"]["events"][0]["ended"] == 0'

# A period that is a multiple of a loop's instructions: each sample comes at the same place of the same lap.  Raw counts are far off,
# and what the flow leaves open is not called fixed.
cat >alternate.c <<'END'
#include <stdint.h>
#include <stdio.h>

__attribute__((noinline)) static uint64_t even(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 29;
	x += 77;
	x *= 31;
	return x ^ x >> 7;
}

__attribute__((noinline)) static uint64_t odd(uint64_t x)
{
	return x / ((x >> 60) + 3) + 1;
}

int main(int argc, char **argv)
{
	uint64_t x = 1;

	(void)argv;
	for (int i = 0; i < 200000; i++) {
		if (i & argc)
			x += odd(x);
		else
			x ^= even(x);
		x += i;
	}
	printf("%ju\n", (uintmax_t)x);
	return 0;
}
END
gcc -O1 -g alternate.c -o alternate
# Two laps, counted exactly: the instructions of the program over half of its laps.
"$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -o laps.data --truth laps.truth ./alternate >/dev/null
laps=$("$SKIDPROF" compare -i laps.data --truth laps.truth --format json 2>/dev/null | python3 -c 'import json, sys
print(round(sum(f["truth"] for f in json.load(sys.stdin)["functions"] if f["name"] in ("main", "even", "odd")) / 100000))')
period=$((laps * (10000 / laps)))
for how in '-e cycles,instructions --no-branches' '-e cycles,instructions --no-branches --plain' '--no-branches' '-e cycles,instructions -b' \
	'-e instructions -b --plain --core skylake'; do
	# shellcheck disable=SC2086
	check "in step ($how): it is recorded" status 0 "$SKIDPROF" record --pmu sim -q --bursts 0 -c "$period" $how -o step.data --truth step.truth ./alternate
	check 'it is compared' status 0 "$SKIDPROF" compare -i step.data --truth step.truth --format json
	check 'raw counts are far off, corrected ones a quarter of that' json 'd["eps_raw"] > 0.2 and d["eps_fixed"] < d["eps_raw"] / 4'
	# The three share the noise of one total, so that all lie outside of intervals of 90% in one run of ten; of twice those in one of a thousand.
	check 'the truth is within twice the intervals' json 'all(abs(f["truth"] - f["fixed"]) <= f["hi"] - f["lo"] for f in d["functions"] if f["truth"] > 1e5 and f["lo"] is not None)'
	check 'nothing that is wrong is fixed' json 'all(f["status"] != "fixed" or abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth"] > 1e5)'
done

# Of precise samples the counts are as sampled: nothing corrects them, and it is said.  Of a period with a common divisor, too.
precise()
{
	check "precise, $1: they are recorded" status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 --core skylake -c "$1" \
		-e cycles,instructions:uppp -o precise.data --truth precise.truth ./alternate
	"$SKIDPROF" compare -i precise.data --truth precise.truth --format json >out 2>err
}
for most in 10000 5000; do
	precise $((laps * (most / laps)))
	check 'counts are far off' json 'd["eps_raw"] > 0.3'
	check 'nothing but that is said' json 'all(f["status"] == "unreliable" for f in d["functions"] if f["raw"] > 0.05 * d["total_truth"])'
	check 'and no interval is that of chance' json 'all(f["lo"] is None for f in d["functions"])'
	check 'the report has exit status 3' status 3 "$SKIDPROF" report -i precise.data
	check 'and tells the remedy' grep -q 'the period keeps step with it: record with another one, a prime' err
	check 'its first lines promise nothing' sh -c '! grep -q "counts are as sampled" out'
done
precise 5003
check 'a prime: they are right' json 'd["eps_raw"] < 0.03 and all(f["status"] == "raw" for f in d["functions"] if f["raw"])'
check 'the truth is in the intervals' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["truth"] > 1e5)'
finish
