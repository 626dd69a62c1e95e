/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/annotate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"

/* Farther than this, samples are seen outside the block that caused them. */
static const double short_skid_cyc = 10;

struct making {
	struct annotation *a;
	size_t cap;
};

/* A node below another, made if it isn't there; NODE_NONE when out of memory. */
static uint32_t below(struct making *x, uint32_t parent, const struct anno_node *like)
{
	struct annotation *a = x->a;
	struct anno_node *node;
	uint32_t i;

	for (i = a->nodes[parent].child; i != NODE_NONE; i = a->nodes[i].next) {
		node = &a->nodes[i];
		if (node->is_line == like->is_line && node->line == like->line &&
		    strcmp(node->file, like->file) == 0 && strcmp(node->name, like->name) == 0)
			return i;
	}
	if (vec_reserve_raw((void **)&a->nodes, &x->cap, a->n_nodes + 1, sizeof(*a->nodes)) < 0)
		return NODE_NONE;
	node = &a->nodes[a->n_nodes];
	*node = *like;
	node->parent = parent;
	node->child = NODE_NONE;
	node->next = a->nodes[parent].child;
	node->depth = a->nodes[parent].depth + !like->is_line;
	node->count = node->own = (struct profile_count){ .lo = NAN, .hi = NAN };
	node->region = node->own_region = ANNO_NO_REGION;
	a->nodes[parent].child = (uint32_t)a->n_nodes;
	return (uint32_t)a->n_nodes++;
}

/* The line of an instruction, by way of all it is put in place in. */
static uint32_t place(struct making *x, const struct listing_insn *insn)
{
	const struct listing_inlining *s = x->a->listing->inlinings + insn->inlining0;
	uint32_t at = 0;

	for (uint32_t d = 0; d < insn->n_inlinings && at != NODE_NONE; d++) {
		struct anno_node line = { .is_line = true, .name = "", .file = s[d].file, .line = s[d].line };

		if (d) {
			struct anno_node func = { .name = s[d].name,
				                  .file = s[d].file,
				                  .line = s[d].decl_line };

			at = below(x, at, &func);
		}
		if (at != NODE_NONE)
			at = below(x, at, &line);
	}
	return at;
}

/* What lies outside regions was not corrected, and is no region's. */
static int32_t region_of(const struct profile_insn *insn)
{
	return insn->block == UINT32_MAX || insn->region < 0 ? ANNO_NO_REGION : insn->region;
}

static void add_count(struct profile_count *c, int32_t *region, const struct profile_insn *insn)
{
	if (insn->count.insn > 0)
		*region = c->insn > 0 && *region != region_of(insn) ? ANNO_SEVERAL : region_of(insn);
	c->raw_insn += insn->count.raw_insn;
	c->raw_cyc += insn->count.raw_cyc;
	c->insn += insn->count.insn;
	c->cyc += insn->count.cyc;
	c->n_samples += insn->count.n_samples;
}

/* What is inlined at a line may run many times as often as the line itself: that tells where nothing of its own does. */
static void find_executed(struct annotation *a, uint32_t node, uint32_t leaf, const struct profile_insn *insn)
{
	struct anno_node *n = &a->nodes[node];
	bool own = node == leaf;

	if (!n->is_line || !(insn->count.insn > 0) || own < n->runs_own)
		return;
	n->executed = own > n->runs_own ? insn->count.insn : fmax(n->executed, insn->count.insn);
	n->runs_own = own;
}

