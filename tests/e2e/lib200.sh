# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Sourced by the tests of recording: TAP, and small programs to record.
n_tests=0
ok() # STATUS NAME
{
	n_tests=$((n_tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n_tests - $2"
	else
		echo "not ok $n_tests - $2"
	fi
}
check() # NAME COMMAND...
{
	local name=$1
	shift
	"$@"
	ok $? "$name"
}
# A program: build NAME FLAGS... <source
build()
{
	local name=$1
	shift
	gcc -x c -O2 -g - -o "$SCRATCH/$name" "$@"
}
# ./deny CALL ERRNO COMMAND...: that system call (perf or ptrace) fails with it, as under a container's filter; 77 where there
# are no such filters.
build_deny()
{
	build deny <<'C'
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	unsigned call = strcmp(argv[1], "perf") ? SYS_ptrace : SYS_perf_event_open;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[2])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { 4, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 77;
	execvp(argv[3], argv + 3);
	return 1;
}
C
}
# near A B PERCENT: |A - B| <= PERCENT of B
near() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b > 0 && d <= b * p / 100) }'; }
# total FILE EVENT: the event's sum over the samples of a file, as perf reads it.
total() { perf script -i "$1" -F event,period 2>/dev/null | awk -v e="$2:" '{ sub(/:u?:?$/, ":", $2); sub(/:.*$/, ":", $2) } $2 == e { n += $1 } END { printf "%d\n", n }'; }
# wait_until COMMAND...: until it succeeds.  The limit is for what will never come, not for a busy machine.
wait_until()
{
	local end=$((SECONDS + 300))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "# waited five minutes in vain: $*"
			return 1
		fi
		sleep 0.05
	done
}
larger() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]; } # FILE BYTES
# A process that has ended is a zombie until its parent gets to it, and init may never do.
runs() { grep -qs '^State:.[^ZX]' "/proc/$1/status"; } # PID
ended() { ! runs "$1"; }
cd "$SCRATCH" || exit 1
