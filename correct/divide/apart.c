/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/regions.h"

#include <stdlib.h>

#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

enum { IN_NONE = -1 };

/* A region that may be opened, and what bursts say of it. */
struct opening {
	struct flow_regions *inside; /* NULL: it is not to be opened */
	double n_bursts, n_stay;
};

struct apart {
	const struct work *w;
	struct opening *v; /* [w->regions->n] */
};

/* At least two loops have a share of its heat, and what is in none of them hardly any: nothing is lost with it. */
static bool is_made_of_loops(const struct flow_region *r, const struct flow_regions *inside)
{
	double in_loops = 0;
	size_t n = 0;

	for (size_t i = 0; i < inside->n; i++) {
		in_loops += inside->v[i].weight;
		n += inside->v[i].weight > model->little * r->weight;
	}
	return n >= 2 && in_loops >= (1 - model->little) * r->weight;
}

static bool look_inside(struct apart *a, const double *weight, double all_heat)
{
	const struct flow_regions *regions = a->w->regions;
	bool any = false;

	for (size_t i = 0; i < regions->n; i++) {
		const struct flow_region *r = &regions->v[i];
		struct flow_regions *inside =
		        flow_region_children(a->w->graph, r, weight,
		                             a->w->opts->min_share * all_heat / r->weight);

		if (is_made_of_loops(r, inside)) {
			a->v[i].inside = inside;
			any = true;
		} else {
			flow_regions_free(inside);
		}
	}
	return any;
}

/* Of the region that its first branch in one lies in: does it stay in one of the loops inside? */
static void show_burst(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct apart *a = arg;
	const struct flow_regions *regions = a->w->regions;
	struct opening *of = NULL;
	int32_t region = IN_NONE, first = IN_NONE;
	bool stays = true;

	(void)place;
	for (size_t i = 0; i < rec->sample.n_branches && stays; i++) {
		long b = recording_block(a->w->graph,
		                         recording_place(r, rec->pid, rec->sample.branches[i].from_ip));

		if (b < 0 || regions->of_block[b] < 0 || (of && regions->of_block[b] != region))
			continue;
		if (!of) {
			region = regions->of_block[b];
			of = &a->v[region];
			if (!of->inside)
				return;
			first = of->inside->of_block[b];
		}
		stays = of->inside->of_block[b] == first;
	}
	if (!of)
		return;
	of->n_bursts++;
	of->n_stay += stays;
}

/* Those that are apart give way to what is inside; whether there were any. */
static bool open_those_apart(struct work *w, struct apart *a)
{
	struct flow_regions **inside = mem_calloc(w->regions->n + 1, sizeof(struct flow_regions *));
	bool any = false;

	for (size_t i = 0; i < w->regions->n; i++) {
		struct opening *o = &a->v[i];

		if (o->n_stay > reason_limit_apart_in_time * o->n_bursts) {
			inside[i] = o->inside;
			any = true;
		} else {
			flow_regions_free(o->inside);
		}
	}
	if (any)
		flow_regions_replace(w->regions, inside, w->graph->n_blocks);
	free(inside);
	return any;
}

bool apart_unpaced(const struct work *w)
{
	return w->rec->relative && !w->sums.branch_cycles && !w->rec->branch_kind;
}

int apart_open(struct work *w, const double *weight)
{
	double all_heat = 0;
	bool more = apart_unpaced(w);
	int err = 0;

	for (size_t b = 0; b < w->graph->n_blocks; b++)
		all_heat += weight[b];
	for (int i = 0; i < EFFORT_OPENED && more && err == 0; i++) {
		struct apart a = { w, mem_calloc(w->regions->n + 1, sizeof(*a.v)) };

		more = look_inside(&a, weight, all_heat);
		if (more)
			err = recording_each(w->rec, "telling loops apart", show_burst, &a);
		if (more)
			more = open_those_apart(w, &a);
		free(a.v);
	}
	return err;
}
