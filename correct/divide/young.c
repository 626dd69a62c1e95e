/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/stages.h"

#include <math.h>
#include <stdlib.h>

#include "correct/judge/reasons.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

/* Ages are counted in samples of the thread, and told apart to a sixteenth. */
enum { STEPS = 16, N_AGES = 32 * STEPS };

struct ages {
	uint32_t n[N_AGES], youngest_burst; /* n: of threads that had no burst yet, here or elsewhere */
	double all, n_bursts;
};

struct life {
	uint32_t age; /* in samples */
	bool had_burst;
};

struct young {
	size_t n;
	struct ages **v; /* [n] of each scope, NULL where it has no sample */
	VEC(struct life) thread;
};

struct young *young_begin(size_t n_scopes)
{
	struct young *y = mem_calloc(1, sizeof(*y));

	y->n = n_scopes;
	y->v = mem_calloc(n_scopes + 1, sizeof(struct ages *));
	return y;
}

void young_sample(struct young *y, uint32_t thread, int32_t scope, bool burst)
{
	struct ages *a;
	struct life *life;
	uint32_t at;

	while (y->thread.n <= thread)
		vec_add(&y->thread, (struct life){ 0 });
	/* A burst that a sample's interrupt began comes behind it, and is as old. */
	life = &y->thread.v[thread];
	life->age += !burst;
	life->had_burst |= burst;
	at = (uint32_t)(STEPS * log2(1 + life->age));
	if (scope < 0)
		return;
	if (!y->v[scope]) {
		y->v[scope] = mem_calloc(1, sizeof(*a));
		y->v[scope]->youngest_burst = N_AGES;
	}
	a = y->v[scope];
	a->n[at] += !burst && !life->had_burst;
	a->all += !burst;
	a->n_bursts += burst;
	if (burst && at < a->youngest_burst)
		a->youngest_burst = at;
}

void young_end(const struct young *y, struct problem *const *scope_problems)
{
	for (size_t s = 0; s < y->n; s++) {
		const struct ages *a = y->v[s];
		double younger = 0;

		for (uint32_t i = 0; a && i < N_AGES; i++)
			younger += i < a->youngest_burst ? a->n[i] : 0;
		/* Bursts that come at any age leave none so long without one, but by chance. */
		if (a && a->n_bursts > 0 &&
		    pow(1 - younger / a->all, a->n_bursts) < reason_limit_young_chance)
			scope_problems[s]->young_share = younger / a->all;
	}
}

void young_free(struct young *y)
{
	if (!y)
		return;
	for (size_t s = 0; s < y->n; s++)
		free(y->v[s]);
	free(y->v);
	vec_fini(&y->thread);
	free(y);
}
