/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_LAUNCH_H
#define SKIDPROF_PMU_LAUNCH_H

/*
 * A program as our child: its streams are ours, its signals are passed on,
 * its end is waited for beside other events.
 */
#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;     /* 0 = no child, only signals */
	int signal_fd; /* readable when a signal is to be looked at */
	int go_fd, error_fd;
	const char *path;        /* of the program, for messages */
	bool ended, interrupted; /* interrupted: without a child, a signal asked us to end */
	int killed_by;           /* signal; 0 = it was not killed */
	int status;              /* as the shell says it: 128 + signal when it was killed */
};

struct launch_program {
	const char *path;
	char *const *argv;
	int keep_fd, child_fd; /* keep_fd, where not -1, is passed to it as descriptor child_fd */
	int stdout_fd;         /* where not -1, becomes its standard output */
	pid_t tracer;          /* may trace it where Yama lets only ancestors; 0 = nobody */
};

/* Make the child, which waits before it becomes the program.  -SP_EIO. */
int launch_hold(struct launch *l, const struct launch_program *p);

/* Let it become the program.  -SP_EIO when that can't be started; the child is gone then. */
int launch_go(struct launch *l);

/* Both at once. */
int launch_start(struct launch *l, const struct launch_program *p);

/* No child: take the signals that would end us as a wish to end the recording. */
int launch_nothing(struct launch *l);

/*
 * Look at the signals that have come: the child's end is noted, SIGTERM and SIGHUP are
 * passed to it, and so is a SIGINT that doesn't come from the terminal (which has told the
 * child itself).
 */
void launch_signals(struct launch *l);

/* Wait for its end, if it hasn't come yet. */
void launch_wait(struct launch *l);

/* A line on stderr of the signal that killed it, if one did that nobody sent from here or the keyboard; output: NULL = none. */
void launch_say_killed(const struct launch *l, const char *program, const char *output);

/* Ask the program to end (SIGTERM), once.  That it did so is no failure: its status is 0 then. */
void launch_end(struct launch *l);

/* A child that is still held ends without having become the program. */
void launch_fini(struct launch *l);

#endif
