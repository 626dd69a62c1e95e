/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_PATH_IMPL_H
#define SKIDPROF_CORRECT_EVIDENCE_PATH_IMPL_H

/*
 * Path (eq. 9): branch stacks.  Between one taken branch's target and the next one's source the code ran straight on, so a stack
 * of n branches tells n - 1 pieces of a real path, edge by edge.  path.c keeps the stacks, path_pace.c (eq. 10) tells how many
 * instructions each stands for, path_cycles.c (eq. 11) or path_newest.c (eq. 12) weigh their pieces so that the moments they were
 * taken at no longer matter, path_noise.c (eq. 13) tells how well that is known, path_flow.c makes flows and equations of them,
 * path_stages.c levels stages where only time was sampled, by bursts, and path_moments.c (eq. 19) tells what paces differ by there.
 */
#include "correct/evidence/evidence.h"
#include "profiler/base/vec.h"

/* Of code in no graph: a straight run is at most so long, or branches are missing in it; ... */
enum { PATH_MOST_BYTES = 1 << 14 };

/* ... and its instructions are guessed, from the bytes up to its last one. */
static inline double path_insns_of(uint64_t n_bytes)
{
	return 1 + (double)n_bytes / 4;
}

/* A burst from its moment to its end. */
enum { PATH_PLACES = 1 << 15 };

/* A straight run and the branch that ended it: edges of one scope in pool[edge0 ..]. */
struct piece {
	int32_t scope; /* -1 = not a path in the scope's graph */
	uint32_t edge0, n_edges;
	uint32_t n_insn;     /* of the blocks entered */
	uint32_t n_branches; /* of recording.branch_kind, without one that comes back from other code */
};

struct stack {
	uint32_t piece0,
	        n_pieces; /* scope_stacks.pieces, from the moment it was taken at: newest first, or ahead */
	uint32_t near;    /* edge of the branch next to that moment, ... */
	uint32_t away;    /* ... the first piece whose branch is further off, ... */
	uint32_t newest;  /* ... and the edge of a record's newest branch, UINT32_MAX = none of it ... */
	uint16_t lead;    /* ... with the cycles from the branch before it, 0 = not known */
	uint32_t span;    /* 1 + that of its moment, where insn is a time yet (paces_apply) */
	uint32_t stage;   /* sample_seen.stage */
	double insn;      /* what it stands for ... */
	double cyc;       /* ... and for how long; 0 = no sample of cycles */
	bool broken;      /* what lay behind its last piece is no path of the scope */
	bool burst;       /* it lies ahead of its moment */
};

struct scope_stacks {
	VEC(struct stack) stacks;
	VEC(uint32_t) pieces;
	VEC(uint16_t)
	marks; /* [pieces.n] cycles from a piece's first branch to its last, 0 = not known; of a burst: its place, in PATH_PLACES of it */
	uint64_t n_seen, stride;
	bool thin_bursts;              /* bursts are passed over as other stacks are */
	uint64_t n_followed, n_broken; /* stacks, and those that end where no path of the scope goes on */
	double away_insn; /* instructions in them from calls to returns, in code that is not the scope's */
};

/* Counts between two samples of a thread. */
struct span {
	float insn, cyc;
	uint32_t next; /* 1 + the one after it */
};

/* The latest sample of a group of counters. */
struct counted {
	uint64_t insn, cyc;
	uint32_t span; /* 1 + the one that it ends, 0 = there was no sample */
};

struct paces {
	VEC(struct span) spans;
	VEC(struct counted) counters;
	VEC(uint32_t) threads; /* 1 + the span that ended last */
};

/* 1 + the span that the sample ends, or after which the burst came; 0 = nothing was counted. */
uint32_t paces_sample(struct paces *p, const struct recording *rec, const struct sample_seen *seen);
/* Once all samples were seen: stacks that have a span stand for the instructions of their time.  Their pieces are numbers in all[]. */
void paces_apply(const struct paces *p, const struct piece *all, struct scope_stacks *r);
void paces_fini(struct paces *p);

struct cached;

struct path {
	struct evidence_input in;
	struct scope_stacks *scopes;
	VEC(struct piece) all;
	VEC(uint32_t) pool;
	struct paces paces;
	bool has_stacks;
	double n_breaks,         /* stacks in which one branch less would show, ... */
	        n_newest_breaks; /* ... and those in which the newest can't follow the one before it */
	struct cached *cache;
	uint64_t maps_changes;
};

/* Without its scopes, which are the caller's. */
void path_init(struct path *s);
void path_fini(struct path *s);
void path_stacks_fini(struct scope_stacks *r);

