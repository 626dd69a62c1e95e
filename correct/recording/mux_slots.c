/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/mux_slots.h"

#include <math.h>
#include <stdlib.h>

#include "profiler/base/mem.h"

/* A scope's counts in the multiplexing slot of its last sample, and over all slots before. */
struct of_scope {
	uint64_t slot;
	double now, sum, squares;
};

struct thread {
	uint64_t slot, time_ns, n_all,
	        n_then; /* its samples; those at the last of the event, which was at time_ns */
};

struct mux_slots {
	int event;
	double rested;
	struct of_scope *scopes;
	VEC(struct thread) threads;
	uint64_t n_slots;
};

struct mux_slots *mux_slots_new(const struct recording *r, int event, size_t n)
{
	struct mux_slots *t;

	if (!r->rests || event < 0 || !(rests_share(r->rests, event) > 0))
		return NULL;
	t = mem_calloc(1, sizeof(*t));
	t->event = event;
	t->rested = rests_share(r->rests, event);
	t->scopes = mem_calloc(n + 1, sizeof(*t->scopes));
	return t;
}

void mux_slots_free(struct mux_slots *t)
{
	if (!t)
		return;
	vec_fini(&t->threads);
	free(t->scopes);
	free(t);
}

static void end_slot(struct of_scope *s)
{
	s->sum += s->now;
	s->squares += s->now * s->now;
	s->now = 0;
}

void mux_slots_sample(struct mux_slots *t, const struct recording *r, const struct pd_record *rec,
                      uint32_t thread, int32_t scope)
{
	struct thread *th;
	struct of_scope *s;

	if (!t)
		return;
	while (t->threads.n <= thread)
		vec_add(&t->threads, (struct thread){ 0 });
	th = &t->threads.v[thread];
	th->n_all++;
	if (rec->event != t->event)
		return;
	if (!th->slot ||
	    rests_is_rest(r->rests, rec->event, rec->time_ns - th->time_ns, th->n_all - th->n_then - 1))
		th->slot = ++t->n_slots;
	th->time_ns = rec->time_ns;
	th->n_then = th->n_all;
	if (scope < 0)
		return;
	s = &t->scopes[scope];
	if (s->slot != th->slot)
		end_slot(s);
	s->slot = th->slot;
	s->now += recording_weight(r, rec);
}

double mux_slots_sd(struct mux_slots *t, size_t scope)
{
	struct of_scope *s = t ? &t->scopes[scope] : NULL;
	double n;

	if (!s)
		return 0;
	end_slot(s);
	n = fmax((double)t->n_slots, 1);
	/* Of all slots those that were seen are a sample: where none rested, they are all there were. */
	return sqrt(t->rested * fmax(s->squares - s->sum * s->sum / n, 0));
}
