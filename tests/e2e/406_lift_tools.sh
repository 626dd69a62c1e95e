#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The tools of our own on a kernel: on this processor, on the simulated core by blocks and as a whole; and the page.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
export XDG_CACHE_HOME=$SCRATCH/cache
[ "$(uname -m)" = x86_64 ] || { echo 'skip: blocks are run on x86-64 only' && exit 77; }
# A chain of 3,000 turns; an access that crosses a cache line every time.  Both long enough to have samples in every run.
cat >k.c <<'C'
#include <stdio.h>
static char room[4096] __attribute__((aligned(4096)));
__attribute__((noipa)) long chain(long n)
{
	long s = 1;
	while (n--)
		s = s * 12345 + n;
	return s;
}
__attribute__((noipa)) long split(long n)
{
	long s = 0;
	while (n--)
		__asm__ volatile("mov 60(%1), %%rax\n\tadd %%rax, %0" : "+r"(s) : "r"(room) : "rax", "memory");
	return s;
}
__attribute__((noipa)) long quotients(long n)
{
	long s = 1;
	while (n--)
		s += 1000000000000000 / (s | n);
	return s;
}
int main(void)
{
	long s = quotients(3000);
	for (int i = 0; i < 300; i++)
		s += chain(3000) + split(3000);
	printf("%ld\n", s);
	return 0;
}
C
gcc -O2 -g k.c -o k || exit 1
"$SKIDPROF" record -q --pmu sim -c 2003 -e cycles,instructions -o k.data --truth k.cg ./k >/dev/null || exit 1
# On a machine busy with other things a block's times may be unsteady, and the tool is out: asked again.
lift_own()
{
	for _ in 1 2 3 4 5 6; do
		status 0 "$SKIDPROF" lift -q -i k.data --method raw --truth k.cg --kernel chain --kernel split --cpu znver5 \
			--tool native --tool native-splits --tool sim --tool sim-run --format json --html page.html || return
		grep -q 'times are unsteady' out || return 0
	done
	echo '# six times: unsteady'
	return 1
}
check 'lift by our own tools' lift_own
check 'the block was run' json 'all(k["native-splits_cycles"] > 0 for k in d["kernels"])'
check 'an access across lines puts native out' json '[k["kernel"] for k in d["kernels"] if k["native_cycles"] is None] == ["split"]'
check 'and the block says so' json '[b for k in d["kernels"] if k["kernel"] == "split" for b in k["blocks"] if "cross the end of a cache line" in (b["note"] or "")]'
# imul and add: four cycles a turn on the zen5 core, whose cycles these are; start and end of 3,000 turns take a few more.
check 'the core by blocks says four cycles a turn' json \
	'[k for k in d["kernels"] if k["kernel"] == "chain" and abs(k["sim_cycles"] / (4 * 3000 * 300) - 1) < 0.05]'
check 'and as a whole the same' json \
	'[k for k in d["kernels"] if k["kernel"] == "chain" and abs(k["sim-run_cycles"] / k["sim_cycles"] - 1) < 0.05]'
# But native is out for one kernel, and sim-run's cycles are those it would be held against.
check 'sim-run is not held against itself' json 'all(k["sim-run_error"] is None and k["sim_error"] is not None for k in d["kernels"])'
check 'the page has a point for each tool and kernel' test "$(grep -c '<circle' page.html)" = 5
check 'and needs nothing from outside' sh -c '! grep -qE "https?:|<script|src=" page.html'
check 'without a draft left' test ! -e page.html.part
check 'a division, of numbers of its own' status 0 "$SKIDPROF" lift -q --truth k.cg --kernel quotients --tool native --format json
check 'is noted' json '"native divides other numbers" in d["kernels"][0]["note"]'
check 'sim-run without a recording' status 0 "$SKIDPROF" lift -q --truth k.cg --kernel chain --tool sim-run --format json
check 'says what it needs' json 'd["kernels"][0]["sim-run_cycles"] is None'
check 'a core file that is not there' status 2 "$SKIDPROF" lift -q --truth k.cg --kernel chain --tool sim --core zen55
check 'gets a suggestion' one_line "did you mean 'zen5'"
finish
