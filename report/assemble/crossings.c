/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where instructions were not counted only stacks that lead into a loop, or out of it, tell how often it is entered.  An exit that few of
 * them have seen may be met by luck, or never: then nothing is said of the loop's trips.
 */
#include <stdlib.h>

#include "profiler/base/mem.h"
#include "report/assemble/flow_impl.h"

/* Code that a stack ran: its function, and the innermost loop there, UINT32_MAX in none. */
struct ran_in {
	uint32_t func, loop;
};

struct crossings {
	const struct flow_part *x;
	uint32_t *n; /* [n_trips] stacks that ran inside and outside of it */
	uint64_t *loop_met, *func_met,
	        stack;     /* [n_trips], [graph funcs]: the stack that met it last, in no loop */
	uint64_t *counted; /* [n_trips] the stack that was counted last */
	VEC(struct ran_in) ran;
};

static void meet(struct crossings *c, uint32_t pid, uint64_t ip)
{
	const struct work *w = c->x->a->w;
	long b = recording_block(c->x->g, recording_place(w->rec, pid, ip));
	struct ran_in in;
	uint64_t *met;

	if (b < 0 || c->x->number[b] == UINT32_MAX)
		return;
	in = (struct ran_in){ c->x->g->blocks[b].func, c->x->a->p->blocks[c->x->number[b]].trips };
	met = in.loop == UINT32_MAX ? &c->func_met[in.func] : &c->loop_met[in.loop];
	if (*met == c->stack)
		return;
	*met = c->stack;
	vec_add(&c->ran, in);
}

static bool is_in(const struct profile *p, uint32_t loop, uint32_t around)
{
	while (loop != UINT32_MAX && loop != around)
		loop = p->trips[loop].parent;
	return loop == around;
}

static void show_stack(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct crossings *c = arg;
	const struct profile *p = c->x->a->p;

	(void)r;
	(void)place;
	c->stack++;
	c->ran.n = 0;
	for (size_t i = 0; i < rec->sample.n_branches; i++) {
		meet(c, rec->pid, rec->sample.branches[i].from_ip);
		meet(c, rec->pid, rec->sample.branches[i].to_ip);
	}
	for (size_t i = 0; i < c->ran.n; i++)
		for (uint32_t t = c->ran.v[i].loop; t != UINT32_MAX; t = p->trips[t].parent)
			for (size_t k = 0; k < c->ran.n && c->counted[t] != c->stack; k++)
				if (c->ran.v[k].func == c->ran.v[i].func && !is_in(p, c->ran.v[k].loop, t)) {
					c->counted[t] = c->stack;
					c->n[t]++;
				}
}

int flow_find_crossings(struct flow_part *x)
{
	struct profile *p = x->a->p;
	struct crossings c = { .x = x };
	int err;

	if (!p->meta.relative || !p->n_trips)
		return 0;
	c.n = mem_calloc(p->n_trips, sizeof(*c.n));
	c.loop_met = mem_calloc(p->n_trips, sizeof(*c.loop_met));
	c.counted = mem_calloc(p->n_trips, sizeof(*c.counted));
	c.func_met = mem_calloc(x->g->n_funcs + 1, sizeof(*c.func_met));
	err = recording_each(x->a->w->rec, "counting trips", show_stack, &c);
	for (size_t t = 0; t < p->n_trips; t++)
		p->trips[t].hardly_seen = c.n[t] < PROFILE_MIN_BURSTS;
	free(c.n);
	free(c.loop_met);
	free(c.counted);
	free(c.func_met);
	vec_fini(&c.ran);
	return err;
}
