#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bursts of the simulated core, beside its counters and in place of branch records: what perf sees of them, and what they
# tell of a loop whose flows no total settles.
set -u
. "$TOP/tests/e2e/lib200.sh"

# Eight ways of much the same instructions, taken unequally often, and a system call now and then.
build ways <<'C'
#include <stdio.h>
#include <unistd.h>
#define WAY(n) static __attribute__((noipa)) unsigned way##n(unsigned a) { return (a * 5 + n) ^ a >> 3; }
WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)
static unsigned (*const way[])(unsigned) = { way0, way1, way2, way3, way4, way5, way6, way7 };
int main(void)
{
	unsigned s = 1;

	for (unsigned i = 0; i < 1500000; i++) {
		s = s * 1664525 + 1013904223;
		s ^= way[(s >> 29) & (s >> 26) & 7](s) & 1;
		if (i % 50000 == 0)
			s += getppid() < 0;
	}
	printf("%u\n", s);
	return 0;
}
C
record=("$SKIDPROF" record --pmu sim --no-branches -e "instructions,cycles,branches,calls")
"${record[@]}" --bursts 30000 -o with.data --truth with.truth ./ways >/dev/null 2>err || { cat err; exit 1; }
"${record[@]}" --bursts 30000 -o again.data --truth again.truth ./ways >/dev/null 2>&1
"${record[@]}" -q -o without.data --truth without.truth ./ways >/dev/null
field() # FILE EXPRESSION: of the comparison d
{
	"$SKIDPROF" compare --format json -i "$1.data" --truth "$1.truth" | python3 -c '
import json, sys
d = json.load(sys.stdin)
worst = max(abs(f["fixed_err"]) for f in d["functions"] if f["truth_share"] >= 0.01)
print(eval(sys.argv[1]))' "$2"
}
bursts=$(sed -n 's/^skidprof: \([0-9]*\) bursts of \([0-9]*\) branches$/\1/p' err)
echo "# ${bursts:-no} bursts; worst $(field with worst), without $(field without worst)"
check 'it says how many there were' test "${bursts:-0}" -gt 50
check 'and the report does' sh -c '"$SKIDPROF" report -i with.data | grep -q "branch records: no, bursts instead$"'
check 'and JSON' sh -c '"$SKIDPROF" report --format json -i with.data | python3 -c "
import json, sys
m = json.load(sys.stdin)[\"meta\"]
raise SystemExit(not (m[\"bursts\"] == int(sys.argv[1]) and not m[\"branch_records\"] and not m[\"instructions_relative\"]))" '"${bursts:-0}"
check 'without a rate there are none' sh -c '"$SKIDPROF" report -i without.data | grep -q "branch records: no$"'
for name in with again; do perf script -G -i $name.data -F event,ip,brstack >$name.txt 2>/dev/null; done
check 'the same seed, the same samples' cmp -s with.txt again.txt
sed -n '/bursts/p' with.txt >stacks
check 'perf shows them' test "$(wc -l <stacks)" = "$bursts"
check 'each branch follows from the one before' python3 -c '
import sys
n = 0
for line in open("stacks"):
    b = [[int(x, 16) for x in e.split("/")[:2]] for e in line.split()[2:]]
    n += len(b)
    # Newest first; straight code between a target and the next source.
    assert len(b) <= 1000 and all(0 <= x[0] - y[1] < 4096 for x, y in zip(b, b[1:])), line[:200]
raise SystemExit(n < 900 * int(sys.argv[1]))' "${bursts:-1}"
# way7 is reached once in 64 turns, way0 in 27 of 64; nothing that was counted tells them apart.
field without worst >worst
check 'bursts settle what the totals leave open' test "$(field with 'worst < 0.25 and worst < 0.5 * float(open("worst").read())')" = True
check 'and why says how it is known' sh -c '"$SKIDPROF" report -i with.data --why way0 | grep -q "branches: branch records or bursts"'
"$SKIDPROF" record -q --pmu clock --bursts 20000 -o no.data true 2>no.err
status=$?
check 'a thread that exists is not stopped so often' test $status -eq 2 -a "$(grep -c 'at most 10000 a second' no.err)" = 1
"$SKIDPROF" record --pmu sim --bursts 30000 --burst-length 37 -o few.data ./ways >/dev/null 2>few.err
check 'they are as long as was asked for' grep -qE 'bursts of 3[67] branches' few.err
# Those that the end or a system call cuts take the mean below 1,000: of 300 turns each there is one to 50,000 turns.
# Nothing said of bursts: they come beside records or take their place, as beside real counters.
default() # NAME WANTED OPTION...
{
	local name=$1 wanted=$2
	shift 2
	"$SKIDPROF" record --pmu sim -o default.data "$@" ./ways >/dev/null 2>err
	check "$name" sh -c 'if grep -qE "bursts of (9[0-9][0-9]|1000) branches" err; then
		grep "^skidprof: .*taking bursts" err
	else
		echo none
	fi | grep -q "$1"' sh "$wanted"
}
default 'by default there are bursts beside records without cycles' 'taking bursts as well: branch records'
default 'and beside records with cycles' 'taking bursts as well: branch records' --core skylake
default 'those of a core without records take their place' 'no branch records here; taking bursts instead' --core cortex-a76
default 'none without branches' none --no-branches
default 'none if that is said' none --bursts=0
exit 0