static int make_nodes(struct making *x)
{
	struct annotation *a = x->a;
	const struct profile_func *f = &a->p->funcs[a->func];

	if (vec_reserve_raw((void **)&a->nodes, &x->cap, 1, sizeof(*a->nodes)) < 0)
		return -SP_ENOMEM;
	a->nodes[0] = (struct anno_node){ .name = f->name,
		                          .file = report_file(a->p, f->file),
		                          .line = f->line,
		                          .parent = NODE_NONE,
		                          .child = NODE_NONE,
		                          .next = NODE_NONE,
		                          .own_region = ANNO_NO_REGION,
		                          .region = ANNO_NO_REGION,
		                          .count = { .lo = NAN, .hi = NAN } };
	a->n_nodes = 1;
	for (size_t i = 0; i < a->listing->n; i++) {
		const struct listing_insn *insn = &a->listing->insns[i];

		a->leaf[i] = place(x, insn);
		if (a->leaf[i] == NODE_NONE)
			return -SP_ENOMEM;
		for (uint32_t n = a->leaf[i]; n != NODE_NONE && insn->insn != UINT32_MAX;
		     n = a->nodes[n].parent) {
			add_count(&a->nodes[n].count, &a->nodes[n].region, &a->p->insns[insn->insn]);
			profile_worst_add(&a->nodes[n].worst, a->p, &a->p->insns[insn->insn]);
			if (report_has_insn(a->p))
				find_executed(a, n, a->leaf[i], &a->p->insns[insn->insn]);
		}
		if (insn->insn != UINT32_MAX)
			add_count(&a->nodes[a->leaf[i]].own, &a->nodes[a->leaf[i]].own_region,
			          &a->p->insns[insn->insn]);
	}
	return 0;
}

/* Lines in order of file and number, then what is put in place in order of its size. */
static int by_place(const void *l, const void *r, void *nodes)
{
	const struct anno_node *x = (const struct anno_node *)nodes + *(const uint32_t *)l,
	                       *y = (const struct anno_node *)nodes + *(const uint32_t *)r;
	int order;

	if (x->is_line != y->is_line)
		return x->is_line ? -1 : 1;
	if (!x->is_line && x->count.insn != y->count.insn)
		return x->count.insn > y->count.insn ? -1 : 1;
	order = strcmp(x->file, y->file);
	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x > y) - (x < y);
}

/* Copy a node and all below it, in order, to the end of `to`; its new number. */
static int copy_sorted(const struct annotation *a, uint32_t from, uint32_t parent, struct anno_node *to,
                       uint32_t *n, uint32_t *number)
{
	uint32_t self = (*n)++, last = NODE_NONE, *children;
	size_t n_children = 0;
	int err = 0;

	number[from] = self;
	to[self] = a->nodes[from];
	to[self].parent = parent;
	to[self].child = to[self].next = NODE_NONE;
	for (uint32_t i = a->nodes[from].child; i != NODE_NONE; i = a->nodes[i].next)
		n_children++;
	children = calloc(n_children + 1, sizeof(*children));
	if (!children)
		return sp_fail(SP_ENOMEM, "out of memory for %zu lines", a->n_nodes);
	n_children = 0;
	for (uint32_t i = a->nodes[from].child; i != NODE_NONE; i = a->nodes[i].next)
		children[n_children++] = i;
	qsort_r(children, n_children, sizeof(*children), by_place, a->nodes);
	for (size_t i = 0; i < n_children && err == 0; i++) {
		uint32_t at = *n;

		if (last == NODE_NONE)
			to[self].child = at;
		else
			to[last].next = at;
		last = at;
		err = copy_sorted(a, children[i], self, to, n, number);
	}
	to[self].end = *n;
	free(children);
	return err;
}

static int sort_nodes(struct annotation *a)
{
	struct anno_node *sorted = calloc(a->n_nodes + 1, sizeof(*sorted));
	uint32_t *number = calloc(a->n_nodes + 1, sizeof(*number)), n = 0;
	int err = sorted && number ? copy_sorted(a, 0, NODE_NONE, sorted, &n, number)
	                           : sp_fail(SP_ENOMEM, "out of memory for %zu lines", a->n_nodes);

	if (err == 0) {
		for (size_t i = 0; i < a->listing->n; i++)
			a->leaf[i] = number[a->leaf[i]];
		free(a->nodes);
		a->nodes = sorted;
		sorted = NULL;
	}
	free(sorted);
	free(number);
	return err;
}

/* The interval of a count over instructions whose lines are in [first, end). */
static void find_interval(const struct annotation *a, uint32_t first, uint32_t end, uint32_t *insns,
                          struct profile_count *c)
{
	bool corrected = false;
	double mean;
	size_t n = 0;

