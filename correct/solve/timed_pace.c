/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/timed_pace.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"

static int by_block(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The one scope that has a path's place; code that several share tells none. */
static int32_t scope_at(const struct work *w, const struct timed_path *path)
{
	long found = w->graph && path->module >= 0
	                     ? flow_block_at(w->graph, (uint32_t)path->module, path->vaddr)
	                     : -1;
	const uint32_t block = (uint32_t)found;
	int32_t scope = -1;

	for (size_t s = 0; found >= 0 && s < w->scopes.n; s++) {
		const struct flow_region *r = w->scopes.v[s].region;

		if (!bsearch(&block, r->blocks, r->n_blocks, sizeof(block), by_block))
			continue;
		if (scope >= 0)
			return -1;
		scope = (int32_t)s;
	}
	return scope;
}

static void set_scope(struct problem *p, const struct timed_rate *r)
{
	if (!p->relative || p->pace > 0 || !(r->rate > 0))
		return;
	p->pace = r->rate;
	p->total_insn = p->pace * p->total_cyc;
	p->insn_per_sample *= p->pace;
	p->total_sd = hypot(p->total_sd, (r->hi - r->rate) / gsl_cdf_ugaussian_Pinv(0.95) * p->total_cyc);
}

int timed_pace_set(struct work *w)
{
	struct timed_paths *t = &w->rec->paths;
	size_t n = w->scope_problems ? w->scopes.n : 0;
	double *share = calloc(n + 1, sizeof(*share));
	struct timed_rate *of_scope = calloc(n + 1, sizeof(*of_scope));
	double all = w->rec->cyc_event >= 0 ? w->sums.events[w->rec->cyc_event].period_sum : 0;
	int err = -SP_ENOMEM;

	if (!share || !of_scope) {
		sp_fail(SP_ENOMEM, "out of memory for the paces of %zu scopes", n);
		goto out;
	}
	for (size_t s = 0; s < n && all > 0; s++)
		share[s] = w->scope_problems[s]->total_cyc / all;
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i].loop = n ? scope_at(w, &t->v.v[i]) : -1;
	err = timed_paths_rate(t, share, n, of_scope, &w->timed);
	/* Paths are of the whole recording, and of what a clock sampled; without the core's frequency there are no cycles. */
	w->pace_timed = err == 0 && n && w->timed.rate > 0 && w->rec->relative && w->rec->cyc_is_even &&
	                !w->rec->filter && w->sums.core_hz > 0;
	for (size_t s = 0; s < n && w->pace_timed; s++)
		set_scope(w->scope_problems[s], &of_scope[s]);
out:
	free(share);
	free(of_scope);
	return err;
}
