/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/contexts.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "report/assemble/context_walk.h"
#include "report/assemble/own_noise.h"

/* Fewer paths than parts that are left out give no interval. */
enum {
	FEWEST_PATHS = 2 * CONTEXT_PARTS,
	ROUNDS = 10,
};

struct called;

/* A path's times in a cell, with what its loops look at of that; n_insn: in all of them, 0 for code in no graph, by which none is weighed. */
struct passage {
	uint32_t node, block, n, n_insn;
};

/* What is worked out of all paths but some: [n_paths] what each weighs; [n_cells] executions, counts, and what an execution stands for. */
struct weighing {
	double *weight, *ran, *fixed, *stands_for;
};

/* Where draws of a block of the graph are: in the region that has most of its instructions, so many. */
struct drawn {
	int32_t region;
	uint32_t block;
	double insn;
};

struct contexts {
	struct assembly *a;
	struct context_walk walk;
	size_t n_cells;      /* blocks of the graph, then functions, of code in none */
	double *fixed, *ran; /* [n_cells] instructions (or time, where they were not counted), executions */
	double *n_calls;     /* [n_edges] by the flow, NAN = not known */
	double *weight;      /* [n_nodes] what a call that was seen stands for */
	uint32_t *first, *of_edge,
	        *order; /* [n_edges + 1], [n_nodes] nodes by edge; [n_edges] edges by where they come first */
	struct called *called; /* [n_funcs] */
	double *unseen;        /* [n_funcs] */
	double *sum;           /* [n_funcs] */
	uint64_t n, stride;
	bool bursts;
	/* Where bursts have callers: [walk.visits.n], path by path, and where each of those begins, [n_paths + 1]. */
	struct passage *passages;
	size_t *passage0;
	struct own_noise noise;
	struct drawn *drawn; /* [graph's n_blocks] */
};

static void add_path(void *arg, const struct recording *rec, const struct pd_record *r, struct place place)
{
	struct contexts *c = arg;

	(void)place;
	if (r->sample.n_branches >= 2 && (r->event == rec->burst_event) == c->bursts &&
	    c->n++ % c->stride == 0)
		context_walk_add(&c->walk, r, c->bursts);
}

/* ---- of counts that were walked over: what a function's blocks ran, divided ---- */

/* All but part of those seen; part < 0: all. */
static double without(const float *seen, int part)
{
	double sum = 0;

	for (int i = 0; i < CONTEXT_PARTS; i++)
		sum += i == part ? 0 : (double)seen[i];
	return sum;
}

/* Of one function: calls that its contexts stand for, those that paths show, and those that the flow has and none shows. */
struct called {
	double weighed, seen, open;
};

/* Contexts whose callers are not known stand for as much as those of their function of whom they are. */
static void weigh_roots(struct contexts *c, const double *seen)
{
	const struct context_walk *w = &c->walk;

	memset(c->called, 0, c->a->p->n_funcs * sizeof(*c->called));
	for (size_t i = 0; i < w->nodes.n; i++) {
		struct called *of = &c->called[w->nodes.v[i].func];

		if (w->nodes.v[i].parent == UINT32_MAX)
			continue;
		of->weighed += c->weight[i] * seen[i];
		of->seen += seen[i];
	}
	for (size_t i = 0; i < w->nodes.n; i++) {
		const struct called *of = &c->called[w->nodes.v[i].func];

		if (w->nodes.v[i].parent == UINT32_MAX && of->weighed > 0)
			c->weight[i] = of->weighed / of->seen;
	}
}

/* One edge's calls, to those of the flow; where it doesn't tell, they are taken as their callers. */
static void weigh_edge(struct contexts *c, const double *seen, uint32_t edge)
{
	const struct context_node *nodes = c->walk.nodes.v;
	double sum = 0, factor;

	for (uint32_t i = c->first[edge]; i < c->first[edge + 1]; i++)
		sum += c->weight[nodes[c->of_edge[i]].parent] * seen[c->of_edge[i]];
	factor = sum > 0 && c->n_calls[edge] > 0 ? c->n_calls[edge] / sum : 1;
	for (uint32_t i = c->first[edge]; i < c->first[edge + 1]; i++)
		c->weight[c->of_edge[i]] = c->weight[nodes[c->of_edge[i]].parent] * factor;
}

