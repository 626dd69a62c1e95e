/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_SENTINEL_H
#define SKIDPROF_CALIBRATE_SENTINEL_H

/*
 * Does a neighbour (another thread of the same physical core, often another
 * guest's, behind a virtual machine's back) share the core just now?  Cores
 * with two threads divide their reorder buffer while both run.  So two chains
 * of slow operations with fillers between them are timed: while the fillers
 * fit into the buffer the chains run at the same time, else one after the
 * other, which takes twice as long.  Nothing but the core is felt by that, no
 * cache and no memory, and a microsecond is enough.
 *
 * How many fillers fit is not known beforehand and is learnt from the run: the
 * most that ever did.  Three windows are then looked at: one that always fits,
 * for the frequency; one that fits unless the buffer is divided; and one that
 * does not fit, unless what was learnt was learnt beside a neighbour.  A
 * neighbour who never leaves can't be told from a smaller core.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SENTINEL_SIZES = 32,
	SENTINEL_CHAIN = 24, /* operations of a chain: they are in the buffer, too */
};

struct sentinel {
	uint32_t size
	        [SENTINEL_SIZES]; /* fillers, ascending; the first fit into any core that runs out of order */
	unsigned rounds,
	        overlapped[SENTINEL_SIZES]; /* of so many rounds the chains ran at the same time in ... */
	bool can_tell;
	size_t best;      /* the most fillers that fitted; can_tell only, as the next two */
	size_t low, high; /* what is looked at beside the first */
};

enum sentinel_word {
	SENTINEL_ALONE,
	SENTINEL_SHARED,
	SENTINEL_GREW, /* more fits than was learnt */
};

void sentinel_init(struct sentinel *s);

/* One round of learning: ticks of all windows, timed one right after the other. */
void sentinel_learn(struct sentinel *s, const double ticks[SENTINEL_SIZES]);

/* What follows from the rounds so far.  Returns whether clearly more fits than it did when last asked. */
bool sentinel_settle(struct sentinel *s);

/* Ticks of the three windows, timed one right after the other. */
enum sentinel_word sentinel_judge(const struct sentinel *s, double first, double low, double high);

/* Instructions that fit, roughly; 0: not known. */
uint32_t sentinel_window(const struct sentinel *s);

#endif
