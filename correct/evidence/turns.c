/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/turns.h"

#include <stdlib.h>

#include "correct/flow/dominators.h"
#include "profiler/base/err.h"
#include "profiler/base/vec.h"

struct finding {
	const struct problem *p;
	uint8_t *in; /* [graph blocks] those of one loop */
	struct turn_loops *out;
};

static int by_edge(const void *a, const void *b)
{
	const struct turn_event *x = a, *y = b;

	if (x->edge != y->edge)
		return x->edge < y->edge ? -1 : 1;
	return (x->loop > y->loop) - (x->loop < y->loop);
}

/* What an edge is to the loop of f->in: enum turn_what, -1 = nothing. */
static int what_of(const struct finding *f, const struct flow_edge *e, uint32_t header)
{
	bool returns = e->kind == FLOW_RET && f->in[e->from], away = e->away || e->kind == FLOW_CALL;
	/* To its caller a return comes from the call. */
	bool from = f->in[e->kind == FLOW_RET ? e->call : e->from], to = f->in[e->to];

	if (returns || (from && !to && e->kind != FLOW_CALL))
		return TURN_LEAVES;
	if (from && !away)
		return e->to == header ? TURN_GOES_ON : -1;
	if (!to)
		return -1;
	return e->to == header && !e->away ? TURN_COMES : TURN_BREAKS_IN;
}

static int add_loop(struct finding *f, uint32_t header)
{
	const struct problem *p = f->p;
	const uint32_t loop = (uint32_t)f->out->header.n;

	if (problem_block_at(p, header) < 0)
		return 0;
	if (vec_push(&f->out->header, header) < 0)
		return -SP_ENOMEM;
	for (size_t e = 0; e < p->n_edges; e++) {
		int what = what_of(f, &p->graph->edges[p->edges[e].graph_edge], header);
		struct turn_event event = { (uint32_t)e, loop, (uint8_t)what };

		if (what >= 0 && vec_push(&f->out->events, event) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

/* Functions too large to be looked at have no loops. */
static int add_function(struct finding *f, uint32_t func)
{
	struct local_flow l;
	int err = local_flow_new(f->p->graph, func, &l);

	for (uint32_t i = 0; err == 0 && i < l.n_loops; i++) {
		for (uint32_t b = 0; b < l.n; b++)
			f->in[l.block[b]] = l.loops[i].in[b];
		err = add_loop(f, l.block[l.loops[i].header]);
		for (uint32_t b = 0; b < l.n; b++)
			f->in[l.block[b]] = 0;
	}
	local_flow_fini(&l);
	return err == -SP_EDOMAIN ? 0 : err;
}

static int sort_events(struct turn_loops *t, size_t n_edges)
{
	t->event0 = calloc(n_edges + 1, sizeof(*t->event0));
	if (!t->event0)
		return -SP_ENOMEM;
	if (t->events.n)
		qsort(t->events.v, t->events.n, sizeof(*t->events.v), by_edge);
	for (size_t i = 0; i < t->events.n; i++)
		t->event0[t->events.v[i].edge + 1]++;
	for (size_t e = 0; e < n_edges; e++)
		t->event0[e + 1] += t->event0[e];
	return 0;
}

static bool calls_itself(const struct problem *p)
{
	for (size_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].recursive)
			return true;
	return false;
}

int turn_loops_find(const struct problem *p, struct turn_loops *out)
{
	const struct flow_graph *g = p->graph;
	struct finding f = { .p = p, .in = calloc(g->n_blocks + 1, 1), .out = out };
	uint8_t *wanted = calloc(g->n_funcs + 1, 1);
	int err = f.in && wanted ? 0 : -SP_ENOMEM;

	*out = (struct turn_loops){ 0 };
	for (size_t b = 0; err == 0 && b < p->n_blocks && g->n_funcs; b++)
		wanted[g->blocks[p->blocks[b].graph_block].func] = 1;
	for (uint32_t i = 0; err == 0 && i < g->n_funcs && !calls_itself(p); i++)
		if (wanted[i])
			err = add_function(&f, i);
	if (err == 0)
		err = sort_events(out, p->n_edges);
	free(f.in);
	free(wanted);
	if (err == 0)
		return 0;
	turn_loops_fini(out);
	return sp_fail(SP_ENOMEM, "out of memory for loops of %zu blocks", p->n_blocks);
}

void turn_loops_fini(struct turn_loops *t)
{
	vec_fini(&t->header);
	vec_fini(&t->events);
	free(t->event0);
	*t = (struct turn_loops){ 0 };
}
