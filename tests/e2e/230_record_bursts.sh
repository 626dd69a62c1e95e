#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bursts: a program under them does what it does without, and is let go whatever happens to the recorder.
set -u
. "$TOP/tests/e2e/lib200.sh"
"$SKIDPROF" record -q --pmu clock --bursts 0 -o probe.data true 2>probe.err || {
	echo "no clock events here: $(head -1 probe.err)"
	exit 77
}
burst=("$SKIDPROF" record --pmu clock --bursts 3000 --burst-budget 1000)

# Everything that a tracer could spoil, in turns: each prints what it saw.
build busy -pthread <<'END' || exit 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t traps, alarms, users;
static unsigned long work(unsigned long n);
/* SIGTRAP is blocked in here, and must stay caught when a burst comes. */
static void on_trap(int s) { work(20000); traps += s == SIGTRAP; }
static void on_alarm(int s) { (void)s; alarms++; }
static void on_user(int s) { (void)s; users++; }

static unsigned long work(unsigned long n)
{
	volatile unsigned long x = 1;
	for (unsigned long i = 0; i < n; i++)
		x = x * 5 + (x >> 7 & i);
	return x;
}

/* The trap flag must not be seen, nor carried over into the program's own flags. */
static int flags_are_clean(void)
{
	unsigned long bad = 0;
#ifdef __x86_64__
	for (long i = 0; i < 3000000; i++) {
		unsigned long f;
		__asm__ volatile("pushfq\n\tpopq %0\n\tpushq %0\n\tpopfq" : "=r"(f)::"cc");
		bad |= f & 0x100;
	}
#endif
	return bad == 0;
}

static void *thread(void *arg)
{
	for (int i = 0; i < 100; i++) {
		work(100000);
		pthread_testcancel();
	}
	return arg;
}

/* epoll_wait answers a stop by EINTR; none may be seen where no handler ran. */
static int sleeps(void)
{
	int fd = epoll_create1(0), bad = 0;
	struct epoll_event e;
	for (int i = 0; i < 400; i++) {
		struct timespec t = { 0, 200000 };
		bad += epoll_wait(fd, &e, 1, 1) < 0;
		bad += nanosleep(&t, NULL) < 0;
		work(20000);
	}
	return bad;
}

/*
 * Counts of each CPU's own, in a restartable sequence of some length: who is stopped in it begins again, and nothing is
 * counted twice.
 */
static unsigned long counts[4096];
#if defined(__x86_64__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
static int count_here(char *rseq, unsigned cpu)
{
	__asm__ goto(".pushsection rseq_sequences, \"aw\"\n\t.balign 32\n3:\t.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t"
		     ".popsection\n\tleaq 3b(%%rip), %%rax\n\tmovq %%rax, 8(%0)\n"
		     "1:\tcmpl %1, 4(%0)\n\tjne %l[again]\n\tmovl $200, %%ecx\n5:\tdecl %%ecx\n\tjnz 5b\n\t"
		     "incq (%2)\n2:\n\t.pushsection rseq_ends, \"ax\"\n\t.byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"
		     "4:\tjmp %l[again]\n\t.popsection"
		     :
		     : "r"(rseq), "r"(cpu), "r"(&counts[cpu])
		     : "memory", "cc", "rax", "rcx"
		     : again);
	return 1;
again:
	return 0;
}

static void *counter(void *arg)
{
	char *rseq = (char *)__builtin_thread_pointer() + __rseq_offset;
	for (int n = 0; n < 100000 && __rseq_size;)
		n += count_here(rseq, *(volatile unsigned *)rseq % 4096);
	return arg;
}
#else
static void *counter(void *arg) { return arg; }
#endif

