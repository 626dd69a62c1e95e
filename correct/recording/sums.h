/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_SUMS_H
#define SKIDPROF_CORRECT_RECORDING_SUMS_H

/*
 * The first pass over a recording: what was sampled at each address, where
 * branches were seen to go, and the skid of each cycles sample.
 */
#include "correct/flow/graph.h"
#include "correct/recording/recording.h"
#include "correct/recording/tasks.h"

struct event_sum {
	uint64_t n_samples;
	double period_sum;
	double own_sum;   /* the same of this event alone, where others count the same on other cores */
	double value_sum; /* last group values of all threads; 0 = none recorded */
	bool timed;       /* its branch records tell cycles */
	bool multiplexed; /* running less than enabled somewhere, or silent while others had samples */
	double rested; /* share of the time without a counter: as its times say, or silent while others had samples (eq. 5) */
	double untold; /* share of the time in which nothing tells whether it had a counter */
	double throttled; /* share of the time that its counter was stopped, for its samples came too often (eq. 5); 0 up to 2% */
	double unsampled; /* share of what its counters counted that no sample stands for: they were lost */
	double ended; /* the same, of threads that ended after their last sample, or before their first (ended.h) */
};

struct sums {
	struct place_sum *v; /* sorted by (module, vaddr) */
	size_t n;
	struct flow_seen *seen;
	size_t n_seen;
	struct flow_seen *runs; /* straight ones: from a taken branch's target to the next one's source */
	size_t n_runs;
	uint64_t n_branches; /* on record in all */
	double *skid_cyc;    /* [n_skid] overshoots of the cycles event */
	size_t n_skid;
	struct event_sum *events; /* [n_events] */
	size_t n_events;
	bool branch_records, branch_cycles; /* the processor's; and those of cycles samples tell cycles */
	bool paths;                         /* branch records, or bursts */
	uint64_t n_bursts;
	uint64_t n_stacks; /* bursts, and samples with branch records */
	double lost_share; /* samples that are not in the file, for one that is, where totals were scaled for them */
	struct tasks tasks;
	double core_hz; /* median of what was measured after each burst; 0 = never */
};

int sums_collect(struct recording *r, struct sums *out);
void sums_fini(struct sums *s);

#endif
