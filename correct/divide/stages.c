/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/stages.h"

#include <stdlib.h>

#include "correct/model/model.h"
#include "profiler/base/mem.h"

enum { NO_LABEL = -3 }; /* beside the parts' numbers, -1 for code in none and FLOW_SHARED */

struct stage {
	struct flow_regions *parts;
	uint32_t n_parts_met; /* with a share of the time */
	double n_bursts, n_stay;
};

struct stages {
	const struct flow_graph *graph;
	size_t n;
	struct stage *v; /* [n] of each scope */
};

/* Time of each block, as samples of the region tell it. */
static void take_heat(const struct problem *p, double *heat)
{
	for (size_t b = 0; b < p->n_blocks; b++)
		heat[p->blocks[b].graph_block] = problem_time(p, &p->blocks[b]);
}

/* How many of the parts, code in none being one, hold a share of the time. */
static uint32_t count_met(const struct flow_region *r, const struct flow_regions *parts, const double *heat)
{
	double none = 0, all = 0;
	uint32_t n = 0;

	for (size_t i = 0; i < r->n_blocks; i++) {
		all += heat[r->blocks[i]];
		if (parts->of_block[r->blocks[i]] == -1)
			none += heat[r->blocks[i]];
	}
	for (size_t k = 0; k < parts->n; k++)
		n += parts->v[k].weight > model->little * all;
	return n + (none > model->little * all);
}

struct stages *stages_begin(const struct work *w)
{
	struct stages *st = mem_calloc(1, sizeof(*st));
	double *heat = mem_calloc(w->graph->n_blocks + 1, sizeof(*heat));

	*st = (struct stages){ w->graph, w->scopes.n, mem_calloc(w->scopes.n + 1, sizeof(*st->v)) };
	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct scope *scope = &w->scopes.v[s];

		take_heat(w->problems[scope->parent], heat);
		st->v[s].parts = flow_region_parts(w->graph, scope->region, heat, model->least, NULL);
		st->v[s].n_parts_met = count_met(scope->region, st->v[s].parts, heat);
	}
	free(heat);
	return st;
}

static int32_t label_at(const struct stages *st, const struct stage *stage, const struct recording *r,
                        uint32_t pid, uint64_t ip)
{
	long b = recording_block(st->graph, recording_place(r, pid, ip));

	return b < 0 ? -1 : stage->parts->of_block[b];
}

uint32_t stages_sample(struct stages *st, const struct recording *r, const struct pd_record *rec,
                       int32_t scope)
{
	const struct pd_sample *smp = &rec->sample;
	struct stage *of = scope < 0 ? NULL : &st->v[scope];
	int32_t first = NO_LABEL;
	bool stays = true;

	if (!of || of->n_parts_met < 2 || smp->n_branches < 2)
		return 0;
	for (size_t i = 0; i < smp->n_branches && stays; i++) {
		int32_t label = label_at(st, of, r, rec->pid, smp->branches[i].from_ip);

		/* Code that several parts call is of the one that it was called from. */
		if (label == FLOW_SHARED)
			continue;
		if (first == NO_LABEL)
			first = label;
		stays = label == first;
	}
	of->n_bursts++;
	of->n_stay += stays;
	return stays && first != NO_LABEL ? (uint32_t)(first + 2) : 0;
}

void stages_end(struct stages *st, struct problem *const *scope_problems)
{
	for (size_t s = 0; s < st->n; s++)
		scope_problems[s]->stay_share =
		        st->v[s].n_bursts > 0 ? st->v[s].n_stay / st->v[s].n_bursts : 0;
}

void stages_free(struct stages *st)
{
	if (!st)
		return;
	for (size_t s = 0; st->v && s < st->n; s++)
		flow_regions_free(st->v[s].parts);
	free(st->v);
	free(st);
}
