/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trips (eq. 8): a loop whose trip count is in the code iterates so many times for each entry, if it is left by its count alone.
 * No sample is asked.  Stacks tell how often it is left by other ways.
 */
#include "correct/evidence/trips.h"

#include <math.h>
#include <stdlib.h>

#include "correct/evidence/evidence.h"
#include "correct/known.h"
#include "correct/model/model.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"

struct trips {
	struct evidence_input in;
	struct flow_trips loops;
};

static void end(void *state)
{
	struct trips *t = state;

	flow_trips_fini(&t->loops);
	free(t);
}

static int begin(const struct evidence_input *in, void **state)
{
	struct trips *t = mem_calloc(1, sizeof(*t));
	uint8_t *wanted = mem_calloc(in->graph ? in->graph->n_blocks + 1 : 1, 1);
	int err = 0;

	t->in = *in;
	for (size_t s = 0; in->graph && s < in->n; s++)
		for (size_t b = 0; b < in->problems[s]->n_blocks; b++)
			wanted[in->problems[s]->blocks[b].graph_block] = 1;
	if (in->graph)
		err = flow_trips_find(in->graph, in->rec->modules, wanted, &t->loops);
	free(wanted);
	if (err < 0) {
		end(t);
		return err;
	}
	*state = t;
	return 0;
}

/* Where an edge comes from within its function: a return, from the call. */
static uint32_t origin_of(const struct flow_edge *e)
{
	return e->kind == FLOW_RET ? e->call : e->from;
}

static bool carries(const struct space *space, size_t e)
{
	return equations_any(space->z + e * space->n_free, 1, space->n_free);
}

/* An assertion's end, or the like: nothing comes after it. */
static bool is_the_end(const struct flow_graph *g, uint32_t block)
{
	const struct flow_block *b = &g->blocks[block];

	return b->n_out == 0 && b->n_insn && g->insns[b->insn0 + b->n_insn - 1].flow != INSN_RET;
}

/* A way out of the loop that is not its count. */
static bool is_other_exit(const struct flow_graph *g, const struct flow_trip *t, uint32_t k)
{
	const struct flow_edge *e = &g->edges[k];

	return e->kind != FLOW_CALL && e->kind != FLOW_RET && k != t->exit && !flow_trip_holds(t, e->to) &&
	       !is_the_end(g, e->to);
}

/*
 * How often a way may have been gone that was never seen: as often as is seen once on average, by branch records
 * or by a sample of cycles in code of a cycle.  0: nothing tells.
 */
static double gone_unseen(const struct problem *p)
{
	if (p->stacked_insn > 0)
		return p->total_insn / p->stacked_insn;
	return p->total_cyc > 0 ? p->cyc_per_sample : 0;
}

/*
 * Is the count all that ends the loop?  An exit before it comes after any number of iterations.  One that was never seen may have
 * been gone by as often as is seen once: what that leaves open is noise.
 */
static bool ends_by_count(const struct problem *p, const struct flow_trip *t, const struct space *space,
                          uint32_t most, double *sd)
{
	const struct flow_graph *g = p->graph;
	bool unseen = false;

	for (size_t i = 0; i < t->n_body; i++) {
		const struct flow_block *b = &g->blocks[t->body[i]];

		for (uint32_t k = b->out0; k < b->out0 + b->n_out; k++) {
			long e = problem_edge_at(p, k);

			if (!is_other_exit(g, t, k))
				continue;
			if (e >= 0 && carries(space, (size_t)e))
				return false;
			unseen = true;
		}
	}
	if (!unseen)
		return true;
	*sd += (most - 1) / sqrt(12) * gone_unseen(p);
	return gone_unseen(p) > 0;
}

/* Back edges, less the iterations that each entry makes after its first; *most: the greatest trip count. */
static bool fill_weights(const struct problem *p, const struct flow_trip *t, const struct space *space,
                         double *w, uint32_t *most)
{
	bool entered = false;

	*most = 0;
	for (size_t i = 0; i < p->n_edges; i++) {
		const struct flow_edge *e = &p->graph->edges[p->edges[i].graph_edge];
		uint32_t count;

		if (e->to != t->header || !carries(space, i))
			continue;
		if (flow_trip_holds(t, origin_of(e)) && !e->away) {
			w[i] = 1;
			continue;
		}
		count = e->kind == FLOW_CALL || e->away ? 0 : flow_trip_count(t, origin_of(e));
		if (!count)
			return false;
		sp_debug("loop at 0x%jx: trip count %u from 0x%jx (%u ways)",
		         (uintmax_t)p->graph->blocks[t->header].vaddr, count,
		         (uintmax_t)p->graph->blocks[origin_of(e)].vaddr,
		         p->graph->blocks[origin_of(e)].n_out);
		w[i] = 1 - (double)count;
		entered = true;
		*most = count > *most ? count : *most;
	}
	return entered;
}

/* Samples in the loop's own blocks. */
static double samples_in(const struct problem *p, const struct flow_trip *t)
{
	double n = 0;

	for (size_t i = 0; i < t->n_body; i++) {
		long b = problem_block_at(p, t->body[i]);

		for (uint32_t k = 0; b >= 0 && k < p->blocks[b].n_insn; k++) {
			uint32_t insn = p->blocks[b].insn0 + k;

			if (p->cyc_per_sample > 0)
				n += p->seen_cyc[insn] / p->cyc_per_sample;
			if (p->insn_per_sample > 0 && !p->insn_counted)
				n += p->seen_insn[insn] / p->insn_per_sample;
		}
	}
	return n;
}

/*
 * A border of a scope may cut the loop: what of it ran on the other side is between none and all, by chance where it has many more
 * visits than borders, and the same way each time where borders cut most of them.
 */
static double cut_off(const struct problem *p, uint32_t most, double n_insn)
{
	double n = p->n_crossings, visits = fmax(p->total_insn / (most * n_insn), 1),
	       alike = fmin(n / visits, 1);

	return most / sqrt(12) * sqrt(n + n * fmax(n - 1, 0) * alike);
}

void trips_equation(const struct problem *p, const struct flow_trip *t, const struct space *space,
                    struct equations *out)
{
	double n_insn = p->graph->blocks[t->header].n_insn;
	struct equation *eq;
	uint32_t most;

	if (samples_in(p, t) < model->few)
		return;
	eq = equations_add(out, p->n_edges);
	if (!fill_weights(p, t, space, eq->w, &most) || most * n_insn > model->least * p->total_insn) {
		equations_drop(out);
		return;
	}
	eq->name = "trip count of a loop";
	eq->kind = PROFILE_BY_TRIPS;
	eq->sd = model->under_way * p->total_insn / n_insn + most / 2.0 + cut_off(p, most, n_insn);
	if (!ends_by_count(p, t, space, most, &eq->sd))
		equations_drop(out);
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	const struct trips *t = state;
	const struct problem *p = t->in.problems[scope];

	for (size_t i = 0; i < t->loops.n; i++)
		if (problem_block_at(p, t->loops.v[i].header) >= 0)
			trips_equation(p, &t->loops.v[i], space, out);
	return 0;
}

const struct evidence_ops evidence_trips = {
	.name = "trips",
	.begin = begin,
	.equations = equations,
	.end = end,
};
