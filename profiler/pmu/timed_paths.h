/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_TIMED_PATHS_H
#define SKIDPROF_PMU_TIMED_PATHS_H

/*
 * Timed paths of a recording (time_path.h): how often and how long they may
 * be, what came of them, and how they stand in the file.
 *
 * In the file they are samples of an event of their own.  The first of a path
 * has the time in `addr` (nanoseconds; 0 = nothing could be timed at that
 * moment) and stream_id 0; each of those that follow, with the same time, is
 * code that ran straight on from `ip` to `addr`, stream_id times.  Their
 * periods are instructions, of the first one those that no other tells, so
 * that for whoever only adds up periods the event counts instructions.
 */
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/burst.h"
#include "profiler/pmu/bursts.h"
#include "profiler/replay/wire.h"

struct timed_paths {
	/* Of its own, where a path counts as one branch: what programs are held up, and what replays take beside them. */
	struct burst_account account, replays;
	double hz; /* a second of the program's time; HUGE_VAL: as many as the budget allows; 0 = none */
	uint64_t n[BURST_N_TIMINGS], n_end[RP_N_ENDS], n_lost_end[RP_N_ENDS];
	uint64_t insns, ns;
	int error; /* the first errno of TIMING_REFUSED */
};

/* How often a second of the target's CPU time, as burst_account_hz(). */
double timed_paths_hz(const struct timed_paths *t, double cpu_s, double wall_s);

void timed_paths_init(struct timed_paths *t, double hz, double budget);

/* Makes of another event's description the one that files have of them. */
void timed_paths_attr(struct perf_event_attr *attr);

/* What the next one may take; timed_insns 0: none may be taken yet, after cpu_ns of the target's time. */
struct burst_limits timed_paths_limits(const struct timed_paths *t, uint64_t cpu_ns);

/* One was tried. */
void timed_paths_learn(struct timed_paths *t, const struct burst *b);

/* rec: of the burst, but for the sample. */
int timed_paths_write(struct pd_writer *w, const struct burst *b, struct pd_record *rec, uint64_t id);

/* How many there were, what they say, and what came in between. */
void timed_paths_say(const struct timed_paths *t, double cpu_ns);

#endif
