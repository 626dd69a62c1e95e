/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that runs a block and nothing else.  Once the filter is on it
 * can't call the system but to end and to return from a handler, and it calls
 * nothing of libc: the block may have changed what libc stands on.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "report/lift/sandbox/layout.h"

enum {
	HANDLER_STACK = 1 << 16,
	TURN_TICKS = 16000, /* what the shorter run takes about, the first time */
	MOST_DOUBLED = 4,
	MAX_TURNS = 2000,
};

static uint8_t handler_stack[HANDLER_STACK] __attribute__((aligned(64)));

static void __attribute__((noreturn)) leave(int status)
{
	for (;;)
		__asm__ volatile("syscall"
		                 :
		                 : "a"(SYS_exit_group), "D"((long)status)
		                 : "rcx", "r11", "memory");
}

static void give_up(int err)
{
	CONTROL->signal = 0;
	CONTROL->code = err;
	leave(1);
}

static void on_signal(int sig, siginfo_t *si, void *ucp)
{
	const ucontext_t *uc = ucp;

	CONTROL->signal = sig;
	CONTROL->code = si->si_code;
	CONTROL->addr = (uint64_t)(uintptr_t)si->si_addr;
	CONTROL->rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	leave(1);
}

static void limit(int what, rlim_t most)
{
	struct rlimit r = { most, most };

	if (setrlimit(what, &r) < 0)
		give_up(errno);
}

/* Beside the filter, which already forbids all that these limit. */
static void set_limits(void)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_CPU, 2);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		give_up(errno);
}

static void set_handlers(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof(handler_stack) };

	if (sigaltstack(&stack, NULL) < 0)
		give_up(errno);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &sa, NULL) < 0)
			give_up(errno);
}

static void fill_page(uint64_t *p, enum fill fill, uint64_t seed)
{
	for (size_t w = 0; w < PAGE / sizeof(*p); w++) {
		seed = (seed + 1) * 6364136223846793005u + 1442695040888963407u;
		p[w] = fill == FILL_RANDOM    ? seed ^ seed >> 29
		       : fill == FILL_NUMBERS ? 0x3f8000003f800000u
		                              : 0x12345640u;
	}
}

static void map_page(const struct attempt *a, uint32_t i)
{
	void *want = (void *)a->pages[i]; // NOLINT(performance-no-int-to-ptr)
	uint64_t *p = mmap(want, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, a->frames_fd,
	                   (off_t)PAGE * (i % a->n_frames));

	if (p != want)
		give_up(p == MAP_FAILED ? errno : EEXIST);
	if (i < a->n_frames)
		fill_page(p, a->fill, i);
}

#define ALLOW(nr) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void set_filter(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	static const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		give_up(errno);
}

static uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "rcx", "memory");
	return (uint64_t)high << 32 | low;
}

/* Additions of registers: some cores add constants while they rename, in no time at all. */
static uint64_t time_chain(unsigned turns)
{
	uint64_t begin = ticks(), x = 1;

	for (unsigned i = 0; i < turns; i++)
		__asm__ volatile(".rept %c2\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(begin), "i"(CHAIN_ADDS));
	return ticks() - begin;
}

/* What a block may change and the emitted code does not bring back. */
#define CLOBBERED                                                                                            \
	"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", \
	        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",  \
	        "xmm14", "xmm15"

static uint64_t time_run(enum run run, unsigned turns)
{
	uint64_t code = AREA_CODE + CODE_BYTES * (uint64_t)run, begin;

	CONTROL->counter = turns;
	begin = ticks();
	__asm__ volatile("call *%0" : : "r"(code) : CLOBBERED);
	return ticks() - begin;
}

/* What disturbs a run is less of a longer one. */
static unsigned choose_turns(uint32_t n_unsteady)
{
	uint64_t best = UINT64_MAX,
	         wanted = (uint64_t)TURN_TICKS << (n_unsteady < MOST_DOUBLED ? n_unsteady : MOST_DOUBLED);

	for (int i = 0; i < 3; i++) {
		uint64_t t = time_run(RUN_SHORTER, 1);

		best = t < best ? t : best;
	}
	if (best >= wanted)
		return 1;
	return best * MAX_TURNS <= wanted ? MAX_TURNS : (unsigned)(wanted / best);
}

static void time_rounds(uint32_t n_unsteady)
{
	unsigned turns = choose_turns(n_unsteady);

	CONTROL->turns = turns;
	time_run(RUN_SHORTER, turns);
	time_run(RUN_LONGER, turns);
	for (int i = 0; i < N_ROUNDS; i++) {
		struct round r;

		r.one = time_run(RUN_SHORTER, turns);
		r.two = time_run(RUN_LONGER, turns);
		r.chain_one = time_chain(CHAIN_TURNS);
		r.chain_two = time_chain(2 * CHAIN_TURNS);
		CONTROL->rounds[i].one = r.one;
		CONTROL->rounds[i].two = r.two;
		CONTROL->rounds[i].chain_one = r.chain_one;
		CONTROL->rounds[i].chain_two = r.chain_two;
	}
}

void child_run(const struct attempt *a)
{
	set_limits();
	for (uint32_t i = 0; i < a->n_pages; i++)
		map_page(a, i);
	if (mprotect((void *)AREA_CODE, N_RUNS * CODE_BYTES, PROT_READ | PROT_EXEC) <
	    0) // NOLINT(performance-no-int-to-ptr)
		give_up(errno);
	set_handlers();
	set_filter();
	CONTROL->stage = STAGE_RUN;
	time_run(RUN_LONGER, 1);
	if (a->n_watched)
		time_run(RUN_WATCHED, 1);
	time_rounds(a->n_unsteady);
	CONTROL->stage = STAGE_DONE;
	leave(0);
}