static void seccomp_on(void)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, all };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, off = { { 0, 0 }, { 0, 0 } };
	pthread_t threads[8];
	int sum = 0, status;

	if (argc > 1)
		return printf("child %lu\n", work(3000000)) < 0;
	signal(SIGTRAP, on_trap);
	signal(SIGALRM, on_alarm);
	signal(SIGUSR1, on_user);
	printf("work %lu\n", work(60000000));
	printf("flags %d\n", flags_are_clean());
	for (int i = 0; i < 400; i++) {
		work(20000);
		raise(SIGTRAP);
		kill(getpid(), SIGUSR1);
#ifdef __x86_64__
		__asm__ volatile("int3");
#else
		raise(SIGTRAP);
#endif
	}
	printf("traps %d users %d\n", traps, users);
	signal(SIGTRAP, SIG_IGN);
	for (int i = 0; i < 100; i++) {
		work(50000);
		raise(SIGTRAP);
	}
	printf("ignored\n");
	setitimer(ITIMER_REAL, &every, NULL);
	while (alarms < 20)
		work(1000);
	setitimer(ITIMER_REAL, &off, NULL);
	printf("alarms\n");
	printf("sleeps %d\n", sleeps());
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, &sum);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	printf("threads\n");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, counter, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4096; i++)
		sum += counts[i];
	printf("restartable sequences %d\n", sum);
	sum = 0;
	fflush(stdout);
	for (int i = 0; i < 5; i++) {
		pid_t pid = i % 2 ? fork() : vfork();
		if (pid == 0) {
			execl(argv[0], argv[0], "child", NULL);
			_exit(9);
		}
		waitpid(pid, &status, 0);
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
	}
	seccomp_on();
	printf("seccomp %lu sum %d\n", work(5000000), sum);
	fflush(stdout);
	raise(SIGTERM);
	return 3;
}
END
timeout 60 ./busy >want 2>want.err
want=$?
# Three times: what a tracer spoils it spoils at one moment in thousands.
for i in 1 2 3; do
	timeout 300 "${burst[@]}" -v -o busy.data ./busy >got 2>err
	got=$?
	[ "$got" -eq "$want" ] && cmp -s want got || break
done
check "a program's status is its own under bursts (killed by a signal)" test "$got" -eq "$want" -a "$got" -eq 143
check 'its output too: signals, traps, flags, timers, sleeps, threads, rseq, fork, vfork, exec, seccomp' cmp want got
[ "$got" -eq "$want" ] || sed 's/^/# /' err

build spin <<'END' || exit 1
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile unsigned long x = 1;
	pid_t pid = argc > 2 ? fork() : -1;
	if (pid > 0) {
		int status;
		ptrace(PTRACE_SEIZE, pid, 0, 0);
		waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	if (pid == 0)
		usleep(100000);
	for (unsigned long i = 0; i < strtoul(argv[1], NULL, 0); i++)
		x = x * 5 + (x >> 7 & i);
	printf("more %lu\n", x);
	return 4;
}
END
# In the file: an event of their own, stacks newest first, each branch leading to where the next one begins or before it.
timeout 120 "${burst[@]}" -o paths.data ./spin 40000000 >/dev/null 2>paths.err
check 'bursts are taken' grep -qE '[1-9][0-9]* bursts of [1-9]' paths.err
if command -v perf >/dev/null; then
	perf script -i paths.data -F event,brstack 2>/dev/null | python3 -c '
