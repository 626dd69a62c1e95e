/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/interior_impl.h"
#include "profiler/base/mem.h"

void ways_fini(struct ways *w)
{
	free(w->local);
	vec_fini(&w->reached);
	vec_fini(&w->taken);
	vec_fini(&w->later);
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

void ways_init(struct ways *w, const struct problem *p)
{
	size_t n = p->n_blocks + 1, n_edges = p->n_edges + 1;

	*w = (struct ways){ .local = mem_malloc(n * sizeof(*w->local)),
		            .n = mem_malloc(n_edges * sizeof(*w->n)),
		            .from_entry = mem_malloc(n * sizeof(*w->from_entry)),
		            .to_exit = mem_malloc(n * sizeof(*w->to_exit)),
		            .back = mem_malloc(n * sizeof(*w->back)),
		            .leads = mem_malloc(n * sizeof(*w->leads)),
		            .before = mem_malloc(n * sizeof(*w->before)),
		            .after = mem_malloc(n * sizeof(*w->after)),
		            .in0 = mem_malloc((n + 1) * sizeof(*w->in0)),
		            .in = mem_malloc(n_edges * sizeof(*w->in)) };
	vec_room(&w->reached, n);
	vec_room(&w->taken, n_edges);
	vec_room(&w->later, n_edges);
	memset(w->local, 0xff, n * sizeof(*w->local));
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

static bool is_warm(const struct finder *f, uint32_t block)
{
	return !f->warm || f->warm[block];
}

static void put_off(struct ways *w, uint32_t block, uint32_t k)
{
	w->later.v[w->later.n++] = (struct put_off){ block, k };
}

/* One of the blocks put off is reached; false when there is none left. */
static bool reach_later(struct ways *w)
{
	size_t before = w->reached.n;

	while (w->n_later < w->later.n && w->reached.n == before) {
		reach(w, w->later.v[w->n_later].block, w->later.v[w->n_later].k);
		w->n_later++;
	}
	return w->reached.n > before;
}

void ways_spread(const struct finder *f, struct ways *w, uint32_t entry, uint32_t comp)
{
	for (size_t i = 0; i < w->reached.n; i++)
		w->local[w->reached.v[i]] = NONE;
	w->reached.n = w->taken.n = w->n_back = 0;
	w->later.n = w->n_later = 0;
	reach(w, entry, NONE);
	for (size_t i = 0; i < w->reached.n || reach_later(w); i++) {
		uint32_t block = w->reached.v[i];

		for (uint32_t e = f->out0[block]; e < f->out0[block + 1]; e++) {
			uint32_t to = interior_step(f, e);

			if (to == NONE || (comp != NONE && f->comp[to] != comp))
				continue;
			if (is_warm(f, to))
				reach(w, to, (uint32_t)w->taken.n);
			else
				put_off(w, to, (uint32_t)w->taken.n);
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

static void lead(struct ways *w, uint32_t from, uint32_t k)
{
	if (w->leads[from])
		return;
	w->leads[from] = true;
	w->to_exit[from] = k;
	w->back[w->n_back++] = from;
}

static bool lead_later(struct ways *w)
{
	uint32_t before = w->n_back;

	while (w->n_later < w->later.n && w->n_back == before) {
		lead(w, w->later.v[w->n_later].block, w->later.v[w->n_later].k);
		w->n_later++;
	}
	return w->n_back > before;
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
	w->later.n = w->n_later = 0;
	for (uint32_t i = 0; i < w->n_back || lead_later(w); i++) {
		uint32_t at = w->back[i];

		for (uint32_t k = w->in0[at]; k < w->in0[at + 1]; k++) {
			uint32_t from = begin_of(f, w, w->in[k]);

			if (is_warm(f, w->reached.v[from]))
				lead(w, from, w->in[k]);
			else
				put_off(w, from, w->in[k]);
		}
	}
}

/*
 * Is a step on a way for its own sake?  Between warm blocks, or the first way to one; to a loop's header, which is
 * the exit, the last.  A call is if its callee is warm, unless it is cold itself and others are not.
 */
static bool is_wanted(const struct finder *f, const struct ways *w, uint32_t k)
{
	uint32_t edge = w->taken.v[k], to = interior_step(f, edge);
	const struct problem_edge *e = &f->p->edges[edge];

	if (is_warm(f, to) && (is_warm(f, e->from) || w->from_entry[w->local[to]] == k))
		return true;
	if (is_warm(f, to) && w->local[to] == 0 && w->back[0] == 0 && w->n_back > 1 &&
	    w->to_exit[w->back[1]] == k)
		return true;
	if (e->call < 0 || !f->callees.v[f->of[edge]].warm)
		return false;
	return is_warm(f, e->from) || is_warm(f, to) || !f->callees.v[f->of[edge]].called_warm;
}

void ways_add_up(const struct finder *f, struct ways *w)
{
	for (uint32_t k = 0; k < w->taken.n; k++) {
		uint32_t edge = w->taken.v[k];
		double n = 1;

		if (!w->leads[end_of(f, w, k)] || !is_wanted(f, w, k))
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
