/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_KNOWN_H
#define SKIDPROF_CORRECT_KNOWN_H

/* How a correction knows what it says: what it tells whoever makes a profile of it. */
#include <stdint.h>

/* Where instructions are not counted, fewer bursts than that say nothing of them. */
enum { PROFILE_MIN_BURSTS = 10 };

enum profile_status {                     /* worst last; what makes it so: correct/judge/reasons.def */
	              PROFILE_FIXED,      /* corrected, and the interval is narrow */
	              PROFILE_RAW,        /* not in a region: the samples as they are */
	              PROFILE_WEAK,       /* corrected, but not identified: the interval is wide */
	              PROFILE_UNRELIABLE, /* too few samples, unknown targets, binary does not match, ... */
};

/* What a corrected count rests on: bits. */
enum profile_evidence {
	PROFILE_BY_FLOW = 1 << 0,    /* structure alone: one free flow */
	PROFILE_BY_MIX = 1 << 1,     /* eq. 6 */
	PROFILE_BY_PATH = 1 << 2,    /* eq. 9 */
	PROFILE_BY_TRUTH = 1 << 3,   /* counted exactly, in another run (match_apply) */
	PROFILE_BY_TRIPS = 1 << 4,   /* eq. 8 */
	PROFILE_BY_PRECISE = 1 << 5, /* samples seen where they were caused, as sampled */
	PROFILE_BY_BORDER = 1 << 6,  /* eq. 15, by loop */
};

struct profile_equation { /* a mix equation of a region (eq. 6), for --why */
	const char *event;
	double measured, fitted, sd;
	uint32_t part; /* 0, 1, ...: of those parts of the region that were solved apart, loops or phases */
};

enum profile_skid_source { SKID_NONE, SKID_MEASURED, SKID_GIVEN, SKID_DEFAULT, SKID_PRECISE };

#endif
