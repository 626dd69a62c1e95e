#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One period for all samples of an event; group values tell the overshoot; the same seed gives the same samples.
set -u
. "$TOP/tests/e2e/lib200.sh"

build loop <<'C'
#include <stdio.h>
#include <stdlib.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(int c, char **v) { printf("%u\n", hot((unsigned)atoi(v[c - 1]))); return 0; }
C
# raw FILE: "period value-of-instructions value-of-cycles" a sample, from perf's dump
raw()
{
	perf script -D -i "$1" 2>/dev/null | python3 -c '
import re, sys
period, values = None, []
def out():
    if period: print(period, *values[:2])
for line in sys.stdin:
    if "PERF_RECORD_SAMPLE" in line:
        out()
        period, values = re.search(r"period: (\d+)", line).group(1), []
    elif re.match(r"\.+ id [0-9a-f]+, value", line):
        values.append(int(re.search(r"value ([0-9a-f]+)", line).group(1), 16))
out()'
}
"$SKIDPROF" record --pmu sim --bursts=0 -o long.data ./loop 10000000 >/dev/null 2>long.err
raw long.data >long.raw
n=$(wc -l <long.raw)
echo "# long: $n samples; $(tail -1 long.err)"
check 'a long program has samples' test "$n" -gt 1000
check 'all at 10007' test "$(awk '{ print $1 }' long.raw | sort -u)" = 10007
# Either instructions or cycles has just passed a multiple of the period: by the skid, which is below 5000 but for one in a thousand.
awk '{ a = $2 % 10007; b = $3 % 10007; if ((a < b ? a : b) > 5000) bad++ } END { exit bad > NR / 100 }' long.raw
ok $? 'value modulo period is the overshoot'
"$SKIDPROF" record --pmu sim -o short.data ./loop 1000000 >/dev/null 2>short.err
raw short.data >short.raw
check 'a short program has samples' test "$(wc -l <short.raw)" -gt 300
"$SKIDPROF" record --pmu sim -o again.data ./loop 1000000 >/dev/null 2>again.err
raw again.data >again.raw
check 'the same seed gives the same samples' cmp short.raw again.raw
"$SKIDPROF" record --pmu sim --seed 7 -o other.data ./loop 1000000 >/dev/null 2>other.err
raw other.data >other.raw
ok $(($(cmp -s short.raw other.raw; echo $?) != 1)) 'another seed gives others'
"$SKIDPROF" record --pmu sim --bursts=0 -c 20011 -o given.data ./loop 1000000 >/dev/null 2>given.err
check '-c is obeyed' test "$(raw given.data | awk '{ print $1 }' | sort -u)" = 20011
"$SKIDPROF" record --pmu sim --bursts=0 -e instructions/30011,cycles/50021,loads -o own.data ./loop 4000000 >/dev/null 2>own.err
check 'each event can have a period of its own' test "$(raw own.data | awk '{ print $1 }' | sort -u | tr '\n' ' ')" = '30011 50021 '
"$SKIDPROF" record --pmu sim -q --seed 5 -o a.data ./loop 4000000 >/dev/null
check 'an existing file is kept as .old' test -e a.data -a ! -e a.data.old
"$SKIDPROF" record --pmu sim -q --seed 5 -o a.data ./loop 4000000 >/dev/null
check 'as perf does' test -e a.data.old
exit 0