/*
 * Addresses are looked up once: 1 + the piece from ip[0] to the branch at ip[1], to ip[2]; 0 where it is new, and the caller's to set.
 * over: it goes over a call there.
 */
uint32_t *path_known(struct path *s, int32_t scope, uint32_t pid, const uint64_t ip[3], bool over);

/*
 * How many pieces of a sample's stack are worth following; and the i-th of them, by the newer of the two branches that it lies
 * between.  Pieces count from the stack's moment: backwards in a record of the processor's, onwards in a burst, whose
 * first branches only lead away from the moment.
 *
 * A record's last piece, to its newest branch, is never followed: between that one and the one before it real
 * processors lose a branch in a quarter of records, and in which ones depends on where time goes.  The branch itself was taken.
 */
size_t path_n_pieces(const struct pd_sample *smp, bool burst);
size_t path_newer(const struct pd_sample *smp, bool burst, size_t i);

/* The edge of the branch that ended a piece. */
static inline uint32_t closing_edge(const struct path *s, uint32_t piece)
{
	const struct piece *p = &s->all.v[piece];

	return s->pool.v[p->edge0 + p->n_edges - 1];
}

/*
 * What each piece counts, weight[pieces.n], beside what its stack stands for: by the time it ended (eq. 11), in a scope whose
 * branch records tell their cycles, in a share of the window W ...
 */
bool path_has_cycles(const struct scope_stacks *r);
void path_weigh_by_cycles(const struct path *s, const struct scope_stacks *r, double share, float *weight);

/* Those of the cycles event; pieces stay r's, stacks are the caller's. */
void path_stacks_of_cycles(const struct scope_stacks *r, struct scope_stacks *out);
/* What the weights of stacks with cycles come to: instructions a cycle, to sd (eq. 10). */
void path_pace_by_cycles(const struct path *s, const struct scope_stacks *r, double *pace, double *sd);

/* Where branches were sampled: instructions a branch, to sd, by records that stand for as many branches each. */
void path_pace_by_branches(const struct path *s, const struct scope_stacks *r, size_t n_edges, double *pace,
                           double *sd);

/* ... or by its stack's newest branch (eq. 12), in rounds that each go back by about half a stack.  Two or four change as little as three. */
enum { PATH_NEAR = 3, PATH_FAR = 100 };
void path_weigh_back(const struct path *s, const struct scope_stacks *r, size_t n_edges, int rounds,
                     float *weight);

/* Weighted sums over stacks: executions of each edge, and instructions. */
struct path_tally {
	double *edge; /* [E] */
	double insn;
};

/* Add one stack, `times` times.  weight: of the pieces; NULL: each piece counts what the stack stands for. */
void path_add_stack(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                    const float *weight, double times, struct path_tally *t);

/* Sums over all stacks, weighed; what one stack weighs; and, or NULL, what half the window, or of each stack, says of as many instructions. */
struct path_means {
	const struct path_tally *mean;
	double stack;
	const struct path_tally *half;
};

/*
 * The noise of the free flows' weighed sums: cov[d][d], of the stacks' scatter, and of what weighing leaves of
 * each flow (eq. 13).  Cost: a walk along the stacks and E times the squares of the flows that an edge carries.
 */
int path_noise(const struct path *s, const struct scope_stacks *r, const float *weight,
               const struct space *space, const struct path_means *means, double *cov);

/* Where only time was sampled, by bursts: a stage's stacks stand for as many instructions as its time, be its branches few or many. */
void path_level_stages(const struct path *s, struct scope_stacks *r, const struct problem *p);

/* Moments of which only time is known, by their stacks. */
struct path_moments {
	const struct path *path;
	const struct scope_stacks *scope;
	const void *arg;
	/* Adds to n[B], by blocks of p, what piece k of a stack, scope->pieces[k], stands for. */
	void (*add_piece)(const struct path_moments *m, const struct problem *p, const struct stack *st,
	                  size_t k, double *n);
};

/* Moves draws by what the paces of moments may differ by (eq. 19). */
void path_spread_moments(const struct path_moments *m, const struct problem *p, unsigned long seed,
                         struct solution *out);

/* Is this stack one of those that are passed over, where there are very many? */
bool path_passes_over(struct scope_stacks *r, bool burst);

/* Halve what is kept of a scope with very many stacks: its bursts only where they are most. */
void path_thin(struct scope_stacks *r);

/* evidence_ops.equations */
int path_equations(void *state, size_t scope, const struct space *space, struct equations *out);

#endif
