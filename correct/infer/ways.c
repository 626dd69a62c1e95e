/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/interior_impl.h"

void ways_fini(struct ways *w)
{
	free(w->local);
	vec_fini(&w->reached);
	vec_fini(&w->taken);
	free(w->n);
	free(w->from_entry);
	free(w->to_exit);
	free(w->back);
	free(w->leads);
	free(w->before);
	free(w->after);
	free(w->in0);
	free(w->in);
}

int ways_init(struct ways *w, const struct problem *p)
{
	size_t n = p->n_blocks + 1, n_edges = p->n_edges + 1;

	*w = (struct ways){ .local = malloc(n * sizeof(*w->local)),
		            .n = malloc(n_edges * sizeof(*w->n)),
		            .from_entry = malloc(n * sizeof(*w->from_entry)),
		            .to_exit = malloc(n * sizeof(*w->to_exit)),
		            .back = malloc(n * sizeof(*w->back)),
		            .leads = malloc(n * sizeof(*w->leads)),
		            .before = malloc(n * sizeof(*w->before)),
		            .after = malloc(n * sizeof(*w->after)),
		            .in0 = malloc((n + 1) * sizeof(*w->in0)),
		            .in = malloc(n_edges * sizeof(*w->in)) };
	if (!w->local || !w->n || !w->from_entry || !w->to_exit || !w->back || !w->leads || !w->before ||
	    !w->after || !w->in0 || !w->in || vec_reserve(&w->reached, n) < 0 ||
	    vec_reserve(&w->taken, n_edges) < 0)
		return sp_fail(SP_ENOMEM, "out of memory for a region of %zu blocks", p->n_blocks);
	memset(w->local, 0xff, n * sizeof(*w->local));
	return 0;
}

static void reach(struct ways *w, uint32_t block, uint32_t along)
{
	uint32_t at = (uint32_t)w->reached.n;

	if (w->local[block] != NONE)
		return;
	w->local[block] = at;
	w->from_entry[at] = along;
	w->to_exit[at] = NONE;
	w->leads[at] = false;
	w->before[at] = w->after[at] = 0;
	w->reached.v[w->reached.n++] = block;
}

void ways_spread(const struct finder *f, struct ways *w, uint32_t entry, uint32_t comp)
{
	for (size_t i = 0; i < w->reached.n; i++)
		w->local[w->reached.v[i]] = NONE;
	w->reached.n = w->taken.n = w->n_back = 0;
	reach(w, entry, NONE);
	for (size_t i = 0; i < w->reached.n; i++) {
		uint32_t block = w->reached.v[i];

		for (uint32_t e = f->out0[block]; e < f->out0[block + 1]; e++) {
			uint32_t to = interior_step(f, e);

			if (to == NONE || (comp != NONE && f->comp[to] != comp))
				continue;
			reach(w, to, (uint32_t)w->taken.n);
			w->n[w->taken.n] = 0;
			w->taken.v[w->taken.n++] = e;
		}
	}
}

void ways_exit(struct ways *w, uint32_t block)
{
	uint32_t at = w->local[block];

	if (at == NONE || w->leads[at])
		return;
	w->leads[at] = true;
	w->back[w->n_back++] = at;
}

static uint32_t begin_of(const struct finder *f, const struct ways *w, uint32_t k)
{
	return w->local[f->p->edges[w->taken.v[k]].from];
}

static uint32_t end_of(const struct finder *f, const struct ways *w, uint32_t k)
{
	return w->local[interior_step(f, w->taken.v[k])];
}

void ways_search(const struct finder *f, struct ways *w)
{
	memset(w->in0, 0, (w->reached.n + 2) * sizeof(*w->in0));
	for (uint32_t k = 0; k < w->taken.n; k++)
		w->in0[end_of(f, w, k) + 2]++;
	for (size_t i = 1; i < w->reached.n; i++)
		w->in0[i + 1] += w->in0[i];
	for (uint32_t k = 0; k < w->taken.n; k++)
		w->in[w->in0[end_of(f, w, k) + 1]++] = k;
	for (uint32_t i = 0; i < w->n_back; i++) {
		uint32_t at = w->back[i];

		for (uint32_t k = w->in0[at]; k < w->in0[at + 1]; k++) {
			uint32_t from = begin_of(f, w, w->in[k]);

			if (w->leads[from])
				continue;
			w->leads[from] = true;
			w->to_exit[from] = w->in[k];
			w->back[w->n_back++] = from;
		}
	}
}

void ways_add_up(const struct finder *f, struct ways *w)
{
	for (uint32_t k = 0; k < w->taken.n; k++) {
		uint32_t edge = w->taken.v[k];
		double n = 1;

		if (!w->leads[end_of(f, w, k)])
			continue;
		if (f->p->edges[edge].call >= 0)
			n = fmax(1, f->callees.v[f->of[edge]].need / f->callees.v[f->of[edge]].n_calls);
		w->n[k] += n;
		w->before[begin_of(f, w, k)] += n;
		w->after[end_of(f, w, k)] += n;
	}
	for (size_t i = w->reached.n; i-- > 1;) {
		w->n[w->from_entry[i]] += w->before[i];
		w->before[begin_of(f, w, w->from_entry[i])] += w->before[i];
	}
	for (uint32_t i = w->n_back; i-- > 0;) {
		uint32_t at = w->back[i], k = w->to_exit[at];

		if (k == NONE)
			continue;
		w->n[k] += w->after[at];
		w->after[end_of(f, w, k)] += w->after[at];
	}
}
