/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scope a phase: of its code, what its branch records say ran, or all where there are none. */
#include "correct/divide/phase_scopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/divide/phases.h"
#include "correct/divide/regions.h"
#include "correct/flow/ran.h"
#include "correct/model/model.h"
#include "correct/recording/branches.h"
#include "profiler/base/groups.h"
#include "profiler/base/mem.h"

/* One phase of a scope. */
struct phase {
	size_t scope;
	struct branch_sums branches;
	double n_samples;
	struct flow_regions
	        *parts; /* the loops that ran in it; NULL: not known, any of the scope's may have */
};

struct splitter {
	struct work *w;
	const struct scope_sample *samples;
	size_t n, i;
	bool unseen; /* no branch record tells what ran in a phase: its samples do */
	size_t scope_cap;
	/*
	 * Samples by thread, in order of time each: of threads that run at once each is in a phase of its own, and by time alone
	 * their samples would be a mix of these.
	 */
	struct groups by_thread;
	int32_t *of_sample;       /* [n] number of the phase, -1 = its scope has none */
	VEC(struct phase) phases; /* those of a scope in a row */
};

static void split_scope(struct splitter *sp, size_t scope)
{
	const struct scopes *s = &sp->w->scopes;
	const struct phases_opts opts = { .most = sp->unseen ? model->phases_unseen : model->phases,
		                          .min_samples = model->phase_samples,
		                          .min_apart = model->some };
	size_t n = 0, first = sp->phases.n, *at;
	uint32_t *label;
	uint8_t *phase;
	long n_phases;

	if (s->v[scope].n_samples < 2 * model->phase_samples)
		return;
	/* Each phase would have all of its code, and none could be solved. */
	if (sp->unseen && trim_is_hopeless(s->v[scope].region))
		return;
	at = mem_malloc((sp->n + 1) * sizeof(*at));
	label = mem_malloc((sp->n + 1) * sizeof(*label));
	phase = mem_malloc(sp->n + 1);
	for (size_t i = 0; i < sp->n; i++)
		if (s->of_sample[sp->by_thread.of[i]] == (int32_t)scope)
			at[n++] = sp->by_thread.of[i];
	for (size_t i = 0; i < n; i++)
		label[i] = (uint32_t)sp->samples[at[i]].block;
	n_phases = phases_find(label, n, sp->w->graph->n_blocks, &opts, phase);
	for (long k = 0; k < n_phases && n_phases > 1; k++)
		vec_add(&sp->phases, (struct phase){ .scope = scope });
	for (size_t i = 0; i < n && n_phases > 1; i++) {
		sp->of_sample[at[i]] = (int32_t)first + phase[i];
		sp->phases.v[sp->of_sample[at[i]]].n_samples++;
	}
	free(at);
	free(label);
	free(phase);
}

static void note_branches(void *arg, const struct recording *r, const struct pd_record *rec,
                          struct place place)
{
	struct splitter *sp = arg;
	int32_t phase = sp->of_sample[sp->i++];

	(void)place;
	if (phase >= 0)
		branch_sums_add(&sp->phases.v[phase].branches, r, rec);
}

/* Keep of the marks (1) what lies in the region (2). */
static void keep_region(const struct flow_graph *g, const struct flow_region *region, struct flow_ran *ran)
{
	for (size_t i = 0; i < region->n_blocks; i++)
		ran->block[region->blocks[i]] |= 2;
	for (size_t i = 0; i < region->n_edges; i++)
		ran->edge[region->edges[i]] |= 2;
	for (size_t b = 0; b < g->n_blocks; b++)
		ran->block[b] = ran->block[b] == 3;
	for (size_t e = 0; e < g->n_edges; e++)
		ran->edge[e] = ran->edge[e] == 3;
}

/* The loops of a phase, weighed by its samples. */
static void find_parts(struct splitter *sp, size_t phase, double *weight)
{
	const struct flow_graph *g = sp->w->graph;
	struct phase *ph = &sp->phases.v[phase];
	struct flow_ran ran;

	branch_sums_end(&ph->branches);
	flow_ran_find(g, ph->branches.seen.v, ph->branches.seen.n, ph->branches.runs.v, ph->branches.runs.n,
	              &ran);
	keep_region(g, sp->w->scopes.v[ph->scope].region, &ran);
	memset(weight, 0, g->n_blocks * sizeof(*weight));
	for (size_t i = 0; i < sp->n; i++)
		if (sp->of_sample[i] == (int32_t)phase)
			weight[sp->samples[i].block]++;
	ph->parts = flow_regions_find(g, &ran, weight, sp->w->opts->min_share,
	                              (1 - model->small) * ph->n_samples, &sp->w->effort);
	if (flow_effort_spent(&sp->w->effort)) {
		flow_regions_free(ph->parts);
		ph->parts = NULL;
	}
	flow_ran_fini(&ran);
}

