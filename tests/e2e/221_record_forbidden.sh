#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Where the kernel or a container forbids its counters, one line names the cause and the remedy.
set -u
. "$TOP/tests/e2e/lib200.sh"

# deny ERRNO COMMAND...: perf_event_open fails with it, as under a container's filter.
build deny <<'C'
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { 4, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 77;
	execvp(argv[2], argv + 2);
	return 1;
}
C
./deny 1 true
[ $? -ne 77 ] || { echo 'skip: no seccomp filters here'; exit 77; }
# cause NAME ERRNO PATTERN
cause()
{
	./deny "$2" "$SKIDPROF" record --pmu hardware -e page-faults -o x.data true >out 2>&1
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
	./deny $error "$SKIDPROF" record --pmu hardware -e cycles -o x.data true >out 2>&1
	check "errno $error: there is no PMU" grep -qE 'cycles.*no PMU' out
done
# The simulated core needs nothing of the kernel's.
./deny 1 "$SKIDPROF" record --pmu sim -o x.data true >out 2>&1
check 'the simulated core works all the same' test $? -eq 0
exit 0
