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
	pid_t pid;
	int signal_fd; /* readable when a signal is to be looked at */
	bool ended;
	int status; /* as the shell says it: 128 + signal when it was killed */
};

/*
 * Start argv[0].  keep_fd is passed to it as descriptor child_fd; stdout_fd, where it is
 * not -1, becomes its standard output.  -SP_EIO when it can't be started.
 */
int launch_start(struct launch *l, char *const *argv, int keep_fd, int child_fd, int stdout_fd);

/*
 * Look at the signals that have come: the child's end is noted, SIGTERM and SIGHUP are
 * passed to it, and so is a SIGINT that doesn't come from the terminal (which has told the
 * child itself).
 */
void launch_signals(struct launch *l);

/* Wait for its end, if it hasn't come yet. */
void launch_wait(struct launch *l);
void launch_fini(struct launch *l);

#endif