/* What calls that were seen stand for, in the mean. */
static double mean_call(const struct contexts *c, const double *seen)
{
	double calls = 0, all = 0;

	for (uint32_t e = 0; e < c->walk.edges.n; e++) {
		double of_edge = 0;

		for (uint32_t i = c->first[e]; i < c->first[e + 1]; i++)
			of_edge += seen[c->of_edge[i]];
		if (of_edge > 0 && c->n_calls[e] > 0) {
			calls += c->n_calls[e];
			all += of_edge;
		}
	}
	return all > 0 ? calls / all : 1;
}

/*
 * Iterative proportional fitting: each edge has a factor that its contexts have beside their callers', so that its calls come to
 * those of the flow.  Edges that are nearer to the roots go first.
 */
static void fit_calls(struct contexts *c, const double *seen)
{
	const struct context_walk *w = &c->walk;
	double mean = mean_call(c, seen);

	for (size_t i = 0; i < w->nodes.n; i++)
		c->weight[i] = mean;
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < w->edges.n; i++)
			weigh_edge(c, seen, c->order[i]);
		weigh_roots(c, seen);
	}
	for (uint32_t e = 0; e < w->edges.n; e++) {
		double of_edge = 0;

		for (uint32_t i = c->first[e]; i < c->first[e + 1]; i++)
			of_edge += seen[c->of_edge[i]];
		if (!(of_edge > 0) && c->n_calls[e] > 0)
			c->called[w->edges.v[e].callee].open += c->n_calls[e];
	}
}

/* How well the flow knew them stays with the contexts, whatever counts take the flow's place. */
static void keep_noise(struct profile *p)
{
	for (size_t i = 0; i < p->n_calls; i++) {
		struct profile_call *c = &p->calls[i];

		if (c->caller != c->callee && c->n > 0 && c->hi > c->lo)
			c->context_sd = (c->hi - c->lo) / (2 * z_of_90 * c->n);
	}
}

/* Of each edge, by the flow; and of callees those that no path shows at all. */
static void ask_flow(struct contexts *c)
{
	const struct profile *p = c->a->p;

	for (size_t i = 0; i < c->walk.edges.n; i++) {
		long call = context_find_call(p, c->walk.edges.v[i].caller, c->walk.edges.v[i].callee);

		c->n_calls[i] = call < 0 ? NAN : p->calls[call].n;
	}
	for (size_t i = 0; i < p->n_calls; i++) {
		const struct profile_call *call = &p->calls[i];

		if (call->caller != call->callee && call->n > 0 &&
		    pairs_find(&c->walk.edge_index, call->caller, call->callee) < 0)
			c->unseen[call->callee] += call->n;
	}
}

/*
 * The counts that paths are weighed by, to out.  They are known as their functions' own counts are: with each part of the paths that
 * is left out goes a draw of these, so small that the parts' sum of squares has its variance once.  It is one of all blocks together:
 * a call has its code in the caller and in what it calls, and of these paths can't take one without the other.
 */
static void draw_fixed(const struct contexts *c, int part, double *out)
{
	memcpy(out, c->fixed, c->n_cells * sizeof(*out));
	/* By time no path is weighed. */
	if (part < 0 || c->a->p->meta.relative)
		return;
	for (size_t b = 0; b < c->a->w->graph->n_blocks; b++) {
		const struct drawn *d = &c->drawn[b];
		const uint32_t func = c->walk.func_of[b];
		double draw;

		if (!func || !(d->insn > 0))
			continue;
		draw = own_noise_draw(&c->noise, d->region, d->block,
		                      (size_t)part * NOISE_DRAWS / CONTEXT_PARTS) *
		               c->a->w->graph->blocks[b].n_insn -
		       d->insn;
		if (!isnan(draw))
			out[b] *= fmax(1 + draw * c->noise.wider[func - 1] / c->fixed[b] /
			                               sqrt(CONTEXT_PARTS - 1),
			               model->little);
	}
}

static void weighing_new(const struct contexts *c, struct weighing *w)
{
	*w = (struct weighing){ .weight = mem_calloc(c->walk.n_paths + 1, sizeof(*w->weight)),
		                .ran = mem_calloc(c->n_cells + 1, sizeof(*w->ran)),
		                .fixed = mem_calloc(c->n_cells + 1, sizeof(*w->fixed)),
		                .stands_for = mem_calloc(c->n_cells + 1, sizeof(*w->stands_for)) };
}