	for (size_t i = 0; i < a->listing->n; i++) {
		uint32_t at = a->listing->insns[i].insn;

		if (at == UINT32_MAX || a->leaf[i] < first || a->leaf[i] >= end)
			continue;
		insns[n++] = at;
		corrected = corrected || a->p->insns[at].block != UINT32_MAX;
	}
	if (corrected && report_has_insn(a->p))
		profile_interval(a->p, insns, n, &mean, &c->lo, &c->hi);
}

/* Of every line and function. */
static int find_intervals(struct annotation *a)
{
	uint32_t *insns = calloc(a->listing->n + 1, sizeof(*insns));
	int err = insns ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu instructions", a->listing->n);

	for (uint32_t i = 0; i < a->n_nodes && err == 0; i++) {
		struct anno_node *node = &a->nodes[i];

		find_interval(a, i, node->end, insns, &node->count);
		if (node->is_line && node->child != NODE_NONE)
			find_interval(a, i, i + 1, insns, &node->own);
		else {
			node->own = node->count;
			node->own_region = node->region;
		}
		node->status = profile_judge(profile_worst_status(&node->worst), &node->count);
	}
	free(insns);
	return err;
}

static void find_blocks(struct annotation *a)
{
	uint32_t module = a->p->funcs[a->func].module;

	for (size_t i = 0; i < a->listing->n; i++) {
		const struct profile_trips *loops[ANNO_MAX_LOOPS];
		long b = profile_block_at(a->p, module, a->listing->insns[i].vaddr);
		size_t depth;

		a->block[i] = b < 0 ? UINT32_MAX : (uint32_t)b;
		depth = annotation_loops(a, i, loops);
		if (depth > a->max_depth)
			a->max_depth = (uint32_t)depth;
	}
}

static int sum_regions(struct annotation *a)
{
	a->of_region = calloc(a->p->n_regions + 1, sizeof(*a->of_region));
	if (!a->of_region)
		return sp_fail(SP_ENOMEM, "out of memory for an annotation");
	for (size_t i = 0; i < a->listing->n; i++) {
		int32_t r = annotation_region(a, i);
		double insn = r < 0 ? 0 : a->p->insns[a->listing->insns[i].insn].count.insn;

		if (insn > 0) {
			a->n_regions += !(a->of_region[r] > 0);
			a->of_region[r] += insn;
		}
	}
	return 0;
}

int annotation_new(const struct profile *p, uint32_t func, struct listing_modules *modules,
                   struct annotation **out)
{
	struct making x = { .a = calloc(1, sizeof(struct annotation)) };
	struct annotation *a = x.a;
	int err;

	if (!a)
		return sp_fail(SP_ENOMEM, "out of memory for an annotation");
	a->p = p;
	a->func = func;
	err = listing_new(p, func, modules, &a->listing);
	if (err == 0) {
		a->leaf = calloc(a->listing->n + 1, sizeof(*a->leaf));
		a->block = calloc(a->listing->n + 1, sizeof(*a->block));
		err = a->leaf && a->block ? make_nodes(&x)
		                          : sp_fail(SP_ENOMEM, "out of memory for an annotation");
	}
	if (err == 0)
		err = sort_nodes(a);
	if (err == 0)
		err = find_intervals(a);
	if (err == 0) {
		find_blocks(a);
		a->total = a->nodes[0].count.insn;
		a->total_raw = a->nodes[0].count.raw_insn;
		a->total_cyc = a->nodes[0].count.cyc;
		err = sum_regions(a);
	}
	if (err == 0) {
		*out = a;
		return 0;
	}
	annotation_free(a);
	return err;
}

void annotation_free(struct annotation *a)
{
	if (!a)
		return;
	listing_free(a->listing);
	free(a->nodes);
	free(a->leaf);
	free(a->block);
	free(a->of_region);
	free(a);
}

int32_t annotation_region(const struct annotation *a, size_t insn)
{
	uint32_t at = a->listing->insns[insn].insn;

	return at == UINT32_MAX ? ANNO_NO_REGION : region_of(&a->p->insns[at]);
}

