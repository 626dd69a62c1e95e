/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/past_call.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "profiler/base/clock.h"
#include "profiler/pmu/procfile.h"
#include "profiler/pmu/stopped.h"

enum {
	/* With PTRACE_O_TRACESYSGOOD no signal of the program's looks like this. */
	AT_CALL = SIGTRAP | 0x80,
	/* Longer than a way to a call, or a call that doesn't sleep, takes; short for one that does. */
	SOON_NS = 1000000,
	/* Where the thread has to wait for a CPU. */
	MOST_NS = 100000000,
#if defined(__x86_64__)
	CALL_BYTES = 2,
#else
	CALL_BYTES = 4,
#endif
};

static bool is_among(long number, const long *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (number == v[i])
			return true;
	return false;
}

/* Calls that don't come back, or not to where they were made. */
static bool leads_away(long number)
{
	static const long those[] = { SYS_exit, SYS_exit_group, SYS_execve, SYS_execveat, SYS_rt_sigreturn };

	return is_among(number, those, sizeof(those) / sizeof(those[0]));
}

/* Calls that are made to wait for something. */
static bool waits(long number)
{
	static const long those[] = {
		SYS_nanosleep,
		SYS_clock_nanosleep,
		SYS_rt_sigtimedwait,
		SYS_rt_sigsuspend,
		SYS_ppoll,
		SYS_pselect6,
		SYS_epoll_pwait,
		SYS_wait4,
		SYS_waitid,
		SYS_accept,
		SYS_accept4,
		SYS_semop,
		SYS_semtimedop,
		SYS_msgrcv,
		SYS_mq_timedreceive,
		SYS_io_getevents,
		SYS_flock,
		SYS_restart_syscall,
#if defined(__x86_64__)
		SYS_pause,
		SYS_poll,
		SYS_select,
		SYS_epoll_wait,
		SYS_vfork,
#endif
	};

	return is_among(number, those, sizeof(those) / sizeof(those[0]));
}

static long number_of(const struct user_regs_struct *regs)
{
#if defined(__x86_64__)
	return (long)regs->orig_rax;
#else
	return (long)regs->regs[8];
#endif
}

/* SIGCHLD comes with each stop of a thread that we trace: blocked, it can be waited for. */
static void wait_for_stop(uint64_t ns)
{
	const struct timespec t = { .tv_sec = 0, .tv_nsec = (long)ns };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &t);
}

/* Does it run, or wait for a CPU? */
static bool is_awake(pid_t tid)
{
	struct procfile kept = { 0 };
	char text[512];
	const char *state = procfile_state(&kept, tid, text, sizeof(text));
	bool awake = state && *state == 'R';

	procfile_fini(&kept);
	return awake;
}

/* 1: it has stopped; 0: it sleeps, or takes too long; -1: it is gone.  Those that were left are let go meanwhile. */
static int await_stop(struct past_call_thread *t, struct left_threads *left)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC), past;

	while ((past = clock_ns(CLOCK_MONOTONIC) - begun) < MOST_NS) {
		pid_t got = waitpid(t->tid, &t->status, __WALL | WNOHANG);

		if (got == t->tid)
			return WIFSTOPPED(t->status) ? 1 : -1;
		if (got < 0 && errno != EINTR)
			return -1;
		if (past >= SOON_NS && !is_awake(t->tid))
			break;
		if (past < t->awake_ns)
			continue;
		wait_for_stop(SOON_NS);
		past_call_let_go(left);
	}
	return 0;
}

static void leave(struct left_threads *left, pid_t tid, bool to_call)
{
	if (left->n < LEFT_THREADS)
		left->v[left->n++] = (struct left_thread){ tid, to_call };
}

void past_call_bury(struct left_threads *left, pid_t tid)
{
	leave(left, tid, false);
}

static enum past_call gone(struct past_call_thread *t, struct left_threads *left)
{
	past_call_bury(left, t->tid);
	return PAST_CALL_GONE;
}

/* A stop at a call is ours: no signal of the program's is on its way. */
static enum past_call let_go(struct past_call_thread *t, enum past_call why, struct left_threads *left)
{
	struct user_regs_struct regs;

	if (stopped_by_us(t->status) && stopped_regs(t->tid, &regs) == 0 && stopped_in_call(t->tid, &regs))
		stopped_mend_call(t->tid, &regs);
	return stopped_let_go(t->tid, t->status, WSTOPSIG(t->status) == AT_CALL) ? why : gone(t, left);
}

/*
 * From the stop in front of a call.  A thread that is let go there is taken to have a signal waiting, and a call that sleeps
 * answers EINTR at once: so it is left till it comes out.  Where it doesn't come out as the same thread no call sleeps.
 */
static enum past_call leave_in_call(struct past_call_thread *t, enum past_call why, struct left_threads *left)
{
	struct user_regs_struct regs;

