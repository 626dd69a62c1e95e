/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_RESTS_H
#define SKIDPROF_CORRECT_RECORDING_RESTS_H

/*
 * Multiplexing without group reads.  Where there are more events than counters the kernel counts each in some slots only, and
 * where samples come too fast it stops an event for the rest of a tick.  Nothing in the file says so, but that an event is
 * silent for a whole slot while others of the thread have samples (eq. 5).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rests;

struct rests *rests_new(void);
void rests_free(struct rests *r);

/*
 * A sample of a thread; times ascend within it.  in_part: it is of the part that is looked at; the others tell where that lies in a
 * rest, which may be longer.
 */
void rests_sample(struct rests *r, uint32_t tid, int event, uint64_t time_ns, bool in_part);

/* Once all were shown: the share of its threads' time, in the part, that an event was silent, 0 where that is none, or cannot be told. */
double rests_share(const struct rests *r, int event);

/* So long a gap between two samples of an event is a rest, where others had `others` meanwhile. */
bool rests_is_rest(const struct rests *r, int event, uint64_t gap_ns, uint64_t others);

/* The share of its time in which that could not be told; 0 of an event that does not rest. */
double rests_untold(const struct rests *r, int event);

/* The event needs no counter of the core's, as the kernel's own ones: where it is silent there was none.  Before rests_settle(). */
void rests_never(struct rests *r, int event);

/* To be called before the others.  insn, cyc: the events that no code is without, -1 = none. */
void rests_settle(struct rests *r, int insn, int cyc);

#endif
