/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flowdump ELF [FUNCTION ...]: the graph and regions of a file, with
 * the named functions hot (all without names).  Blocks are named by function
 * and offset: "main+0x1c".
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/flow/region.h"
#include "correct/flow/trips.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

static const char *const kinds[] = { "fall", "taken", "ind", "call", "ret", "skip" };

struct dump {
	struct module *module;
	struct flow_graph *graph;
	double *weight;
};

static const char *name(const struct dump *d, uint32_t block)
{
	static char text[4][300];
	static unsigned turn;
	uint64_t vaddr = d->graph->blocks[block].vaddr;
	long at = module_func_at(d->module, vaddr);
	char *t = text[turn++ % 4];

	if (at < 0)
		snprintf(t, sizeof(*text), "0x%" PRIx64, vaddr);
	else
		snprintf(t, sizeof(*text), "%s+0x%" PRIx64, module_func(d->module, (size_t)at)->linkage,
		         vaddr - module_func(d->module, (size_t)at)->vaddr);
	return t;
}

static void print_edge(const struct dump *d, const char *head, uint32_t id)
{
	const struct flow_edge *e = &d->graph->edges[id];

	printf("%s %s -> %s %s", head, name(d, e->from), name(d, e->to), kinds[e->kind]);
	if (e->kind == FLOW_RET)
		printf(" of %s", name(d, e->call));
	printf("%s\n", e->guessed ? " guessed" : "");
}

static void print_graph(const struct dump *d)
{
	const struct flow_graph *g = d->graph;

	printf("blocks %zu\nedges %zu\nfuncs %zu\n", g->n_blocks, g->n_edges, g->n_funcs);
	for (size_t i = 0; i < g->n_funcs; i++)
		printf("func %s returns %d blocks %" PRIu32 "\n", name(d, g->funcs[i].entry),
		       g->funcs[i].returns, g->funcs[i].n_blocks);
	for (uint32_t i = 0; i < g->n_blocks; i++)
		printf("block %s insns %" PRIu32 "%s%s\n", name(d, i), g->blocks[i].n_insn,
		       g->blocks[i].unknown_target ? " unknown" : "",
		       g->blocks[i].undecoded ? " undecoded" : "");
	for (uint32_t i = 0; i < g->n_edges; i++)
		print_edge(d, "edge", i);
}

static void print_region(const struct dump *d, const struct flow_region *r, const char *head)
{
	printf("%s header %s blocks %zu edges %zu headers %zu%s%s%s%s\n", head, name(d, r->header),
	       r->n_blocks, r->n_edges, r->n_headers, r->unknown_target ? " unknown" : "",
	       r->undecoded ? " undecoded" : "", r->guessed ? " guessed" : "",
	       r->recursive ? " recursive" : "");
	for (size_t i = 0; i < r->n_edges && d->graph->n_blocks < 200; i++)
		print_edge(d, "inside", r->edges[i]);
}

/* Graphviz text of the graph, for eyes. */
static void print_dot(const struct flow_graph *g)
{
	printf("digraph flow {\n\tnode [shape=box];\n");
	for (size_t i = 0; i < g->n_blocks; i++) {
		const struct flow_block *b = &g->blocks[i];

		printf("\tb%zu [label=\"%zu: %" PRIu32 "+0x%" PRIx64 "\\n%" PRIu32 " insns%s%s\"];\n", i, i,
		       b->module, b->vaddr, b->n_insn, b->unknown_target ? "\\nunknown target" : "",
		       b->undecoded ? "\\nundecoded" : "");
	}
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct flow_edge *e = &g->edges[i];

		printf("\tb%" PRIu32 " -> b%" PRIu32 " [label=\"%s%s\"%s];\n", e->from, e->to, kinds[e->kind],
		       e->guessed ? " ?" : "", e->kind >= FLOW_CALL ? ", style=dashed" : "");
	}
	printf("}\n");
}

static void print_regions(const struct dump *d)
{
	struct flow_regions *regions = flow_regions_find(d->graph, NULL, d->weight, 0, 0, NULL);

	printf("regions %zu\n", regions->n);
	for (size_t i = 0; i < regions->n; i++) {
		struct flow_regions *inner = flow_region_children(d->graph, &regions->v[i], d->weight, 0);

		print_region(d, &regions->v[i], "region");
		for (size_t k = 0; k < inner->n; k++)
			print_region(d, &inner->v[k], "child");
		flow_regions_free(inner);
	}
	flow_regions_free(regions);
}

/* Loops that are counted in the code, whoever has samples. */
static int print_trips(const struct dump *d)
{
	uint8_t *all = malloc(d->graph->n_blocks + 1);
	struct flow_trips trips;
	int err;

	if (!all)
		return sp_fail(SP_ENOMEM, "out of memory");
	memset(all, 1, d->graph->n_blocks);
	err = flow_trips_find(d->graph, &d->module, all, &trips);
	free(all);
	if (err < 0)
		return err;
	for (size_t i = 0; i < trips.n; i++)
		for (size_t k = 0; k < trips.v[i].n_entries; k++)
			printf("trip %s -> %s count %" PRIu32 "\n", name(d, trips.v[i].entries[k].from),
			       name(d, trips.v[i].header), trips.v[i].entries[k].count);
	flow_trips_fini(&trips);
	return 0;
}

static bool wanted(const struct module_func *f, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], f->linkage) == 0)
			return true;
	return argc == 2 && !f->ifunc && !strstr(f->linkage, "@plt");
}

int main(int argc, char **argv)
{
	VEC(struct flow_hot) hot = { 0 };
	struct flow_input in = { .n_modules = 1 };
	struct dump d = { 0 };
	int err = 0;

	if (argc < 2)
		return 2;
	if (module_open(argv[1], NULL, 0, &(struct module_options){ .no_debuginfod = true }, &d.module) < 0)
		return 1;
	for (size_t i = 0; i < module_n_funcs(d.module) && err == 0; i++)
		if (wanted(module_func(d.module, i), argc, argv))
			err = vec_push(&hot, (struct flow_hot){ 0, module_func(d.module, i)->vaddr, 1 });
	in.modules = (struct module *const *)&d.module;
	in.hot = hot.v;
	in.n_hot = hot.n;
	if (err == 0 && (err = flow_build(&in, &d.graph)) == 0) {
		if (getenv("DOT"))
			print_dot(d.graph);
		print_graph(&d);
		d.weight = mem_calloc(d.graph->n_blocks + 1, sizeof(double));
		for (size_t i = 0; i < d.graph->n_blocks; i++)
			d.weight[i] = 1;
		print_regions(&d);
		err = print_trips(&d);
	}
	if (err < 0)
		fprintf(stderr, "flowdump: %s\n", sp_error_text());
	flow_free(d.graph);
	free(d.weight);
	vec_fini(&hot);
	module_free(d.module);
	return err < 0;
}
