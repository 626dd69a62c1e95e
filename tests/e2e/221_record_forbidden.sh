#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Where the kernel or a container forbids its counters, one line names the cause and the remedy.
set -u
. "$TOP/tests/e2e/lib200.sh"

build_deny
./deny perf 1 true
[ $? -ne 77 ] || { echo 'skip: no seccomp filters here'; exit 77; }
# cause NAME ERRNO PATTERN
cause()
{
	./deny perf "$2" "$SKIDPROF" record --pmu hardware -e page-faults -o x.data true >out 2>&1
	check "$1: it fails" test $? -eq 1
	check "$1: the cause is named" grep -qE "$3" out
	check "$1: once" test "$(grep -c -E "$3" out)" -eq 1
	check "$1: no file is left" test ! -e x.data
}
cause 'EPERM by a filter' 1 "container's seccomp filter; start it with --cap-add PERFMON"
cause 'ENOSYS' 38 'no perf_event_open, or a container'
cause 'EBUSY' 16 'counters are taken, by the NMI watchdog'
cause 'ENOENT' 2 'this kernel has no such event'
cause 'EMFILE' 24 'out of descriptors.*ulimit -n'
for error in 2 6 19 95; do
	./deny perf $error "$SKIDPROF" record --pmu hardware -e cycles -o x.data true >out 2>&1
	check "errno $error: there is no PMU" grep -qE 'cycles.*no PMU' out
done
# The simulated core needs nothing of the kernel's.
./deny perf 1 "$SKIDPROF" record --pmu sim -o x.data true >out 2>&1
check 'the simulated core works all the same' test $? -eq 0
exit 0
