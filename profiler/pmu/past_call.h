/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PAST_CALL_H
#define SKIDPROF_PMU_PAST_CALL_H

/*
 * Past a system call: a thread that is stopped in front of one runs on to it, makes it itself, and is stopped behind it.  A
 * call takes as long as it takes: a thread that sleeps in one is left there, traced as it is, and let go when it comes out.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAST_CALL_MOST_LEFT = 64, LEFT_THREADS = 128 };

struct left_thread {
	pid_t tid;
	bool to_call; /* it is on its way to a call */
};

/* Threads that were left in a call, or were killed and have not been waited for: till then their process does not end. */
struct left_threads {
	struct left_thread v[LEFT_THREADS];
	size_t n;
};

enum past_call {
	PAST_CALL_DONE,
	/* A signal came, and it has been let go; or the call is of those that don't come back soon, and it is left in it. */
	PAST_CALL_ENDED,
	PAST_CALL_ASTRAY, /* it came to another call, and is left in that */
	PAST_CALL_LEFT,   /* it takes long: it is let go when it is through */
	PAST_CALL_GONE,   /* it was killed */
};

/* A thread that is stopped. */
struct past_call_thread {
	pid_t tid;
	int status;        /* of its stop, as waitpid() tells it */
	uint64_t awake_ns; /* to wait for it so long without going to sleep */
};

/*
 * Trace a thread: 0, or -1 with errno.  A process that is putting another program in its place lets nobody in before its other
 * threads have ended and those of them that are left have been waited for: they are, by the handler of SIGCHLD, which is blocked else.
 */
int past_call_seize(pid_t tid, const struct left_threads *left);

/* The handler.  It also interrupts a wait for anything else. */
void past_call_on_child(int sig);

/*
 * Wait for one of process pid to stop that was asked to; false when it is gone.  Those that were left are let go meanwhile.  A thread
 * that puts another program in its process's place goes on, traced, as the first thread: gone, too, it is left, and let go with those.
 */
bool past_call_await(struct past_call_thread *t, pid_t pid, struct left_threads *left);

/* Let it run on to its next system call; DONE, or GONE.  It is traced with PTRACE_O_TRACESYSGOOD. */
enum past_call past_call_begin(struct past_call_thread *t, struct left_threads *left);

/* Then wait until it is stopped there, and the call is the one at call_ip. */
enum past_call past_call_reach(struct past_call_thread *t, uint64_t call_ip, struct left_threads *left);

/*
 * Let it make that call, and be stopped behind it: where it is one that comes back soon, and not one that ends the thread, puts
 * another program in its place, returns elsewhere, or is made to wait.
 */
enum past_call past_call_make(struct past_call_thread *t, struct left_threads *left);

/* Is it one of those that were left? */
bool past_call_is_left(const struct left_threads *left, pid_t tid);

/* One that was killed while it was stopped. */
void past_call_bury(struct left_threads *left, pid_t tid);

/* Let those go that have come out of their calls.  SIGCHLD tells when one does. */
void past_call_let_go(struct left_threads *left);

#endif
