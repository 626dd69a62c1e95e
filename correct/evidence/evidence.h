/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_EVIDENCE_H
#define SKIDPROF_CORRECT_EVIDENCE_EVIDENCE_H

/*
 * Evidence: what the samples say about the flow of a region.  Each kind is one file with one row in the ops table: it is shown
 * every sample of the second pass and answers with equations in the edge flows f_e.
 */
#include "correct/infer/equations.h"
#include "correct/infer/problem.h"
#include "correct/infer/space.h"
#include "correct/recording/recording.h"

/* A sample, placed in the scopes. */
struct sample_seen {
	const struct recording *rec;
	const struct pd_record *record;
	int32_t scope;     /* -1 = in none */
	uint32_t insn;     /* local to the scope's problem */
	uint32_t thread;   /* 0, 1, ...: a number for (pid, tid) */
	uint32_t stage;    /* of its scope: which of its loops a stack stays in (stages.h) */
	uint32_t counters; /* the same for (tid, group, CPU), whose values go on between samples */
};

/* What every kind of evidence may look at; borrowed, and alive as long as the evidence. */
struct evidence_input {
	const struct recording *rec;
	const struct flow_graph *graph;
	struct problem *const *problems; /* [n] one a scope */
	size_t n;
};

/* Without `begin` and `end` the state is a copy of the input. */
struct evidence_ops {
	const char *name;
	int (*begin)(const struct evidence_input *in, void **state);
	void (*sample)(void *state, const struct sample_seen *s); /* may be NULL */
	/* All samples were shown: set what the problems say of the region (totals); may be NULL. */
	void (*finish)(void *state);
	/* Add what is known about one scope's flow, f = Z t of `space`. */
	int (*equations)(void *state, size_t scope, const struct space *space, struct equations *out);
	void (*end)(void *state);
};

extern const struct evidence_ops evidence_mix;    /* eq. 6 */
extern const struct evidence_ops evidence_trips;  /* eq. 8 */
extern const struct evidence_ops evidence_border; /* eq. 15 */
extern const struct evidence_ops evidence_path;   /* eq. 9 */
extern const struct evidence_ops evidence_calls;  /* eq. 1 */

/* Everything that was collected, for all kinds in the table. */
struct evidence;

int evidence_begin(const struct evidence_input *in, struct evidence **out);
void evidence_sample(struct evidence *ev, const struct sample_seen *s);
void evidence_finish(struct evidence *ev);
int evidence_equations(struct evidence *ev, size_t scope, const struct space *space, struct equations *out);
void evidence_end(struct evidence *ev);

/* eq. 19: where only time was sampled, spread a scope's draws about their means by what paces of its moments may differ by. */
void path_spread_paces(struct evidence *ev, size_t scope, unsigned long seed, struct solution *out);

/*
 * eq. 19, where timed paths tell paces: instructions a nanosecond of a scope's time, and their standard deviation; false: too few paths.
 */
bool path_timed_pace(struct evidence *ev, size_t scope, unsigned long seed, double *pace, double *sd);

/* The state of one kind. */
void *evidence_state(struct evidence *ev, const struct evidence_ops *kind);

#endif
