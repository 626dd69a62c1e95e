/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_DOCTOR_BURST_TRIAL_H
#define SKIDPROF_DOCTOR_BURST_TRIAL_H

/* A burst of a child of ours that does nothing but branch, taken as a recording takes its. */
#include <stdbool.h>
#include <stdint.h>

struct burst_trial {
	bool started; /* the process that takes them; else `why` says why it could not */
	bool replays;
	int refusal;         /* errno, 0 = none was refused */
	uint32_t n_branches; /* of the one that was taken, 0 = none came back */
	char why[512];
};

/* own: the child lets itself be traced, as a program does that we start; else it is as one that ran before. */
void burst_trial_run(bool own, struct burst_trial *out);

#endif