import sys, re
bad = n = 0
for line in sys.stdin:
    if "bursts" not in line: continue
    stack = [tuple(int(x, 16) for x in m) for m in re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", line)]
    for newer, older in zip(stack, stack[1:]):
        n += 1
        bad += not 0 <= newer[0] - older[1] < 4096
sys.exit(0 if n and not bad else 1)'
	ok $? 'perf reads them as branch stacks: between a branch and the next one the code runs straight on'
fi

# Nothing beyond what was asked for.
timeout 120 "${burst[@]}" --burst-length 37 -q -o few.data ./spin 200000000 >/dev/null 2>few.err
! command -v perf >/dev/null || check 'a burst has no more branches than it may' python3 -c '
import re, subprocess
text = subprocess.run(["perf", "script", "-i", "few.data", "-F", "event,brstack"], stdout=subprocess.PIPE, text=True).stdout
lengths = [len(re.findall("0x[0-9a-f]+/0x", l)) for l in text.splitlines() if "bursts" in l]
raise SystemExit(not (lengths and max(lengths) == 37))'

# Programs and threads that run already are let go as they were.
./spin 100000000000 >/dev/null & pid=$!
for how in -p -t; do
	"${burst[@]}" "$how" $pid --duration 2 -o attach.data >/dev/null 2>attach.err
	check "bursts are taken of what runs already ($how)" grep -qE '[1-9][0-9]* bursts? of [1-9]' attach.err
	check 'which runs on, and nobody traces it' sh -c 'grep -q "^State:.[RS]" /proc/$1/status && grep -qP "^TracerPid:\t0$" /proc/$1/status' sh $pid
done
kill $pid
wait $pid 2>/dev/null

# Other readers of branch records take them for such.
for tool in perf2bolt{,-16,-17,-18,-19} llvm-profgen{,-14,-15,-16,-17,-18,-19}; do
	command -v $tool >/dev/null && command -v perf >/dev/null || continue
	case $tool in
	perf2bolt*)
		# By its name it knows what it is.
		ln -sf "$(command -v $tool)" perf2bolt
		PATH=$PWD:$PATH timeout 120 perf2bolt -p paths.data -o paths.fdata ./spin >bolt.out 2>&1
		check "$tool reads all of them" sh -c 'grep -qE "read [0-9]+ samples and [1-9][0-9]+ LBR entries" bolt.out && grep -q " main " paths.fdata'
		;;
	*)
		perf script --show-mmap-events -i paths.data -F ip,brstack 2>/dev/null | awk '/MMAP/ || NF > 2' >paths.txt
		timeout 120 $tool --binary=./spin --perfscript=paths.txt --output=paths.prof --format=text >profgen.out 2>&1
		check "$tool reads all of them" grep -q '^main:' paths.prof
		;;
	esac
done

# A thread that is traced already is left to its tracer.
timeout 60 "${burst[@]}" -o traced.data ./spin 100000000 traced >traced.out 2>traced.err
check 'a traced thread stays with its tracer' test $? -eq 4
check 'and the refusal is told' grep -q 'bursts were refused' traced.err

# So is one that may not be traced, where we are not root, or can be somebody else.
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set -all)
build closed <<'END' || exit 1
#include <sys/prctl.h>
int main(void)
{
	volatile unsigned long x = 1;
	prctl(PR_SET_DUMPABLE, 0);
	for (unsigned long i = 0; i < 100000000; i++)
		x = x * 5 + (x >> 7 & i);
	return 5;
}
END
chmod a+rwx . 2>/dev/null
if "${as[@]}" test -x "$SKIDPROF" -a -x "$PWD/closed" 2>/dev/null &&
	"${as[@]}" "$SKIDPROF" record -q --pmu clock --bursts 0 -o as.data true 2>/dev/null; then
	timeout 60 "${as[@]}" "${burst[@]}" -o closed.data ./closed >/dev/null 2>closed.err
	check 'a program that is not dumpable runs to its end' test $? -eq 5
	check 'and its refusal is told in one line' test "$(grep -c 'refused.*PR_SET_DUMPABLE' closed.err)" -eq 1
else
	echo '# skip: a program that is not dumpable: nobody else can record here'
fi

