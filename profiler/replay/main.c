/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * skidreplay: runs ahead from where a thread of another program was stopped,
 * on copies of its pages, and tells which branches that took.
 *
 * The recorder starts it with a socket as standard input and the shared
 * memory as descriptor 3.  Once it is set up it can do no more than
 * take a turn, read pages by the one descriptor it is handed, and end.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "profiler/replay/blocks.h"
#include "profiler/replay/machine.h"
#include "profiler/replay/pages.h"
#include "profiler/replay/run.h"
#include "profiler/replay/system.h"

#if defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

enum {
	SOCKET_FD = 0,
	SHARED_FD = 3, /* its number is free again when the first descriptor of pages comes */
	PAGES_FD = 3,
	HANDLER_STACK = 1 << 16,
	CODE_BYTES = 2 * RP_CODE_BYTES,
};

static uint8_t handler_stack[HANDLER_STACK] __attribute__((aligned(64)));

static int fail(const char *what)
{
	fprintf(stderr, "skidreplay: %s: %s\n", what, strerror(errno));
	return -1;
}

static int map_at(uint64_t at, size_t n, int prot, int flags, int fd)
{
	void *want = (void *)(uintptr_t)at; // NOLINT(performance-no-int-to-ptr)
	void *got = mmap(want, n, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);

	// cppcheck-suppress memleak; it stays till the end
	return got == want ? 0 : fail("mmap");
}

/* Code is written at one place and run at another. */
static uint8_t *map_code(void)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint8_t *code;

	if (fd < 0 || ftruncate(fd, CODE_BYTES) < 0)
		return NULL;
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code == MAP_FAILED || map_at(RP_AT_CODE, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd) < 0)
		code = NULL;
	close(fd);
	return code;
}

void rp_populate(void *at, size_t n)
{
	/* The system's pages may be larger. */
	uintptr_t begin = (uintptr_t)at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1), end = (uintptr_t)at + n;

	/* An older kernel doesn't know how: then it is as slow as it is. */
	madvise((void *)begin, end - begin, MADV_POPULATE_WRITE); // NOLINT(performance-no-int-to-ptr)
}

static int map_window(void)
{
	enum { BYTES = RP_WINDOW_PAGES * RP_PAGE, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };

	if (map_at(RP_AT_WINDOW - BYTES, BYTES, PROT_NONE, FLAGS, -1) < 0 ||
	    map_at(RP_AT_WINDOW, BYTES, PROT_READ | PROT_WRITE, FLAGS, -1) < 0)
		return -1;
	return map_at(RP_AT_WINDOW + BYTES, BYTES, PROT_NONE, FLAGS, -1);
}

static int map_all(void)
{
	uint8_t *code = map_code();

	if (!code)
		return fail("memory for code");
	if (map_at(RP_AT_CONTEXT, sizeof(*RP_CONTEXT), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	           -1) < 0 ||
	    map_at(RP_AT_COUNTS, RP_MAX_EXITS * sizeof(*RP_COUNTS), PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0 ||
	    (MACHINE_CHAINS && map_at(RP_AT_TARGETS, MACHINE_TARGETS_BYTES, PROT_READ | PROT_WRITE,
	                              MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0) ||
	    map_window() < 0 ||
	    map_at(RP_AT_SHARED, sizeof(struct rp_shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD) < 0)
		return -1;
	close(SHARED_FD);
	rp_populate(RP_SHARED, offsetof(struct rp_shared, frames) + (size_t)RP_OFTEN_FRAMES * RP_PAGE);
	rp_populate(RP_CONTEXT, sizeof(*RP_CONTEXT));
	rp_populate(RP_WINDOW, (size_t)RP_WINDOW_PAGES * RP_PAGE);
	rp_run_init(code);
	return 0;
}

/* Some of those pages are there on some machines only: a call that reads one says so, where we would die of it. */
static void find_clock_page(int probe, int kind, unsigned i, const void *page)
{
	char byte;

	if (write(probe, page, 1) == 1 && pread(probe, &byte, 1, 0) == 1)
		rp_pages_clock((unsigned)kind, i, page);
}

static void find_clock_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int probe = memfd_create("probe", MFD_CLOEXEC);
	char line[512], name[64];
	unsigned long begin, end;

	while (maps && probe >= 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %63s", &begin, &end, name) != 3 ||
		    rp_clock_page_named(name) < 0)
			continue;
		for (unsigned long at = begin; at < end; at += RP_PAGE)
			find_clock_page(probe, rp_clock_page_named(name), (unsigned)((at - begin) / RP_PAGE),
			                (const void *)at); // NOLINT(performance-no-int-to-ptr)
	}
	if (maps)
		fclose(maps);
	if (probe >= 0)
		close(probe);
}

static void __attribute__((noreturn)) leave(int status)
{
	for (;;)
		syscall(SYS_exit_group, (long)status);
}

/* What the program would have been sent; anywhere else it is an error of ours, and the end. */
static void on_signal(int sig, siginfo_t *si, void *ucp)
{
	ucontext_t *uc = ucp;
	uint64_t resume;

	(void)sig;
	(void)si;
	if (!rp_run_interrupted(machine_signal_ip(uc), &resume))
		leave(1);
	machine_go_on_at(uc, resume);
}

static int set_handlers(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof(handler_stack) };

	if (sigaltstack(&stack, NULL) < 0)
		return fail("sigaltstack");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &sa, NULL) < 0)
			return fail("sigaction");
	return 0;
}

/* Beside the filter, which already forbids all that these limit. */
static int set_limits(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = { { RLIMIT_CORE, 0 }, { RLIMIT_FSIZE, 0 }, { RLIMIT_NPROC, 0 }, { RLIMIT_NOFILE, 8 } };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit r = { limits[i].most, limits[i].most };

		if (setrlimit(limits[i].what, &r) < 0)
			return fail("setrlimit");
	}
	return prctl(PR_SET_DUMPABLE, 0) < 0 ? fail("prctl") : 0;
}

#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* With this descriptor, and no other: the number of the call is loaded again for the next rule. */
#define ALLOW_ON(call, fd)                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4),                                  \
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), \
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (fd), 0, 1),                            \
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                               \
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static int set_filter(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW_ON(SYS_pread64, PAGES_FD),
		ALLOW_ON(SYS_recvmsg, SOCKET_FD),
		ALLOW_ON(SYS_sendto, SOCKET_FD),
		ALLOW_ON(SYS_close, PAGES_FD),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	static const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return fail("seccomp");
	return 0;
}

/* What is asked for: 'r' a turn, 'm' the descriptor that comes with it, 'c' to close that, 'p' to prepare for the next.  0 at the end. */
static int await_turn(void)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};

	if (recvmsg(SOCKET_FD, &m, 0) != 1)
		return 0;
	/* 'c': the one that there was is closed, so that the next, which comes with 'm', has its number. */
	if (byte == 'c') {
		close(PAGES_FD);
		rp_pages_source(-1);
	}
	if (CMSG_FIRSTHDR(&m))
		rp_pages_source(PAGES_FD);
	return byte;
}

int main(void)
{
	int turn;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	find_clock_pages();
	if (map_all() < 0 || set_handlers() < 0 || set_limits() < 0 || set_filter() < 0)
		leave(1);
	while ((turn = await_turn()) != 0) {
		if (turn == 'p')
			rp_blocks_make_room();
		if (turn != 'r')
			continue;
		rp_run();
		if (sendto(SOCKET_FD, "d", 1, 0, NULL, 0) != 1)
			break;
	}
	leave(0);
}
