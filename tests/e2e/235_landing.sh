#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# tests/stat/landing.py says of a recording where samples land: held against two cores that differ in nothing but how they take
# interrupts, and one whose branch records have gaps.  Where real files are at hand, it must read them.
set -u
. "$TOP/tests/e2e/lib200.sh"
build slow <<'C'
#include <stdio.h>
__attribute__((noipa)) unsigned leaf(unsigned x) { return x * 7 + 3; }
int main(void)
{
	unsigned s = 1;
	for (unsigned i = 0; i < 200000; i++)
		s = leaf(4000000007u / (s | 1)) + (s & 8 ? leaf(s) : i);
	printf("%u\n", s);
	return 0;
}
C
core() # RETIRES GAP: a core file
{
	sed '/^interrupt_retires/d; /^branch_gap/d; /^branch_freeze/d' "$TOP/profiler/sim/cores/skylake.core"
	printf '%s\n' "interrupt_retires $1" "branch_gap_percent $2"
}
core 0 0 >a.core && core 1 25 >b.core
for k in a b; do
	"$SKIDPROF" record -q --pmu sim -b --bursts 0 -e cycles -c 2003 --core ./$k.core --truth $k.cg -o $k.data ./slow >/dev/null
done
python3 "$TOP/tests/stat/landing.py" --truth a.cg --blocks a.data b.data >table
sed 's/^/# /' table
# row NAME COLUMN LOW HIGH: the number there
row() { awk -v name="$1" -v k="$2" -v lo="$3" -v hi="$4" 'index($0, name) == 1 { v = substr($0, length(name) + 1); n = split(v, f); x = f[k]; sub(/%/, "", x); found = x != "-" && x + 0 >= lo && x + 0 <= hi } END { exit !found }' table; }
check 'all code is found' row 'in code that is here' 1 99.9 100
check 'without retirement the division is hit' row 'on a division or root' 1 50 100
check 'with it hardly ever, for only another group may end just before it' row 'on a division or root' 2 0 8
check 'what is behind it is' row 'within 8 instructions behind one' 2 60 100
check 'a whole record has no gap' row 'a branch is missing behind the newest record' 1 0 0
check 'a gap in a quarter is seen' row 'a branch is missing behind the newest record' 2 15 30
check 'in the newest only' row 'the same, older records' 2 0 0
check 'S is read from the values' grep -qE '^S, cycles every 2003: 10, 50, 90% +3[0-9]{2} 3[0-9]{2} 6[0-9]{2} ' table
check 'costs come from the exact counts' row 'cost of an instruction by block, sd of log' 1 0.3 3
check 'a block is shown by instruction' grep -q '^ *[0-9.]*%  [0-9a-f]*  div' table
real=${EXTRA_PERFDATA:-none}/leader-sampling-c750000.data
if [ -e "$real" ]; then
	python3 "$TOP/tests/stat/landing.py" "$real" >table
	check 'a real file: S is 310, 378, 646' grep -qE '^S, cycles every 750000: 10, 50, 90% +310 378 646$' table
fi
python3 "$TOP/tests/stat/landing.py" /dev/null >table 2>err
check 'what is no recording is said to be none' grep -q 'no samples' err
exit 0