# SIGKILL to the recorder, mostly in the middle of a burst: the program lives and ends as it should.
killed=0 survived=0 steppers=0 replayers=0 keepers=0 open=0
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"
RANDOM=$SEED
is_stepped() { { pgrep -P $rec -x burst-stepper >stepper && pgrep -P $rec -x spin >spinner; } || ended $rec; }
for i in $(seq 100); do
	[ $killed -lt 12 ] || break
	"${burst[@]}" -q -o "nine.data" ./spin 60000000 >"nine.$i" 2>/dev/null & rec=$!
	wait_until is_stepped
	sleep "0.$((RANDOM % 3))$((RANDOM % 10))1"
	pgrep -P "$(cat stepper)" -x skidreplay >replayer && grep -qs '^Seccomp:.[01]$' "/proc/$(cat replayer)/status" && open=$((open + 1))
	pgrep -P "$(cat stepper)" -x burst-awake >keeper
	kill -9 $rec
	wait $rec 2>/dev/null
	# On a machine that stood still the program was quicker.
	[ $? -eq 137 ] || continue
	killed=$((killed + 1))
	wait_until ended "$(cat spinner)" && grep -q more "nine.$i" && survived=$((survived + 1))
	wait_until ended "$(cat stepper)" && steppers=$((steppers + 1))
	wait_until ended "$(cat replayer)" && replayers=$((replayers + 1))
	wait_until ended "$(cat keeper)" && keepers=$((keepers + 1))
done
check 'twelve programs survive the SIGKILL of their recorders' test $killed -eq 12 -a $survived -eq 12
check 'who runs ahead is under a filter of system calls' test $open -eq 0
check 'and those who held them are gone' test $steppers -eq 12 -a $replayers -eq 12 -a $keepers -eq 12

# An event at the clock's own period would cost as much as the clock does: its samples tell moments, too.
n_events() # OPTIONS...
{
	"$SKIDPROF" record -q --pmu clock "$@" -o fds.data ./spin 60000000 >/dev/null 2>&1 & local rec=$! n=0
	wait_until eval "pgrep -P $rec -x spin >spinner || ended $rec"
	n=$(find "/proc/$rec/fd" -lname '*perf_event*' 2>/dev/null | wc -l)
	kill $rec
	wait $rec 2>/dev/null
	echo "$n"
}
with=$(n_events) without=$(n_events --bursts 0)
echo "# $with open with bursts, $without without"
check "moments take no event of their own beside the clock" test "$with" -gt 0 -a "$with" -eq "$without"
# Samples that fill a ring are not waited for.
check "but where samples are large they do" test "$(n_events -g dwarf)" -gt "$without"

# The budget: so much and no more.  A burst begins within it, whatever the machine does with the burst after that: over
# it is at most one of them.
"${burst[@]:0:4}" -v --bursts 1000 --burst-budget 5% -o b.data ./spin 400000000 >/dev/null 2>b.err
read -r held of longest < <(sed -n 's/.*bursts: held for \([0-9.]*\) ms of \([0-9.]*\) ms, the longest for \([0-9.]*\) ms/\1 \2 \3/p' b.err)
echo "# held for ${held:-?} ms of ${of:-?} ms, the longest for ${longest:-?} ms"
check 'the budget of 5% is kept' awk -v h="${held:-1}" -v c="${of:-0}" -v l="${longest:-0}" 'BEGIN { exit !(h > 0 && h <= 0.05 * c + l + 0.01) }'
# Of cheap bursts, which are many, the CPU time that they cost besides is what limits them: half a percent is for the first ones.
"${burst[@]:0:4}" -v -o b.data ./spin 200000000 >/dev/null 2>b.err
of=$(sed -n 's/.*bursts: held for [0-9.]* ms of \([0-9.]*\) ms.*/\1/p' b.err)
work=$(sed -n 's/.*bursts: stops, and half of our work beside them, took \([0-9.]*\) ms.*/\1/p' b.err)
echo "# stops and work took ${work:-?} ms of ${of:-?} ms"
check 'and what bursts cost besides is kept as well' awk -v w="${work:-1e9}" -v c="${of:-0}" 'BEGIN { exit !(w > 0 && w <= 0.025 * c + 5) }'

