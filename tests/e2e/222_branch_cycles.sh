#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cycles in branch records (eq. 11): written for a core that has them, kept by the readers, said by the report; none for
# a core that has not.
set -u
. "$TOP/tests/e2e/lib200.sh"

build ways <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned slow(unsigned a) { return a / 7 % 1000003 / 3 + 1; }
static __attribute__((noipa)) unsigned fast(unsigned a) { return a * 5 + 1; }
int main(void) { unsigned s = 1; for (unsigned i = 0; i < 1500000; i++) s = s >> 9 & 1 ? slow(s * 2654435761u) : fast(s); printf("%u\n", s); return 0; }
C
meta() # FILE KEY
{
	"$SKIDPROF" report --format json -i "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["meta"][sys.argv[1]])' "$2"
}
for core in skylake zen5; do
	"$SKIDPROF" record -q --pmu sim -b --core $core -o $core.data --truth $core.truth ./ways >/dev/null
	"$SKIDPROF" report --fixed -i $core.data >$core.out
done
has() { grep -q "$2" "$1"; }
lacks() { ! grep -q "$2" "$1"; }
check 'a core with cycles: said' has skylake.out 'branch records: yes, with cycles$'
check 'a core with cycles: in JSON' test "$(meta skylake.data branch_cycles)" = True
check 'a core without: not said' lacks zen5.out 'with cycles'
check 'a core without: in JSON' test "$(meta zen5.data branch_cycles)" = False
# Two functions, one flow free: what is left is the noise of the totals.
eps=$("$SKIDPROF" compare -i skylake.data --truth skylake.truth --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["eps_fixed"])')
echo "# eps $eps"
check 'and the counts are right' awk -v e="$eps" 'BEGIN { exit !(e < 0.01) }'
"$SKIDPROF" report --fixed -i skylake.data >again.out
check 'same file, same bits' cmp -s skylake.out again.out

# Cycles alone, and a loop of too few stacks for a pace of its own (eq. 10): it borrows the other's, five times what it has.
build lend <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned slow(unsigned a) { return a / 7 % 1000003 / 3 + 1; }
static __attribute__((noipa)) unsigned fast(unsigned a) { return a * 5 + 1; }
int main(void)
{
	unsigned s = 1;
	for (unsigned i = 0; i < 3000000; i++) s = fast(i);
	for (unsigned i = 0; i < 24000; i++) s = slow(s | 1u << 31);
	printf("%u\n", s);
	return 0;
}
C
"$SKIDPROF" record -q --pmu sim -b --core skylake -e cycles/20011 -o lend.data --truth lend.truth ./lend >/dev/null
"$SKIDPROF" compare -i lend.data --truth lend.truth --format json | python3 -c '
import json, sys
for f in json.load(sys.stdin)["functions"]:
    if f["name"] in ("fast", "slow"):
        print(f["name"], f["status"], f["inside"], abs(f["fixed_err"]) < 0.05)' >lend.rows
sed 's/^/# /' lend.rows
check 'what has stacks enough is near, and no total told by records is fixed' grep -qx 'fast weak True True' lend.rows
check 'what borrows its pace is not, and its interval says so' grep -q 'slow weak True' lend.rows
exit 0
