/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The regions of a profile, with what --why shows of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"

static uint64_t last_vaddr(const struct flow_graph *g, const struct flow_block *b)
{
	return b->n_insn ? g->insns[b->insn0 + b->n_insn - 1].vaddr : b->vaddr;
}

/* Code of the header's own function, not of one inlined there: the last branch back to it, as loops are named, or itself. */
static uint64_t place_of(struct assembly *a, const struct flow_block *head, struct module *m)
{
	const struct flow_graph *g = a->w->graph;
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	uint64_t found = 0;

	for (uint32_t i = head->in0; i < head->in0 + head->n_in; i++) {
		const struct flow_block *from = &g->blocks[g->edges[g->in[i]].from];
		uint64_t vaddr = last_vaddr(g, from);

		if (from->func == head->func && vaddr >= head->vaddr && vaddr > found &&
		    module_inlinings(m, vaddr, inlinings) == 1)
			found = vaddr;
	}
	for (uint32_t i = 0; i < head->n_insn && !found; i++)
		if (module_inlinings(m, g->insns[head->insn0 + i].vaddr, inlinings) == 1)
			found = g->insns[head->insn0 + i].vaddr;
	return found ? found : head->vaddr;
}

/*
 * Of the loops a region is made of, the one it is named after: of the hot ones the first in its file.  Which is the hottest may change
 * from one recording to the next.
 */
static uint32_t first_header(const struct flow_graph *g, const struct flow_region *reg)
{
	uint32_t first = reg->header;

	for (size_t i = 0; i < reg->n_main; i++)
		if (reg->headers[i] < first && g->blocks[reg->headers[i]].module == g->blocks[first].module)
			first = reg->headers[i];
	return first;
}

/* Cut off, the brackets of a name would not match, and nothing of it could be folded. */
enum { NAME_BYTES = 4096, MOST_OF_NAME = 3900 };

static const char *region_name(struct assembly *a, uint32_t header)
{
	const struct flow_block *head = &a->w->graph->blocks[header];
	struct module *m = a->w->rec->modules[head->module];
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	size_t n = module_inlinings(m, head->vaddr, inlinings);
	const char *file = NULL, *slash;
	char name[NAME_BYTES + 128], func[NAME_BYTES];
	unsigned line = 0;

	snprintf(func, sizeof(func), "%.*s", MOST_OF_NAME, n ? inlinings[n - 1].name : "[unknown]");
	module_line(m, place_of(a, head, m), &file, &line);
	slash = file ? strrchr(file, '/') : NULL;
	if (file && line)
		snprintf(name, sizeof(name), "%s (%.100s:%u)", func, slash ? slash + 1 : file, line);
	else
		snprintf(name, sizeof(name), "%s (0x%jx)", func, (uintmax_t)head->vaddr);
	return profile_string(a->p, name);
}

static double samples_in(const struct problem *p)
{
	double sum = 0;

	double period = p->relative ? p->cyc_per_sample : p->insn_per_sample;

	for (size_t i = 0; i < p->n_insns; i++)
		sum += p->relative ? p->seen_cyc[i] : p->seen_insn[i];
	return period > 0 ? sum / period : 0;
}

/* Cycles between two executions of the block that runs most: an iteration of the innermost hot loop. */
static double iteration_cyc(const struct problem *p, const struct solution *sol)
{
	double most = 0;

	for (size_t b = 0; b < p->n_blocks && sol->n_draws; b++)
		most = fmax(most, (double)sol->draws[b]);
	return most > 0 ? p->total_cyc / most : NAN;
}

/* The equations of all scopes of a region, in a row. */
static void copy_equations(struct assembly *a, size_t r, struct profile_region *out)
{
	const struct work *w = a->w;
	size_t n = 0;

	for (size_t s = 0; s < w->scopes.n; s++)
		n += w->scopes.v[s].parent == r ? w->equations[s].n : 0;
	out->equations = mem_calloc(n + 1, sizeof(*out->equations));
	/* What the equations came to in a flow that was given up is of no use. */
	for (size_t s = 0; s < w->scopes.n && !w->solutions[r].averaged; s++) {
		if (w->scopes.v[s].parent != r || !w->equations[s].n)
			continue;
		for (size_t i = 0; i < w->equations[s].n; i++) {
			struct profile_equation *eq = &out->equations[out->n_equations];

			*eq = w->equations[s].v[i];
			eq->event = profile_string(a->p, eq->event);
			eq->part = out->n_parts;
			out->n_equations++;
		}
		out->n_parts++;
	}
}

