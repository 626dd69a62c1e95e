/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_WORK_H
#define SKIDPROF_CORRECT_WORK_H

/* What a correction has worked out, on the way from the recording (recording.h, sums.h) to the profile (profile.h). */
#include "correct/correct.h"
#include "correct/divide/scopes.h"
#include "correct/flow/ran.h"
#include "correct/infer/problem.h"
#include "correct/recording/sums.h"

struct work {
	const struct correct_opts *opts;
	struct recording *rec;
	bool as_sampled; /* raw counts are the answer: they were asked for, or samples of instructions are precise */
	struct sums sums;
	struct flow_graph *graph;
	struct flow_effort effort; /* of telling apart what a search by the code alone has together */
	struct flow_regions *regions;
	struct flow_ran ran; /* of all the graph, by branch records and bursts; NULLs: there are none */
	bool regions_ran;    /* regions are of that alone */
	double ran_share;    /* of the heat of all regions, those hold */
	struct scopes scopes;
	struct problem **scope_problems;  /* [scopes.n]: what is solved */
	struct solution *scope_solutions; /* [scopes.n] */
	struct equations_shown {          /* what the mix equations said, for --why: [scopes.n] */
		struct profile_equation *v;
		size_t n;
	} * equations;
	struct problem **problems; /* [regions->n] */
	double pace; /* where no instructions were counted: instructions a cycle, as branch records or timed paths tell them; 0 = they don't */
	bool pace_timed; /* by timed paths: stacks are not weighed by it, and loops one after another stay in doubt */
	struct timed_rate timed;    /* what timed paths tell of the whole recording, by nanosecond */
	struct solution *solutions; /* [regions->n] */
	struct skid_dist skid;
	enum profile_skid_source skid_source;
	const char *skid_basis;
};

/*
 * The whole correction: from a recording and its binaries to the solutions of its regions.  opts stay the caller's, and are read
 * until correct_end(), which follows also where this fails.  Returns 0, or what failed.  What is doubtful is in the solutions,
 * not an error.
 */
int correct_run(const struct correct_opts *opts, struct work *out);
void correct_end(struct work *w);

#endif