# One short process after another, each of which writes two thousand pages of its own.
build pages <<'END' || exit 1
static char a[2000][4096];
int main(void)
{
	unsigned long x = 88172645463325252;
	for (int i = 0; i < 3000000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		a[x % 2000][x % 4093]++;
	}
	return 0;
}
END
timeout -k 5 60 "${burst[@]}" -q -o pages.data sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ./pages; done' 2>/dev/null
check 'pages of processes that have ended are forgotten' test $? -eq 0

# A jump through a register that leads to the next instruction, as a switch does to its first case: a branch like others.
build hop -O1 <<'END' || exit 1
#include <stdio.h>
__attribute__((noinline)) static unsigned long after(unsigned long x)
{
#if defined(__x86_64__)
	__asm__ volatile("lea 1f(%%rip), %%rax\n\tjmp *%%rax\n1:" ::: "rax");
#else
	__asm__ volatile("adr x16, 1f\n\tbr x16\n1:" ::: "x16");
#endif
	return x * 7 / 3 ^ x;
}
int main(void)
{
	unsigned long x = 1;
	for (long i = 0; i < 60000000; i++)
		x = x & 3 ? after(x) + 5 : x / 4 + 1;
	return printf("%lu\n", x) < 0;
}
END
"${burst[@]}" -q -o hop.data ./hop >/dev/null 2>hop.err
perf script -i hop.data -F event,brstack 2>/dev/null | python3 -c '
import re, sys
far = [int(to, 16) - int(at, 16) for at, to in re.findall("0x([0-9a-f]+)/0x([0-9a-f]+)/", sys.stdin.read())]
print(len(far), sum(0 < f <= 4 for f in far))' >hops
read -r n hops <hops
echo "# of $n branches $hops lead to the next instruction"
check 'jumps to the next instruction are on record' test $((6 * hops)) -gt "$n"

# A process whose first thread has ended while another runs on: the kernel has its memory and mappings under the other's number.
build orphan -pthread <<'END' || exit 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned turn(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x & 4 ? x * 5 + 1 : x / 3 + 7;
	return x;
}
static void *spin(void *turns)
{
	unsigned x = 1;
	for (long i = atol(turns); i; i--)
		x = turn(x);
	printf("%u\n", x);
	exit(0);
}
int main(int argc, char **argv)
{
	pthread_t t;
	(void)argc;
	pthread_create(&t, NULL, spin, argv[1]);
	pthread_exit(NULL);
}
END
# At the rate that is the default none comes before the first thread ends.
"$SKIDPROF" record --pmu clock -v -o orphan.data ./orphan 1000000 >/dev/null 2>orphan.err
grep '^skidprof: bursts: .* replayed' orphan.err
replayed() { [ "$(sed -n 's/^skidprof: bursts: \([0-9]*\) replayed.*/\1/p' orphan.err)" -gt 10 ]; }
check 'bursts are replayed of a process whose first thread has ended' replayed
./orphan 100000000 >/dev/null & orphan=$!
ended_first() { grep -q '^State:.Z' /proc/$orphan/status; }
wait_until ended_first
"${burst[@]}" -v -p $orphan --duration 1 -o orphan.data 2>orphan.err
check 'one that runs already can be attached to' test $? -eq 0
check 'bursts are replayed there, too' replayed
check 'and functions have names' sh -c '"$SKIDPROF" report --raw -i orphan.data 2>/dev/null | grep -q " turn$"'
check 'and the program its command line' sh -c '"$SKIDPROF" report --raw -i orphan.data 2>/dev/null | grep -q "orphan.data: ./orphan 100000000$"'
kill -KILL $orphan
wait $orphan 2>/dev/null >&2

says=$("$SKIDPROF" record --pmu sim --bursts 5 true 2>&1)
check 'the simulated core says how many there were, here none' grep -qx 'skidprof: 0 bursts of 0 branches' <<<"$says"
exit 0