static void fill_region(struct assembly *a, size_t r)
{
	const struct work *w = a->w;
	const struct problem *prob = w->problems[r];
	const uint32_t header = first_header(w->graph, &w->regions->v[r]);
	struct solution *sol = &w->solutions[r];
	struct profile_region *out = &a->p->regions[r];
	double n_samples = samples_in(prob), iteration = iteration_cyc(prob, sol);

	*out = (struct profile_region){
		.name = region_name(a, header),
		.module = w->graph->blocks[header].module,
		.vaddr = w->graph->blocks[header].vaddr,
		.n_blocks = (uint32_t)prob->n_blocks,
		.n_edges = (uint32_t)prob->n_edges,
		.n_free = sol->n_free,
		.n_rank = sol->n_rank,
		.n_unseen = sol->n_unseen,
		.insn = prob->total_insn,
		.cyc = prob->total_cyc,
		.n_samples = n_samples,
		.called_insn = sol->called_insn,
		.untaken_insn = sol->untaken_insn,
		.total_sd = prob->total_insn > 0 ? sol->total_sd / prob->total_insn : 0,
		.skid_periods = iteration > 0 && !w->rec->cyc_is_other
		                        ? skid_dist_quantile(&w->skid, 0.5) / iteration
		                        : NAN,
		.status = assemble_status(w, r),
		.averaged = sol->averaged,
		.contradicted = sol->contradicted,
		.misled = sol->misled,
		.evidence = sol->evidence,
		.why = profile_string(a->p, sol->why),
	};
	for (size_t i = 0; i < prob->n_insns; i++)
		out->raw_insn += prob->seen_insn[i];
	copy_equations(a, r, out);
	/* The draws change owner. */
	out->draws = sol->draws;
	out->n_draws = sol->n_draws;
	sol->draws = NULL;
	out->doubt = sol->doubt;
	sol->doubt = NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct profile_region *const *)a)->name, (*(struct profile_region *const *)b)->name);
}

/* Of regions with one name, each gets its address. */
static void tell_apart(struct profile *p)
{
	struct profile_region **r = mem_calloc(p->n_regions + 1, sizeof(*r));
	char name[NAME_BYTES + 256];

	for (size_t i = 0; i < p->n_regions; i++)
		r[i] = &p->regions[i];
	qsort(r, p->n_regions, sizeof(struct profile_region *), by_name);
	for (size_t i = 0, end; i < p->n_regions; i = end) {
		const char *shared = r[i]->name;

		for (end = i + 1; end < p->n_regions && strcmp(r[end]->name, shared) == 0; end++)
			;
		for (size_t k = i; k < end && end - i > 1; k++) {
			snprintf(name, sizeof(name), "%s at 0x%jx", shared, (uintmax_t)r[k]->vaddr);
			r[k]->name = profile_string(p, name);
		}
	}
	free(r);
}

/*
 * A region that was solved in parts is as many instructions as those and the code between them came to: it is the sum of its rows,
 * in every table.  What is 0 there, for none were counted or corrected, stays.
 */
static void sum_parts(struct profile *p)
{
	double *sums = mem_calloc(p->n_regions + 1, sizeof(*sums));

	for (size_t i = 0; i < p->n_insns; i++)
		if (p->insns[i].region >= 0)
			sums[p->insns[i].region] += p->insns[i].count.insn;
	for (size_t r = 0; r < p->n_regions; r++)
		if (sums[r] > 0)
			p->regions[r].insn = sums[r];
	free(sums);
}

void assemble_regions(struct assembly *a)
{
	size_t n = a->w->regions ? a->w->regions->n : 0;

	a->p->regions = mem_calloc(n + 1, sizeof(*a->p->regions));
	a->p->n_regions = n;
	for (size_t r = 0; r < n; r++)
		fill_region(a, r);
	sum_parts(a->p);
	tell_apart(a->p);
	for (size_t i = 0; i < a->p->n_insns; i++) {
		struct profile_insn *insn = &a->p->insns[i];

		if (insn->region >= 0 && a->p->regions[insn->region].status == PROFILE_UNRELIABLE)
			insn->status = PROFILE_UNRELIABLE;
	}
}