static void weighing_free(struct weighing *w)
{
	free(w->weight);
	free(w->ran);
	free(w->fixed);
	free(w->stands_for);
}

static void add_ran(const struct contexts *c, uint64_t path, double weight, double *ran)
{
	for (size_t i = c->passage0[path]; i < c->passage0[path + 1]; i++)
		ran[c->passages[i].block] += weight * c->passages[i].n;
}

/* Weighs as what it ran is to what all of them ran. */
static double weigh_path(const struct contexts *c, uint64_t path, const double *stands_for)
{
	double ran = 0, sum = 0;

	for (size_t i = c->passage0[path]; i < c->passage0[path + 1]; i++) {
		const struct passage *v = &c->passages[i];

		if (!v->n_insn || !(stands_for[v->block] > 0))
			continue;
		ran += v->n_insn;
		sum += v->n * stands_for[v->block];
	}
	return ran > 0 ? sum / ran : 1;
}

static void begin_weighing(const struct contexts *c, int part, struct weighing *w)
{
	draw_fixed(c, part, w->fixed);
	memset(w->ran, 0, c->n_cells * sizeof(*w->ran));
	for (uint64_t i = 0; i < c->walk.n_paths; i++) {
		w->weight[i] = (int)(i % CONTEXT_PARTS) != part;
		add_ran(c, i, w->weight[i], w->ran);
	}
}

/*
 * What each path stands for, where bursts have callers: they begin as time passes, so that slow code has more of them than it has
 * instructions.  Each weighs as what it ran is to what all of them ran: until they come to the counts of all blocks (the method of
 * Richardson and Lucy).  Executions are those by the weights in the end.
 */
static void weigh_paths(const struct contexts *c, int part, struct weighing *w)
{
	begin_weighing(c, part, w);
	/* Of time nobody knows what an execution of a block takes, here and there. */
	for (uint32_t round = 0; round < model->weighed_rounds && !c->a->p->meta.relative; round++) {
		for (size_t b = 0; b < c->n_cells; b++)
			w->stands_for[b] = w->fixed[b] > 0 && w->ran[b] > 0 ? w->fixed[b] / w->ran[b] : 0;
		memset(w->ran, 0, c->n_cells * sizeof(*w->ran));
		for (uint64_t i = 0; i < c->walk.n_paths; i++) {
			w->weight[i] *= weigh_path(c, i, w->stands_for);
			add_ran(c, i, w->weight[i], w->ran);
		}
	}
}

/* Divide each block's instructions as its executions on all paths; out: [n_nodes]. */
static void divide_weighed(const struct contexts *c, int part, struct weighing *w, double *out)
{
	weigh_paths(c, part, w);
	memset(out, 0, c->walk.nodes.n * sizeof(*out));
	for (uint64_t path = 0; path < c->walk.n_paths; path++)
		for (size_t i = c->passage0[path]; i < c->passage0[path + 1]; i++) {
			const struct passage *v = &c->passages[i];

			if (w->ran[v->block] > 0)
				out[v->node] +=
				        c->fixed[v->block] * w->weight[path] * v->n / w->ran[v->block];
		}
}

/* Divide each block's instructions as its executions, and of a function what calls that were not seen may have. */
static void divide(struct contexts *c, int part, double *out)
{
	const struct context_walk *w = &c->walk;

	for (size_t i = 0; i < w->nodes.n; i++)
		out[i] = without(w->nodes.v[i].calls, part);
	fit_calls(c, out);
	memset(out, 0, w->nodes.n * sizeof(*out));
	memset(c->ran, 0, c->n_cells * sizeof(*c->ran));
	for (size_t i = 0; i < w->cells.n; i++)
		c->ran[w->cells.v[i].block] +=
		        without(w->cells.v[i].ran, part) * c->weight[w->cells.v[i].node];
	for (size_t i = 0; i < w->cells.n; i++) {
		const struct context_cell *cell = &w->cells.v[i];

		if (c->ran[cell->block] > 0)
			out[cell->node] += c->fixed[cell->block] * without(cell->ran, part) *
			                   c->weight[cell->node] / c->ran[cell->block];
	}
	memset(c->sum, 0, c->a->p->n_funcs * sizeof(*c->sum));
	for (size_t i = 0; i < w->nodes.n; i++)
		c->sum[w->nodes.v[i].func] += out[i];
	for (size_t i = 0; i < w->nodes.n; i++) {
		uint32_t f = w->nodes.v[i].func;

		if (w->nodes.v[i].parent == UINT32_MAX && c->called[f].weighed > 0)
			out[i] += c->sum[f] * (c->called[f].open + c->unseen[f]) / c->called[f].weighed;
	}
}

