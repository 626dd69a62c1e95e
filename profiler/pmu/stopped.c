/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/stopped.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "profiler/base/clock.h"

/* The kernel's own answers to a call that is to be made again (ERESTARTSYS to ERESTART_RESTARTBLOCK). */
enum { FIRST_RESTART = 512, LAST_RESTART = 516 };

int stopped_regs(pid_t tid, struct user_regs_struct *out)
{
	struct iovec v = { out, sizeof(*out) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) < 0 ? -1 : 0;
}

#if defined(__x86_64__)

#define RESULT(regs) ((regs)->rax)

static const uint8_t call[] = { 0x0f, 0x05 };

bool stopped_in_call(pid_t tid, const struct user_regs_struct *regs)
{
	(void)tid;
	return (int64_t)regs->orig_rax >= 0;
}

static void make_again(pid_t tid, const struct user_regs_struct *regs)
{
	struct user_regs_struct again = *regs;
	struct iovec v = { &again, sizeof(again) };

	again.rax = regs->orig_rax;
	again.orig_rax = (uint64_t)-1;
	again.rip -= 2;
	ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &v);
}

#else

#define RESULT(regs) ((regs)->regs[0])

static const uint8_t call[] = { 0x01, 0x00, 0x00, 0xd4 };

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

bool stopped_in_call(pid_t tid, const struct user_regs_struct *regs)
{
	int number = -1;
	struct iovec v = { &number, sizeof(number) };

	(void)regs;
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &v) == 0 && number != -1;
}

/* The call's first argument is overwritten by its result and kept where a tracer can't see it. */
static void make_again(pid_t tid, const struct user_regs_struct *regs)
{
	(void)tid;
	(void)regs;
}

#endif

bool stopped_behind_call(pid_t tid, const struct user_regs_struct *regs)
{
	uint8_t before[sizeof(call)];
	struct iovec mine = { before, sizeof(before) },
	             theirs = { (void *)(uintptr_t)(STOPPED_IP(regs) - sizeof(call)), sizeof(before) };

	return process_vm_readv(tid, &mine, 1, &theirs, 1, 0) == (ssize_t)sizeof(before) &&
	       memcmp(before, call, sizeof(call)) == 0;
}

static int64_t error_of(const struct user_regs_struct *regs)
{
	return -(int64_t)RESULT(regs);
}

bool stopped_call_is_over(const struct user_regs_struct *regs)
{
	int64_t error = error_of(regs);

	return error != EINTR && (error < FIRST_RESTART || error > LAST_RESTART);
}

struct signals {
	unsigned long long pending, shared, blocked, ignored;
};

static bool read_signals(pid_t tid, struct signals *out)
{
	char path[64], line[256];
	FILE *f;

	*out = (struct signals){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "SigPnd: %llx", &out->pending);
		sscanf(line, "ShdPnd: %llx", &out->shared);
		sscanf(line, "SigBlk: %llx", &out->blocked);
		sscanf(line, "SigIgn: %llx", &out->ignored);
	}
	fclose(f);
	return true;
}

/* Is a signal waiting that the thread would take?  Then a system call was interrupted for good reason. */
static bool signal_waits(pid_t tid)
{
	struct signals s;

	return !read_signals(tid, &s) || ((s.pending | s.shared) & ~s.blocked) != 0;
}

void stopped_mend_call(pid_t tid, const struct user_regs_struct *regs)
{
	if (error_of(regs) == EINTR && !signal_waits(tid))
		make_again(tid, regs);
}

bool stopped_takes_traps(pid_t tid)
{
	struct signals s;

	return read_signals(tid, &s) && !((s.blocked | s.ignored) >> (SIGTRAP - 1) & 1);
}

bool stopped_await(pid_t tid, int *status, uint64_t awake_ns)
{
	uint64_t until = awake_ns ? clock_ns(CLOCK_MONOTONIC) + awake_ns : 0;
	pid_t got = 0;

	while (got == 0 && awake_ns && clock_ns(CLOCK_MONOTONIC) < until)
		got = waitpid(tid, status, __WALL | WNOHANG);
	while (got == 0 || (got < 0 && errno == EINTR))
		got = waitpid(tid, status, __WALL);
	return got == tid && WIFSTOPPED(*status);
}

bool stopped_by_us(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

bool stopped_let_go(pid_t tid, int status, bool ours)
{
	long signal = ours || status >> 16 ? 0 : WSTOPSIG(status);

	return ptrace(PTRACE_DETACH, tid, NULL, (void *)signal) == 0;
}
