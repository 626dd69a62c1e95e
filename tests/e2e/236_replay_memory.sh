#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory that a replay can read and the thread can't, or that the thread has at two places, code that leads nowhere or is
# written as it runs, and what can't be replayed: the path ends there, and is counted by its cause.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ -e "$BUILD/skidreplay" ] && command -v perf >/dev/null && "$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "no replayer, no perf or no clock events here: $(head -1 probe.err 2>/dev/null)"
	exit 77
}
build memory -D_GNU_SOURCE <<'END' || exit 1
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* Each turn is some hundreds of branches of work(), which take longer than a signal does, then what the thread can't do or sees otherwise than a copy would. */
static sigjmp_buf back;
static void on_fault(int s) { siglongjmp(back, s); }
static volatile unsigned long sink;
static void work(void);
static void on_user(int s) { work(); sink += (unsigned)s; }
__attribute__((noinline)) static void work(void) { for (unsigned long i = 0; i < 800; i++) sink += (sink / (i | 7)) / (i | 3) * 5 + i; }
/* A page that may be read at first. */
static void protect(volatile long *p, long turns)
{
	for (long i = 0; i < turns; i++) {
		work();
		sink += (unsigned long)*p;
	}
	mprotect((void *)p, 4096, PROT_NONE);
}
__attribute__((noinline)) static void never(void) { sink ^= 77; __asm__ volatile(""); }
/* Ways to where a copy can't follow, or not as it is.  True: the thread goes on behind them. */
static int odd(int kind, unsigned char *code)
{
	switch (kind) {
	case 'w':
		((void (*)(void))0x123456000)();
		return 0;
	case 's':
		raise(SIGUSR1);
		return 1;
#ifdef __x86_64__
	case 'u':
		__asm__ volatile("ud2");
		return 0;
	case 'v':
		sink += (unsigned long)((long (*)(long *))0xffffffffff600400)(NULL);
		return 1;
	case 'c': /* mov $1, %eax; ret */
		memcpy(code, "\xb8\x01\0\0\0\xc3", 6);
		sink += (unsigned)((int (*)(void))code)();
		code[1] = 2;
		sink += (unsigned)((int (*)(void))code)();
		return 1;
	case 'f':
		__asm__ volatile("movw %%ds, %%ax\n\tmovw %%ax, %%ds" : : : "rax");
		return 1;
	case 'k':
		__asm__ volatile("rdpkru" : : "c"(0) : "rax", "rdx");
		return 1;
	case 'x':
		__asm__ volatile("xbegin 1f\n\txend\n1:" : : : "rax", "memory");
		return 1;
#endif
	default:
		return -1;
	}
}
int main(int argc, char **argv)
{
	int fd = memfd_create("twice", 0), kind = argv[1][0];
	int prot = kind == 'n' ? PROT_NONE : kind == 'r' || kind == 'p' ? PROT_READ : PROT_READ | PROT_WRITE;
	volatile long *a, *b, *p = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)argc;
	if (ftruncate(fd, 8192) < 0)
		return 1;
	a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGILL, &fault, NULL);
	signal(SIGUSR1, on_user);
	if (kind == 'c')
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kind == 'p')
		protect(p, atol(argv[2]) / 4);
	for (long i = 0; i < atol(argv[2]); i++) {
		/* Without the signal mask: a system call would end the paths that begin before work(). */
		if (sigsetjmp(back, 0))
			continue;
		work();
		if (kind == 't') {
			*a = i;
			if (*b == i)
				continue;
		} else if (strchr("wsuvcfkx", kind)) {
			if (odd(kind, (unsigned char *)p) > 0)
				continue;
		} else if (kind == 'n' || kind == 'p') {
			sink += (unsigned long)*p;
		} else {
			*p = i;
		}
		never();
	}
	return 0;
}
END
# ends KIND NAME CAUSE: most paths end by it, and none goes where the thread never does.
ends()
{
	local n=0 whole=0
	: >"$1.txt"
	# On a busy machine a recording may have a few bursts only, and those that begin in a signal have no branch.
	for try in 1 2 3 4 5 6; do
		"$SKIDPROF" record -v --pmu clock --bursts 200 --burst-budget 1000% -o "$1.data" ./memory "$1" "${4:-60000}" 2>"$1.err"
		n=$((n + $(sed -n "s/.*bursts: \\([0-9]*\\) ended by $3\$/\\1/p" "$1.err" | grep . || echo 0)))
		whole=$((whole + $(sed -n 's/^skidprof: \([0-9]*\) bursts of .*/\1/p' "$1.err" | grep . || echo 0)))
		perf script -i "$1.data" -F event,brstacksym 2>>"$1.perr" | grep bursts >>"$1.txt"
		[ "$(wc -l <"$1.txt")" -lt 20 ] || break
	done
	grep 'bursts: .* ended by' "$1.err" | sed 's/^/# /'
	echo "# $whole bursts, $n ended by $3, in $try recordings"
	# Three in four do, those that begin in work(); of 20 a quarter is less by five standard deviations (1.9).
	check "$2: paths end there" test "$n" -ge 3 -a "$n" -gt $((whole / 4))
	check "$2: and none goes on" sh -c "test -s $1.txt && ! grep -q never $1.txt"
	[ -s "$1.txt" ] || sed 's/^/# /' "$1.perr"
	grep -m3 never "$1.txt" | sed 's/^/# /'
}
ends n 'a page that may not be read' 'a fault'
ends r 'a page that may not be written' 'a fault'
ends p 'a page that is protected while the program runs' 'a fault'
ends t 'a page that is mapped twice' 'memory mapped twice' 60000
ends w 'a jump to nowhere' 'a fault'
ends s 'the frame of a signal' 'a system call'
[ "$(uname -m)" = x86_64 ] || exit 0
ends u 'an instruction that is none' 'a trap'
ends c 'code that is written where it ran' 'code that was overwritten'
ends f 'a segment register' 'a segment'
check 'and that this cut so many is said' grep -q 'bursts ended early, at what can.t be replayed: .*a segment' f.err
# has PATTERN FILE WHAT: does this machine have it?
has()
{
	grep -q "$1" "$2" || ! echo "# skip: no $3 here"
}
! has 'xp.*\[vsyscall\]' /proc/self/maps 'vsyscall page' || ends v 'the vsyscall page' 'the vsyscall page'
! has ' ospke' /proc/cpuinfo 'protection keys' || ends k 'protection keys' 'a protection key'
! has ' rtm' /proc/cpuinfo 'transactions' || ends x 'a transaction' 'a transaction'
# What keeps a shadow stack or tiles can't be built to run here where the processor has none.
has ' user_shstk' /proc/cpuinfo 'shadow stacks' || :
has ' amx_tile' /proc/cpuinfo 'AMX' || :
exit 0
