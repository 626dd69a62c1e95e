/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_DOCTOR_DOCTOR_H
#define SKIDPROF_DOCTOR_DOCTOR_H

/*
 * What this machine offers a recording, found by trying it: events are opened,
 * a child of ours is stopped for bursts, a program runs under the emulator.
 * What a recording would be by default, record_plan() says.
 */
#include <stdbool.h>
#include <stdio.h>

#include "profiler/doctor/burst_trial.h"
#include "profiler/record.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_PARTLY,  /* there, with less than others have */
	DOCTOR_MISSING, /* not there: `remedy` says what to do, or what takes its place */
	DOCTOR_UNKNOWN, /* it could not be tried */
};

struct doctor_check {
	const char *name;
	enum doctor_state state;
	char found[512], remedy[512]; /* a line each, the remedy "" where none is needed */
};

struct doctor_machine {
	char kernel[128], arch[32], cpu[192];
	bool is_virtual, user_namespace;
	const char *container;                              /* NULL = none known */
	int seccomp, paranoid, ptrace_scope, kptr_restrict; /* -1: this kernel has no such setting */
};

enum doctor_bursts { DOCTOR_NO_BURSTS, DOCTOR_STEPPED, DOCTOR_REPLAYED };

enum { DOCTOR_CHECKS = 16 };

struct doctor {
	struct doctor_machine machine;
	struct doctor_check check[DOCTOR_CHECKS];
	size_t n;
	enum doctor_bursts bursts;

	/* What `skidprof record PROGRAM` will do. */
	struct record_plan plan; /* source NULL: nothing */
	char why[512];           /* it won't */
	char makes[1536];        /* of what */
	char corrects[512];      /* what report can correct of it */
	bool corrected;          /* anything */
};

/* Cannot fail: what can't be tried is told as unknown. */
void doctor_examine(struct doctor *out);

void doctor_text(const struct doctor *d, FILE *f);
/* -SP_ENOMEM. */
int doctor_json(const struct doctor *d, const char *version, FILE *f);

#endif