double annotation_share_insn(const struct annotation *a, const struct profile_count *c, int32_t region)
{
	if (!a->p->meta.relative)
		return a->total > 0 ? c->insn / a->total : NAN;
	if (!(c->insn > 0))
		return 0;
	return region < 0 ? NAN : c->insn / a->of_region[region];
}

size_t annotation_loops(const struct annotation *a, size_t insn,
                        const struct profile_trips *loops[ANNO_MAX_LOOPS])
{
	uint32_t t = a->block[insn] == UINT32_MAX ? UINT32_MAX : a->p->blocks[a->block[insn]].trips;
	size_t n = 0;

	for (; t != UINT32_MAX && n < ANNO_MAX_LOOPS; t = a->p->trips[t].parent)
		loops[n++] = &a->p->trips[t];
	return n;
}

const struct profile_way *annotation_taken(const struct annotation *a, size_t insn)
{
	const struct listing_insn *l = &a->listing->insns[insn];
	const struct profile_block *b = a->block[insn] == UINT32_MAX ? NULL : &a->p->blocks[a->block[insn]];

	if (!b || l->kind != LISTING_BRANCH || l->vaddr + l->size_bytes != b->end_vaddr)
		return NULL;
	for (uint32_t i = b->out0; i < b->out0 + b->n_out; i++)
		if (a->p->ways[i].taken)
			return &a->p->ways[i];
	return NULL;
}

static bool skid_is_short(const struct profile_meta *m)
{
	if (m->pmu && strcmp(m->pmu, "clock") == 0)
		return true;
	return m->skid_source != SKID_NONE && m->skid_median_cyc <= short_skid_cyc;
}

void annotation_stall(const struct annotation *a, size_t insn, char *out, size_t size)
{
	enum {
		BACK = 4
	}; /* instructions, of which the first that is not done holds up the one that was seen */
	const struct listing_insn *l = a->listing->insns;
	uint32_t at = l[insn].insn;

	out[0] = '\0';
	if (at == UINT32_MAX || !skid_is_short(&a->p->meta) ||
	    !(a->p->insns[at].count.cyc > 0.1 * a->total_cyc))
		return;
	for (size_t i = insn; i-- > 0 && i + BACK >= insn;) {
		if (a->block[i] != a->block[insn])
			return;
		if (!l[i].waits)
			continue;
		snprintf(out, size, "may be the wait for 0x%jx", (uintmax_t)l[i].vaddr);
		return;
	}
}

/* The loop period is that of the region that holds most of the function. */
void annotation_skid(const struct annotation *a, char *out, size_t size)
{
	const struct profile_meta *m = &a->p->meta;
	const struct profile_region *most = NULL;
	double best = 0;
	const char *seen = report_has_other(a->p) ? "events" : "cycles";
	char periods[32];

	out[0] = '\0';
	if (skid_is_short(m) || m->skid_source == SKID_NONE || !isfinite(m->skid_median_cyc))
		return;
	for (size_t i = 0; i < a->listing->n; i++) {
		uint32_t at = a->listing->insns[i].insn;
		const struct profile_insn *insn = at == UINT32_MAX ? NULL : &a->p->insns[at];

		if (!insn || insn->region < 0 || !(insn->count.cyc > best))
			continue;
		best = insn->count.cyc;
		most = &a->p->regions[insn->region];
	}
	if (most && isfinite(most->skid_periods) && most->skid_periods >= 0.05) {
		snprintf(periods, sizeof(periods), most->skid_periods < 10 ? "%.2g" : "%.0f",
		         most->skid_periods);
		snprintf(out, size,
		         "%s were seen some %.0f cycles after their cause, %s iterations of the hottest "
		         "loop: they hold for loops, not for single lines",
		         seen, m->skid_median_cyc, periods);
	} else {
		snprintf(out, size,
		         "%s were seen some %.0f cycles after their cause: they may be of lines before", seen,
		         m->skid_median_cyc);
	}
}
