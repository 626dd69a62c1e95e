#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# perf reads what we write, and finds in it what must be there.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v perf >/dev/null || { echo 'skip: no perf'; exit 77; }

build loop <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(void) { printf("%u\n", hot(40000000)); return 0; }
C
"$SKIDPROF" record --pmu sim -o l.data ./loop >/dev/null 2>err
head -1 err | grep -q 'simulated core'
ok $? 'the first line says that the core is simulated'
perf report -i l.data --stdio >rep 2>rep.err
ok $? 'perf report succeeds'
check 'perf report does not complain' test ! -s rep.err
sed 's/^/# /' rep.err
check 'perf report finds the function' grep -q hot rep
perf report -i l.data --header-only >hdr 2>&1
check 'the header names the core' grep -q 'cpudesc : simulated core .* (skidsim)' hdr
check 'the header has a cpuid' grep -q 'cpuid : skidsim,' hdr
check 'the header has the command line' grep -q 'cmdline : .*loop' hdr
check 'the header names the events' grep -q 'taken-branches' hdr
perf script -i l.data -F pid,tid,time,event,ip,sym,period >scr 2>scr.err
ok $? 'perf script succeeds'
check 'perf script does not complain' test ! -s scr.err
check 'samples are in the hot loop' grep -q hot scr
perf script -i l.data -F ip,brstack 2>/dev/null | grep -qE '0x[0-9a-f]+/0x[0-9a-f]+/[PM]'
ok $? 'branch records are there'
perf annotate -i l.data --stdio -s hot >ann 2>&1
check 'perf annotate shows the loop' grep -qE 'shr .*0x3' ann
perf buildid-list -i l.data >ids 2>/dev/null
want=$(readelf -n loop | sed -n 's/ *Build ID: //p')
check 'build ids are in the file' grep -q "$want" ids
perf script -D -i l.data 2>/dev/null | grep -c 'PERF_RECORD_SAMPLE(IP, 0x2)' >n
check 'samples are marked as user mode' test "$(cat n)" -gt 100

"$SKIDPROF" record --pmu sim -q --no-branches -o - ./loop 2>/dev/null >pipe.data
perf script -i - <pipe.data 2>/dev/null | grep -q hot
ok $? 'pipe mode on standard output'
exit 0
