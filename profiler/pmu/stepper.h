/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_STEPPER_H
#define SKIDPROF_PMU_STEPPER_H

/*
 * The process that takes bursts.  It is one of its own because a tracer that
 * is killed in mid step kills the thread it steps: when the recorder is
 * killed, by SIGKILL as well, this one ends the burst, lets the thread go and
 * goes home.  It has no terminal, so Ctrl-C doesn't reach it, and it takes
 * SIGTERM, SIGHUP and SIGINT as a wish to end.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "profiler/pmu/burst.h"

struct stepper {
	pid_t pid;
	int fd; /* readable when an answer is there */
	bool asked;
	bool replays; /* bursts are replayed; else all are stepped, which is dear */
};

/*
 * Start it: before the target, which then doesn't inherit its end of the socket, and may
 * be told its pid (launch_program.tracer).  -SP_ENOTSUP where threads can't be stepped.
 */
int stepper_start(struct stepper *s);

/* Ask for a burst of a thread of process pid; one at a time.  -SP_EIO when the stepper is gone. */
int stepper_ask(struct stepper *s, pid_t pid, pid_t tid, const struct burst_limits *limits);

/* The answer: 1, 0 when there is none yet, -SP_EIO when the stepper is gone. */
int stepper_answer(struct stepper *s, struct burst *out);

/* Let it end what it is at, and wait for it. */
void stepper_stop(struct stepper *s);

#endif