	if (stopped_regs(t->tid, &regs) < 0)
		return gone(t, left);
	if (leads_away(number_of(&regs)))
		return let_go(t, why, left);
	if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) < 0)
		return gone(t, left);
	leave(left, t->tid, false);
	return why;
}

enum past_call past_call_begin(struct past_call_thread *t, struct left_threads *left)
{
	return ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) < 0 ? gone(t, left) : PAST_CALL_DONE;
}

/* At a call's one end or the other. */
static enum past_call await_call(struct past_call_thread *t, bool to_call, struct left_threads *left)
{
	int got = await_stop(t, left);

	if (got < 0)
		return gone(t, left);
	if (got)
		return WSTOPSIG(t->status) == AT_CALL ? PAST_CALL_DONE : let_go(t, PAST_CALL_ENDED, left);
	leave(left, t->tid, to_call);
	return PAST_CALL_LEFT;
}

enum past_call past_call_reach(struct past_call_thread *t, uint64_t call_ip, struct left_threads *left)
{
	enum past_call got = await_call(t, true, left);
	struct user_regs_struct regs;

	if (got != PAST_CALL_DONE)
		return got;
	if (stopped_regs(t->tid, &regs) < 0)
		return gone(t, left);
	if (STOPPED_IP(&regs) != call_ip + CALL_BYTES)
		return leave_in_call(t, PAST_CALL_ASTRAY, left);
	return PAST_CALL_DONE;
}

enum past_call past_call_make(struct past_call_thread *t, struct left_threads *left)
{
	struct user_regs_struct regs;
	enum past_call got;

	if (stopped_regs(t->tid, &regs) < 0)
		return gone(t, left);
	if (leads_away(number_of(&regs)) || waits(number_of(&regs)))
		return leave_in_call(t, PAST_CALL_ENDED, left);
	if (past_call_begin(t, left) != PAST_CALL_DONE)
		return PAST_CALL_GONE;
	got = await_call(t, false, left);
	if (got != PAST_CALL_DONE)
		return got;
	if (stopped_regs(t->tid, &regs) < 0)
		return gone(t, left);
	/* A signal interrupted it. */
	return stopped_call_is_over(&regs) ? PAST_CALL_DONE : let_go(t, PAST_CALL_ENDED, left);
}

/* Those that we trace while another one is seized. */
static const struct left_threads *volatile beside;

void past_call_on_child(int sig)
{
	const struct left_threads *traced = beside;
	const int before = errno;

	(void)sig;
	for (size_t i = 0; traced && i < traced->n; i++)
		waitid(P_PID, (id_t)traced->v[i].tid, &(siginfo_t){ 0 }, WEXITED | WNOHANG | __WALL);
	errno = before;
}

static int seize(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0 ? -1 : 0;
}

int past_call_seize(pid_t tid, const struct left_threads *left)
{
	sigset_t child;
	int got, error;

	if (!left->n)
		return seize(tid);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	beside = left;
	sigprocmask(SIG_UNBLOCK, &child, NULL);
	/* For signals that were taken for others' before. */
	past_call_on_child(SIGCHLD);
	got = seize(tid);
	error = errno;
	sigprocmask(SIG_BLOCK, &child, NULL);
	beside = NULL;
	errno = error;
	return got;
}

bool past_call_is_left(const struct left_threads *left, pid_t tid)
{
	for (size_t i = 0; i < left->n; i++)
		if (left->v[i].tid == tid)
			return true;
	return false;
}

void past_call_let_go(struct left_threads *left)
{
	const struct left_threads before = *left;

	left->n = 0;
	for (size_t i = 0; i < before.n; i++) {
		struct past_call_thread t = { .tid = before.v[i].tid };
		pid_t got = waitpid(t.tid, &t.status, __WALL | WNOHANG);

		if (got == 0)
			leave(left, t.tid, before.v[i].to_call);
		else if (got == t.tid && WIFSTOPPED(t.status)) {
			if (before.v[i].to_call && WSTOPSIG(t.status) == AT_CALL)
				leave_in_call(&t, PAST_CALL_LEFT, left);
			else
				let_go(&t, PAST_CALL_LEFT, left);
		}
	}
}

/* After thread tid of process pid was seized and is gone: as the first thread it is traced still. */
static void follow(pid_t tid, pid_t pid, struct left_threads *left)
{
	if (tid != pid && !past_call_is_left(left, pid) && ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0)
		leave(left, pid, false);
}

bool past_call_await(struct past_call_thread *t, pid_t pid, struct left_threads *left)
{
	int got;

	/*
	 * Where nobody else waits for us.  A thread other than the first may put another program in its process's place: who sleeps
	 * in waitpid() for it then is not woken any more.
	 */
	if (!left->n && t->tid == pid)
		return stopped_await(t->tid, &t->status, t->awake_ns);
	do
		got = await_stop(t, left);
	while (got == 0);
	if (got < 0)
		follow(t->tid, pid, left);
	return got > 0;
}
