/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/lost_callers.h"

#include <string.h>

#include "correct/model/model.h"

void lost_callers_free(struct lost_callers *l)
{
	pairs_fini(&l->index);
	pairs_fini(&l->funcs);
	vec_fini(&l->v);
	vec_fini(&l->on);
	vec_fini(&l->tallies);
	pairs_fini(&l->threads);
	vec_fini(&l->n_counted);
	vec_fini(&l->marks);
	*l = (struct lost_callers){ 0 };
}

uint32_t lost_callers_find(const struct lost_callers *l, const struct profile *p, uint32_t tid, uint32_t func)
{
	long k = pairs_find(&l->index, tid, func);

	return k < 0 || !l->v.v[k].last ? 0 : p->frames[l->v.v[k].last].parent;
}

static struct lost_caller *function_on(struct lost_callers *l, uint32_t tid, uint32_t func)
{
	size_t k = pairs_must(&l->index, tid, func);

	if (k == l->v.n)
		vec_add(&l->v, (struct lost_caller){ .func = func });
	if (l->v.v[k].stack != l->n_stacks) {
		l->v.v[k].stack = l->n_stacks;
		vec_add(&l->on, (uint32_t)k);
	}
	return &l->v.v[k];
}

static struct lost_tally *tally_of(struct lost_callers *l, uint32_t func)
{
	size_t k = pairs_must(&l->funcs, func, 0);

	if (k == l->tallies.n)
		vec_add(&l->tallies, (struct lost_tally){ 0 });
	return &l->tallies.v[k];
}

/* The functions of a stack, and the outermost frame of each that something called. */
static void put_on(struct lost_callers *l, const struct profile *p, uint32_t tid, uint32_t frame)
{
	bool recorded = true;

	l->n_stacks++;
	l->on.n = 0;
	for (; frame; frame = p->frames[frame].parent) {
		const struct profile_frame *f = &p->frames[frame];
		struct lost_caller *c = function_on(l, tid, f->func);

		recorded &= !(f->doubt > 0);
		/* What is inlined nobody calls. */
		if (f->func != f->phys_func || !f->parent)
			continue;
		c->now = frame;
		c->recorded = recorded && !f->open;
	}
}

/* The physical function that called a frame's. */
static uint32_t caller_of(const struct profile *p, uint32_t frame)
{
	return p->frames[p->frames[frame].parent].phys_func;
}

static void compare_callers(struct lost_callers *l, const struct profile *p, struct lost_caller *c)
{
	if (c->now && c->recorded && c->last) {
		struct lost_tally *t = tally_of(l, c->func);

		t->told++;
		t->wrong += caller_of(p, c->now) != caller_of(p, c->last);
	}
	if (c->now)
		c->last = c->now;
	c->now = 0;
}

static uint64_t number_counted(struct lost_callers *l, uint32_t tid)
{
	size_t k = pairs_must(&l->threads, tid, 0);

	if (k == l->n_counted.n)
		vec_add(&l->n_counted, 1);
	return ++l->n_counted.v[k];
}

/* The last one, and the way from there, may have been of one stack. */
static void begin_visit(struct lost_callers *l, struct lost_caller *c, uint64_t number)
{
	struct lost_tally *t = tally_of(l, c->func);

	t->visits++;
	t->brief += c->counted && c->counted == c->since;
	t->brief += c->counted && c->counted + 2 == number;
	c->since = number;
}

void lost_callers_learn(struct lost_callers *l, const struct profile *p, uint32_t tid, uint32_t frame,
                        bool counted)
{
	uint64_t number = counted ? number_counted(l, tid) : 0;

	put_on(l, p, tid, frame);
	for (size_t i = 0; i < l->on.n; i++) {
		struct lost_caller *c = &l->v.v[l->on.v[i]];

		compare_callers(l, p, c);
		if (!counted)
			continue;
		if (c->counted + 1 != number)
			begin_visit(l, c, number);
		c->counted = number;
	}
}

enum { HELD = 1, ABOVE = 2, FOUND = 4 }; /* marks of a test */

static void mark(struct lost_callers *l, uint32_t func, uint8_t how)
{
	while (l->marks.n <= func)
		vec_add(&l->marks, 0);
	l->marks.v[func] |= how;
}

void lost_callers_test(struct lost_callers *l, const struct profile *p, const struct lost_test *of)
{
	const uint32_t found = lost_callers_find(l, p, of->tid, of->func);
	bool wrong = false;

	if (!found)
		return;
	for (size_t i = 0; i < of->n_held; i++)
		mark(l, of->held[i], HELD);
	for (size_t i = 0; i < of->n_above; i++)
		mark(l, of->above[i], ABOVE);
	for (uint32_t at = found; at; at = p->frames[at].parent)
		mark(l, p->frames[at].func, FOUND);
	for (size_t f = 0; f < l->marks.n; f++)
		wrong |= l->marks.v[f] == ABOVE || l->marks.v[f] == FOUND;
	memset(l->marks.v, 0, l->marks.n);
	tally_of(l, of->func)->tested++;
	tally_of(l, of->func)->missed += wrong;
	l->n_tested++;
	l->n_wrong += wrong;
}

/* Laplace's rule of succession.  Stacks that do have a caller are other moments of a recursion than those that lack it: tests are asked first. */
static double doubt_of(const struct lost_tally *t)
{
	return t->tested >= model->few ? (t->missed + 1) / (t->tested + 2) : (t->wrong + 1) / (t->told + 2);
}

void lost_callers_judge(const struct lost_callers *l, struct profile *p)
{
	for (size_t f = 0; f < p->n_funcs; f++) {
		long k = pairs_find(&l->funcs, f, 0);

		p->funcs[f].visits = k < 0 ? 0 : l->tallies.v[k].visits;
		p->funcs[f].brief = k < 0 ? 0 : l->tallies.v[k].brief;
	}
	for (size_t i = 0; i < l->v.n; i++) {
		const struct lost_caller *c = &l->v.v[i];
		bool last = c->counted && c->counted == c->since && c->func < p->n_funcs;

		if (last)
			p->funcs[c->func].brief++;
	}
	for (size_t i = 1; i < p->n_frames; i++) {
		struct profile_frame *f = &p->frames[i];
		long k = f->doubt > 0 ? pairs_find(&l->funcs, f->func, 0) : -1;

		if (f->doubt > 0)
			f->doubt = k < 0 ? 0.5 : doubt_of(&l->tallies.v[k]);
	}
}
