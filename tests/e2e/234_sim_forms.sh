#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What plain `perf record` writes on real machines, recorded on the simulated core, each held against the exact counts of the
# same run: events by themselves that take turns at a rate, precise events, filtered branch records, the kernel's share,
# throttling, interrupts that are taken between instructions, a record that lacks a branch.
set -u
. "$TOP/tests/e2e/lib200.sh"
build forms <<'C'
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) unsigned leaf(unsigned x) { return x * 7 + 3; }
__attribute__((noipa)) unsigned middle(unsigned x) { return leaf(x) ^ leaf(x + 1); }
__attribute__((noipa)) unsigned divide(unsigned n, unsigned s) { while (n--) s = 4000000007u / (s | 1) + n; return s; }
int main(void)
{
	unsigned s = 1;
	for (unsigned i = 0; i < 3000; i++) {
		s += divide(100, s);
		for (unsigned k = 0; k < 100; k++)
			s += middle(s);
		if (i % 10 == 0)
			getppid();
	}
	printf("%u\n", s);
	return 0;
}
C
cores=$TOP/profiler/sim/cores
# A core as Intel's are seen to be: its record lacks branches, system calls take time.
intel() { sed '/^branch_gap_percent/d; /^branch_freeze_cyc/d; /^interrupt_retires/d; /^syscall_/d' "$cores/skylake.core"; }
{ intel && printf '%s\n' 'interrupt_retires 1' 'branch_gap_percent 25' 'syscall_cyc 4000' 'syscall_insns 3000'; } >intel.core
{ intel && printf '%s\n' 'interrupt_retires 0' 'branch_gap_percent 0'; } >before.core
sim() { "$SKIDPROF" record -q --pmu sim "$@" -- ./forms >/dev/null; }

form() { python3 "$TOP/tests/e2e/forms.py" "$@"; }
"$SKIDPROF" truth -q -o t.cg -- ./forms >/dev/null

# Seven events on a core of four counters, and two fixed ones: Linux's turns leave instructions out of one in seven.
sim --core ./before.core --plain -F 300000 -e cycles,instructions,branches,loads,stores,calls,cond-branches -o plain.data
check 'plain, -F, seven events: instructions are counted in six turns of seven' form turns plain.data instructions 0.857
check 'plain: an event is silent for a turn while others have samples' form silent plain.data loads 20000
check 'plain: no values are read' test -z "$(perf script -i plain.data --header-only 2>/dev/null | grep 'SAMPLE_READ\||READ')"
sim --core ./before.core --plain -c 3001 -e instructions:uppp -o ppp.data
check 'precise, ppp: shares are exact' form exact_shares ppp.data 0.03
sim --core ./before.core --plain -c 1009 -e instructions -o raw.data
check 'without precision they are not' form far_shares raw.data 0.2
sim --core zen5 --plain -c 3001 -e instructions:up -o ibs.data
check 'IBS, by dispatched operations: shares are exact' form exact_shares ibs.data 0.03
sim --core zen5 --plain -c 1009 -e cycles:up -o ibs.data
check 'IBS, by cycles: they are not' form far_shares ibs.data 0.2

# Where the division waits there are 9 of 10 cycles; what is behind it retires with it on, or is next.
sim --core ./before.core --plain -c 1009 --no-branches -e cycles:upp -o pp.data
check 'cycles:pp: on the division' form divisions pp.data 0.5-1 0-0.3
sim --core ./before.core --plain -c 1009 --no-branches -e cycles:up -o p.data
check 'cycles:p: on the instruction behind it' form divisions p.data 0-0.3 0.5-1
sim --core ./intel.core --plain -c 1009 --no-branches -e cycles -o between.data
check 'interrupts between instructions: never on the division' form divisions between.data 0-0.05 0-1

# Filters of the branch record.
sim --core ./before.core -e cycles -c 2003 --bursts 0 -j any_call -o call.data && check '-j any_call' form only call.data call
sim --core ./before.core -e cycles -c 2003 --bursts 0 -j any_ret,any_call -o ret.data && check '-j any_ret,any_call' form only ret.data call ret
sim --core ./before.core -e cycles -c 2003 --bursts 0 -j cond -o cond.data && check '-j cond' form only cond.data cond
sim --core ./before.core -e cycles -c 2003 --bursts 0 -j stack -o stack.data && check '-j stack' form call_stack stack.data
sim --core ./before.core -e cycles -c 2003 -b -o any.data
check 'a record of all has no gaps' form gaps any.data 0 0
sim --core ./intel.core -e cycles -c 2003 -b -o gap.data
check 'a quarter lack the branch before the newest' form gaps gap.data 0.2 0.3

# Two kinds of core: a PMU each.
sim --core ./before.core,zen5 -e cycles,instructions -c 5003 --no-branches --bursts 0 --rotate 0 -o hybrid.data
check 'hybrid: each kind of core has its events' form hybrid hybrid.data
sim --core ./before.core,zen5 --plain -e cycles,instructions -F 300000 --no-branches -o hybrid.data
check 'hybrid, plain, -F' form hybrid hybrid.data

# 300 calls of getppid, number 110, 4000 cycles each.
sim --core ./intel.core -e cycles:uk -c 1009 --no-branches -o kernel.data
check 'the time in the kernel' form kernel kernel.data 110 1200000
check 'a core where calls take no time refuses' test "$("$SKIDPROF" record -q --pmu sim -o x.data -e cycles:uk ./forms 2>&1 >/dev/null | grep -c syscall_cyc)" -eq 1

# 100 samples in each tick of 4 ms and one more; the program takes less.
sim --core ./before.core -e cycles -c 1009 --no-branches --max-rate 25000 -o throttle.data
check 'an event that comes too often is throttled' form stats throttle.data THROTTLE 1
check 'and has no more samples' form stats throttle.data SAMPLE 101

# Cores as real ones, and files that are like another.
sim --core skylake-real --plain -c 1009 --no-branches -e cycles -o real.data
check 'skylake-real: behind the division, hardly on it' form divisions real.data 0-0.12 0.6-1
sim --core zen5-real --plain -c 1009 --no-branches -e cycles -o real.data
check 'zen5-real: behind the division, hardly on it' form divisions real.data 0-0.12 0.6-1
refused() # WORDS TEXT: of a core file
{
	printf '%b' "$2" >odd.core
	"$SKIDPROF" record -q --pmu sim --core ./odd.core -o odd.data ./forms >/dev/null 2>err
	[ $? -ne 0 ] && grep -qF -- "$1" err
}
check 'like a core that is like another is refused' refused 'like skylake-real: that core is like another' 'like skylake-real\n'
check 'like a core that is not there is refused' refused "no core 'none'" '# first\n like none\n'
check 'an error is at the line of the file itself' refused 'line 3: "robb" is no key' '# first\nlike zen5\nrobb 4\n'
check 'an odd value is refused' refused 'line 2: "9" is too large' 'like zen5\ninterrupt_retires 9\n'

# The same seed, the same samples.
for k in 1 2 3; do
	# On one processor the plugin times what ran by itself, else in a thread of its own.
	[ $k = 3 ] && taskset -cp "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" $$ >/dev/null
	sim --core ./intel.core --plain -F 300000 -b -e cycles:upp,instructions,branches,loads,stores --seed 7 -o same.data
	perf script -i same.data --ns -F time,event,period,ip,brstack 2>/dev/null >same.$k
done
check 'the same seed gives the same samples' cmp -s same.1 same.2
check 'on one processor too' cmp -s same.1 same.3
check 'which are some' test -s same.1
exit 0