static void contexts_free(struct contexts *c)
{
	context_walk_end(&c->walk);
	free(c->fixed);
	free(c->ran);
	free(c->first);
	free(c->of_edge);
	free(c->order);
	free(c->n_calls);
	free(c->weight);
	free(c->called);
	free(c->unseen);
	free(c->sum);
	free(c->passages);
	free(c->passage0);
	free(c->drawn);
	own_noise_free(&c->noise);
}

static void make_room(struct contexts *c)
{
	const size_t n_blocks = c->a->w->graph->n_blocks, n_edges = c->walk.edges.n,
	             n_funcs = c->a->p->n_funcs;

	c->n_cells = n_blocks + n_funcs;
	c->drawn = mem_calloc(n_blocks + 1, sizeof(*c->drawn));
	c->fixed = mem_calloc(c->n_cells + 1, sizeof(*c->fixed));
	c->ran = mem_calloc(c->n_cells + 1, sizeof(*c->ran));
	c->first = mem_calloc(n_edges + 3, sizeof(*c->first));
	c->of_edge = mem_calloc(c->walk.nodes.n + 1, sizeof(*c->of_edge));
	c->order = mem_calloc(n_edges + 1, sizeof(*c->order));
	c->n_calls = mem_calloc(n_edges + 1, sizeof(*c->n_calls));
	c->weight = mem_calloc(c->walk.nodes.n + 1, sizeof(*c->weight));
	c->called = mem_calloc(n_funcs + 1, sizeof(*c->called));
	c->unseen = mem_calloc(n_funcs + 1, sizeof(*c->unseen));
	c->sum = mem_calloc(n_funcs + 1, sizeof(*c->sum));
	c->passages = mem_calloc(c->walk.visits.n + 1, sizeof(*c->passages));
	c->passage0 = mem_calloc(c->walk.n_paths + 2, sizeof(*c->passage0));
	own_noise_new(c->a->p, &c->noise);
}

/* Nodes by edge, and edges by their least depth: that of a list sorted by counting. */
static void sort_edges(struct contexts *c)
{
	const struct context_walk *w = &c->walk;
	uint32_t *depth = mem_calloc(w->nodes.n + w->edges.n + 1, sizeof(*depth)), *least, n = 0;

	least = depth + w->nodes.n;
	for (size_t i = 0; i < w->nodes.n; i++) {
		const struct context_node *node = &w->nodes.v[i];

		if (node->parent == UINT32_MAX)
			continue;
		depth[i] = depth[node->parent] + 1;
		c->first[node->edge + 2]++;
		if (!least[node->edge] || depth[i] < least[node->edge])
			least[node->edge] = depth[i];
	}
	for (size_t e = 2; e < w->edges.n + 2; e++)
		c->first[e] += c->first[e - 1];
	for (uint32_t i = 0; i < w->nodes.n; i++)
		if (w->nodes.v[i].parent != UINT32_MAX)
			c->of_edge[c->first[w->nodes.v[i].edge + 1]++] = i;
	for (uint32_t d = 1; n < w->edges.n; d++)
		for (uint32_t e = 0; e < w->edges.n; e++)
			if (least[e] == d)
				c->order[n++] = e;
	free(depth);
}

static void add_drawn(const struct profile_insn *in, struct drawn *to)
{
	if (in->region == to->region && in->block == to->block)
		to->insn += in->count.insn;
	else if (in->count.insn > to->insn)
		*to = (struct drawn){ in->region, in->block, in->count.insn };
}

static void find_fixed(struct contexts *c)
{
	const struct profile *p = c->a->p;
	const struct flow_graph *g = c->a->w->graph;

	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *in = &p->insns[i];
		long block = flow_block_at(g, in->module, in->vaddr);

		c->fixed[block >= 0 ? (size_t)block : g->n_blocks + in->phys_func] +=
		        p->meta.relative ? in->count.raw_cyc : in->count.insn;
		if (block >= 0)
			add_drawn(in, &c->drawn[block]);
	}
}

