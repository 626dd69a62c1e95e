#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Precise samples have no skid: what the counters read when the interrupt came does not tell one.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

three_programs
{ sed '/^[[:space:]]*skid[[:space:]]/d' "$TOP/profiler/sim/cores/skylake.core" && echo 'skid 0 1 1'; } >none.core
check 'it is recorded without skid' status 0 "$SKIDPROF" record --pmu sim -q --no-branches --bursts 0 -e cycles,instructions \
	--core none.core -o three.data --truth three.truth ./three
for how in 'precise=2 there=three.truth' 'precise=2 read there=three.truth' 'precise=3 freq there=three.truth' \
	'precise=1 cpuid=GenuineIntel,6,85,4 there=three.truth'; do
	# shellcheck disable=SC2086
	plain events=cycles,instructions $how
	check "$how: it is compared" status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
	eps_of >with
	echo "# in the wrong function $(cat with)"
	check 'it is no worse than raw' json 'd["eps_fixed"] <= d["eps_raw"] + 0.002'
	check 'the truth is in the intervals' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5)'
	check 'it is reported' status 0 "$SKIDPROF" report -i plain.data --format json
	check 'S is that of precise samples' json 'd["meta"]["skid"]["source"] == "precise" and d["meta"]["skid"]["median_cyc"] == 0'
done
# Only chance is wrong with them: the interval is of that, and the words are those of what was sampled.
plain events=cycles,instructions precise=3 there=three.truth
check 'precise samples are compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'they are as sampled' json 'all(f["fixed"] == f["raw"] for f in d["functions"])'
check 'raw' json 'all(f["status"] == "raw" for f in d["functions"] if f["raw"])'
check 'with an interval that has the truth' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["truth"] > 1e5)'
check 'why is said' status 0 "$SKIDPROF" report -i plain.data --why main
check 'in a sentence' has out 'its samples were seen where they were caused'
check 'lines have intervals, too' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --by line --format json
check 'of chance' json 'all(f["lo"] is not None and f["lo"] <= f["fixed"] <= f["hi"] for f in d["lines"] if f["raw"])'
plain events=cycles,instructions precise=1 cpuid=GenuineIntel,6,85,4
check 'the shadow of PEBS is warned of' status 0 "$SKIDPROF" report -i plain.data
check 'in the first lines' grep -q '^# precise samples of this kind have a shadow' out
check 'such samples are compared' status 0 "$SKIDPROF" compare -i plain.data --truth three.truth --format json
check 'what is corrected has the truth in its intervals' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["lo"] is not None and f["truth"] > 1e5)'
check 'and is fixed in no function' json 'all(f["status"] != "fixed" for f in d["functions"])'
plain events=cycles,instructions precise=2 cpuid=AuthenticAMD,25,1,1
check 'of other precise samples' status 0 "$SKIDPROF" report -i plain.data
check 'it is not' sh -c '! grep -q shadow out'
check '--skid is believed all the same' status 0 "$SKIDPROF" report -i plain.data --skid 300 --format json
check 'and said' json 'd["meta"]["skid"]["source"] == "given"'

# Where the flow of the code is as unsure as they are off they stay, with a shadow or none: nothing gets worse.
check 'samples with a shadow are recorded' status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 --core skylake \
	-e cycles,instructions:upp -o shadow.data --truth shadow.truth ./three
check 'and compared' status 0 "$SKIDPROF" compare -i shadow.data --truth shadow.truth --format json
check 'they are no worse than raw' json 'd["eps_fixed"] <= d["eps_raw"] + 0.002'
check 'the truth is in the intervals' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["truth"] > 1e5 and f["lo"] is not None)'
check 'and nothing is fixed' json 'all(f["status"] != "fixed" for f in d["functions"])'

# Loops whose trips the code itself tells: there the flow says what the shadow moved.
cat >counted.c <<'END'
#include <stdint.h>
#include <stdio.h>

__attribute__((noinline)) static uint64_t divide(uint64_t x)
{
	for (int i = 0; i < 7; i++)
		x = x / (i + 3) + 0x9e3779b97f4a7c15ull;
	return x;
}

__attribute__((noinline)) static uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 23; i++)
		x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull + i;
	return x;
}

int main(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 30000; i++)
		x += divide(x) ^ mix(x);
	printf("%ju\n", (uintmax_t)x);
	return 0;
}
END
gcc -O2 -fno-unroll-loops -g counted.c -o counted
for shadow in 0 8; do
	{ sed '/^precise_shadow_cyc/d' "$TOP/profiler/sim/cores/skylake.core" && echo "precise_shadow_cyc $shadow"; } >shadow.core
	check "counted loops are recorded, a shadow of $shadow" status 0 "$SKIDPROF" record --pmu sim -q --plain --no-branches --bursts 0 \
		-c 2003 --core shadow.core -e cycles,instructions:upp -o counted.data --truth counted.truth ./counted
	check 'and compared' status 0 "$SKIDPROF" compare -i counted.data --truth counted.truth --format json
	check 'they are no worse than raw' json 'd["eps_fixed"] <= d["eps_raw"] + 0.002'
	check 'the truth is in the intervals' json 'all(f["lo"] <= f["truth"] <= f["hi"] for f in d["functions"] if f["truth"] > 1e5 and f["lo"] is not None)'
done
check 'what the shadow moved is moved back' json 'd["eps_raw"] > 0.05 and d["eps_fixed"] < 0.01'
finish
