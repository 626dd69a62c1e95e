#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A full disk and a closed standard output: one clear error, the program undisturbed.
set -u
. "$TOP/tests/e2e/lib200.sh"

mkdir small && mount -t tmpfs -o size=128k none small 2>/dev/null || { echo 'skip: needs a small file system (root)'; exit 77; }
trap 'umount "$SCRATCH/small"' EXIT
build loop <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(void) { printf("%u\n", hot(60000000)); return 0; }
C
./loop >want
"$SKIDPROF" record --pmu sim -q -o small/full.data ./loop >got 2>err
ok $((! ($? == 1))) 'a full disk is an error'
check 'said in one line' test "$(wc -l <err)" -eq 1
grep -q 'full.data.*No space left' err
ok $? 'that names file and cause'
sed 's/^/# /' err
check 'the program has run to its end' cmp want got
check 'what was written is readable' sh -c 'perf script -i small/full.data 2>/dev/null | grep -q hot'

head -c 262144 /dev/zero >small/fill 2>/dev/null
"$SKIDPROF" record --pmu sim -q -o small/none.data ./loop >/dev/null 2>err
ok $((! ($? == 1))) 'a disk without any room is an error, too'
check 'and nothing is called readable' grep -q 'none.data: nothing could be written.*No space left' err
rm small/fill

"$SKIDPROF" truth -q -o small/t.out ./loop >/dev/null 2>err
check 'no half truth file is left' sh -c 'test ! -e small/t.out || grep -q ^totals: small/t.out'
"$SKIDPROF" record --pmu sim -q -o c.data ./loop >&- 2>err
ok $((! ($? <= 1))) 'a closed standard output does no harm'
exit 0