static void keep_hidden(struct contexts *c)
{
	struct profile *p = c->a->p;

	p->n_hidden = c->walk.hidden.n;
	p->hidden = mem_calloc(p->n_hidden + 1, sizeof(*p->hidden));
	if (!p->n_hidden)
		return;
	memcpy(p->hidden, c->walk.hidden.v, p->n_hidden * sizeof(*p->hidden));
	qsort(p->hidden, p->n_hidden, sizeof(*p->hidden), order_u32);
}

static void list_passages(struct contexts *c)
{
	const struct context_walk *w = &c->walk;
	const struct flow_graph *g = c->a->w->graph;

	for (size_t i = 0; i < w->visits.n; i++) {
		const struct context_visit *v = &w->visits.v[i];
		const struct context_cell *cell = &w->cells.v[v->cell];
		uint32_t n_insn = cell->block < g->n_blocks ? g->blocks[cell->block].n_insn : 0;

		c->passages[i] = (struct passage){ cell->node, cell->block, v->n, v->n * n_insn };
		c->passage0[v->path + 1] = i + 1;
	}
}

static void keep_part(const struct contexts *c, int part, const double *insn)
{
	struct profile *p = c->a->p;

	for (size_t i = 0; i < c->walk.nodes.n; i++)
		*(part < 0 ? &p->contexts[i].insn : &p->contexts[i].without[part]) = insn[i];
}

static void divide_all(struct contexts *c)
{
	double *out = mem_calloc(c->walk.nodes.n + 1, sizeof(*out));

	for (int part = -1; part < CONTEXT_PARTS; part++) {
		divide(c, part, out);
		keep_part(c, part, out);
	}
	free(out);
}

/* Parts that nobody has taken yet: threads share them out, each of which has its own room. */
struct parts {
	const struct contexts *c;
	_Atomic int next;
};

static void *weigh_parts(void *arg)
{
	struct parts *parts = arg;
	double *out = mem_calloc(parts->c->walk.nodes.n + 1, sizeof(*out));
	struct weighing w;
	int part;

	weighing_new(parts->c, &w);
	while ((part = parts->next++) < CONTEXT_PARTS) {
		divide_weighed(parts->c, part, &w, out);
		keep_part(parts->c, part, out);
	}
	weighing_free(&w);
	free(out);
	return NULL;
}

static void divide_all_weighed(struct contexts *c)
{
	struct parts parts = { .c = c, .next = -1 };
	pthread_t other;
	bool shared;

	list_passages(c);
	shared = pthread_create(&other, NULL, weigh_parts, &parts) == 0;
	weigh_parts(&parts);
	if (shared)
		pthread_join(other, NULL);
}

static void keep_contexts(struct contexts *c)
{
	struct profile *p = c->a->p;
	const size_t n = c->walk.nodes.n;

	make_room(c);
	p->contexts = mem_calloc(n + 1, sizeof(*p->contexts));
	p->n_contexts = n;
	p->n_context_stacks = c->walk.n_stacks;
	keep_hidden(c);
	sort_edges(c);
	find_fixed(c);
	ask_flow(c);
	if (!c->walk.has_callers)
		keep_noise(p);
	if (c->walk.has_callers)
		divide_all_weighed(c);
	else
		divide_all(c);
	for (size_t i = 0; i < p->n_contexts; i++) {
		p->contexts[i].parent = c->walk.nodes.v[i].parent;
		p->contexts[i].func = c->walk.nodes.v[i].func;
	}
}

int assemble_contexts(struct assembly *a)
{
	struct contexts c = { .a = a, .bursts = a->w->rec->burst_event >= 0, .stride = 1 };
	int err;

	/* Without instructions it is time, of which bursts tell no more than their stacks do. */
	if (!a->w->opts->stacks || !a->w->graph || (a->p->meta.relative && !callers_of_bursts(a->w->rec)))
		return 0;
	if (!c.bursts)
		c.stride += a->p->meta.n_samples / EFFORT_RECORDS;
	else if (callers_of_bursts(a->w->rec))
		c.stride += a->p->meta.n_bursts / EFFORT_UNWOUND;
	context_walk_begin(&c.walk, a);
	err = recording_each(a->w->rec, "following paths", add_path, &c);
	if (err == 0 && c.walk.n_paths >= FEWEST_PATHS)
		keep_contexts(&c);
	contexts_free(&c);
	return err;
}
