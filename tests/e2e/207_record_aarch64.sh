#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A static aarch64 program, recorded and counted through qemu-aarch64.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v aarch64-linux-gnu-gcc >/dev/null || { echo 'skip: no aarch64 compiler'; exit 77; }

cat >a.c <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(void) { printf("%u\n", hot(20000000)); return 0; }
C
aarch64-linux-gnu-gcc -O2 -g -static a.c -o a64 || exit 1
aarch64-linux-gnu-gcc -O2 -g a.c -o a64dyn || exit 1
qemu-aarch64 ./a64 >want
"$SKIDPROF" record --pmu sim -o a.data --truth a.out ./a64 >got 2>err
ok $? 'recording succeeds'
check 'the output is unchanged' cmp want got
check 'the core is an Arm one' grep -q 'cortex' err
check 'perf reads it' sh -c 'perf report -i a.data --stdio 2>/dev/null | grep -q hot'
check 'the header has the architecture' sh -c 'perf report -i a.data --header-only 2>/dev/null | grep -q "arch : aarch64"'
n=$(callgrind_annotate a.out | grep -E ':hot( |$)' | awk '{ gsub(",", "", $1); print $1 }')
echo "# hot: $n instructions"
check 'hot has a whole number of rounds' test "${n:-0}" -ge 60000000
"$SKIDPROF" record --pmu sim -q -o d.data ./a64dyn >got 2>err
ok $? 'a dynamic program finds its libraries in the cross compiler'"'"'s folder'
check 'with the same output' cmp want got
exit 0