/* The samples of a phase that are in one of its parts (NULL: all) go to that part's scope; returns how many. */
static uint32_t claim(struct splitter *sp, size_t phase, const int32_t *part_of, size_t part, int32_t scope)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sp->n; i++)
		if (sp->of_sample[i] == (int32_t)phase &&
		    (!part_of || part_of[sp->samples[i].block] == (int32_t)part)) {
			sp->w->scopes.of_sample[i] = scope;
			n++;
		}
	return n;
}

/*
 * The parts of all phases [begin, end) of a scope become scopes, the first in its place.  Samples in none stay raw.
 * Where no records tell the parts each phase is one, of all the scope's code.
 */
static void replace_scope(struct splitter *sp, size_t begin, size_t end)
{
	struct scopes *s = &sp->w->scopes;
	size_t scope = sp->phases.v[begin].scope;
	const struct scope old = s->v[scope];
	/* Which of its samples are at borders was not kept: as many of each part's. */
	double border_share = (double)old.n_border / fmax(old.n_samples, 1);
	bool replaced = false;

	for (size_t i = 0; i < sp->n; i++)
		if (s->of_sample[i] == (int32_t)scope)
			s->of_sample[i] = -1;
	for (size_t p = begin; p < end; p++) {
		struct flow_regions *parts = sp->phases.v[p].parts;
		size_t n_parts = parts ? parts->n : 1;

		for (size_t k = 0; k < n_parts; k++) {
			struct scope part = { .parent = old.parent, .owned = true };
			int32_t number = (int32_t)(replaced ? s->n : scope);

			part.region = flow_region_copy(parts ? &parts->v[k] : old.region);
			if (replaced)
				vec_room_raw((void **)&s->v, &sp->scope_cap, s->n + 1, sizeof(*s->v));
			part.n_samples = claim(sp, p, parts ? parts->of_block : NULL, k, number);
			part.n_border = (uint32_t)(border_share * part.n_samples);
			s->n += replaced;
			s->v[number] = part;
			replaced = true;
		}
	}
	if (old.owned)
		flow_region_free(old.region);
}

/* A scope becomes its phases where they are known, but for few samples. */
static void settle_scope(struct splitter *sp, size_t begin, size_t end, double *weight)
{
	double whole = 0, n = 0;

	for (size_t p = begin; p < end; p++)
		n += sp->phases.v[p].n_samples;
	for (size_t p = begin; p < end && !sp->unseen && whole <= (1 - model->most) * n; p++) {
		struct phase *ph = &sp->phases.v[p];
		double kept = 0;

		if (ph->branches.n_branches >= model->ran_branches)
			find_parts(sp, p, weight);
		for (size_t k = 0; ph->parts && k < ph->parts->n; k++)
			kept += ph->parts->v[k].weight;
		if (kept >= (1 - model->small) * ph->n_samples)
			continue;
		whole += ph->n_samples;
		flow_regions_free(ph->parts);
		ph->parts = NULL;
	}
	if (whole <= (1 - model->most) * n)
		replace_scope(sp, begin, end);
}

static int settle_all(struct splitter *sp)
{
	double *weight = mem_malloc((sp->w->graph->n_blocks + 1) * sizeof(*weight));
	int err = 0;

	if (!sp->unseen)
		err = recording_each(sp->w->rec, "telling phases apart", note_branches, sp);
	for (size_t begin = 0, end; begin < sp->phases.n && err == 0; begin = end) {
		for (end = begin; end < sp->phases.n && sp->phases.v[end].scope == sp->phases.v[begin].scope;
		     end++)
			;
		settle_scope(sp, begin, end, weight);
	}
	free(weight);
	return err;
}

int phase_scopes_split(struct work *w, const struct scope_sample *samples, size_t n)
{
	struct splitter sp = { .w = w,
		               .samples = samples,
		               .n = n,
		               .scope_cap = w->scopes.n,
		               .unseen = w->sums.n_branches < (uint64_t)model->phases * model->ran_branches ||
		                         w->sums.n_stacks < model->many };
	size_t n_scopes = w->scopes.n, n_threads = 0;
	int err = 0;

	sp.of_sample = mem_malloc((n + 1) * sizeof(*sp.of_sample));
	memset(sp.of_sample, 0xff, n * sizeof(*sp.of_sample));
	for (size_t i = 0; i < n; i++)
		n_threads = samples[i].thread < n_threads ? n_threads : samples[i].thread + 1;
	groups_make(&sp.by_thread, n, n_threads, i, samples[i].thread);
	for (size_t s = 0; s < n_scopes; s++)
		split_scope(&sp, s);
	if (sp.phases.n)
		err = settle_all(&sp);
	for (size_t p = 0; p < sp.phases.n; p++) {
		branch_sums_fini(&sp.phases.v[p].branches);
		flow_regions_free(sp.phases.v[p].parts);
	}
	vec_fini(&sp.phases);
	free(sp.of_sample);
	groups_fini(&sp.by_thread);
	return err;
}
