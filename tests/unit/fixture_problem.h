/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_FIXTURE_PROBLEM_H
#define SKIDPROF_TESTS_FIXTURE_PROBLEM_H

/* Hand-made regions: a whole graph is one region, blocks and edges as listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correct/infer/problem.h"
#include "profiler/binary/insn.h"

struct fixture {
	struct flow_graph g;
	struct flow_region r;
	struct problem *p;
};

static inline void *fixture_array(size_t n, size_t size)
{
	void *v = calloc(n ? n : 1, size);

	assert_non_null(v);
	return v;
}

/* Is a call's callee among the edges? */
static inline bool fixture_calls(const struct flow_edge *edges, size_t n_edges, uint32_t block)
{
	for (size_t e = 0; e < n_edges; e++)
		if (edges[e].from == block && edges[e].kind == FLOW_CALL)
			return true;
	return false;
}

/* n_insn[n_blocks]; edges[n_edges] sorted by from.  SKIP edges past callees that are among them stay out of the region. */
static inline void fixture_make(struct fixture *f, const uint32_t *n_insn, size_t n_blocks,
                                const struct flow_edge *edges, size_t n_edges)
{
	memset(f, 0, sizeof(*f));
	f->g.n_blocks = f->r.n_blocks = n_blocks;
	f->g.n_edges = n_edges;
	f->g.blocks = fixture_array(n_blocks, sizeof(*f->g.blocks));
	f->r.blocks = fixture_array(n_blocks, sizeof(*f->r.blocks));
	f->g.edges = fixture_array(n_edges, sizeof(*f->g.edges));
	f->r.edges = fixture_array(n_edges, sizeof(*f->r.edges));
	f->g.in = fixture_array(n_edges, sizeof(*f->g.in));
	memcpy(f->g.edges, edges, n_edges * sizeof(*edges));
	for (size_t b = 0; b < n_blocks; b++) {
		f->g.blocks[b].insn0 = (uint32_t)f->g.n_insns;
		f->g.blocks[b].n_insn = n_insn[b];
		f->g.blocks[b].vaddr = 0x1000 + 4 * f->g.n_insns;
		f->g.n_insns += n_insn[b];
		f->g.blocks[b].end_vaddr = 0x1000 + 4 * f->g.n_insns;
		f->r.blocks[b] = (uint32_t)b;
	}
	f->g.insns = fixture_array(f->g.n_insns, sizeof(*f->g.insns));
	for (size_t i = 0; i < f->g.n_insns; i++)
		f->g.insns[i].vaddr = 0x1000 + 4 * i;
	for (size_t e = 0; e < n_edges; e++) {
		struct flow_block *b = &f->g.blocks[edges[e].from];

		if (edges[e].kind != FLOW_SKIP || !fixture_calls(edges, n_edges, edges[e].from))
			f->r.edges[f->r.n_edges++] = (uint32_t)e;
		if (b->n_out++ == 0)
			b->out0 = (uint32_t)e;
	}
	for (size_t b = 0, at = 0; b < n_blocks; b++) {
		f->g.blocks[b].in0 = (uint32_t)at;
		for (size_t e = 0; e < n_edges; e++)
			if (edges[e].to == b)
				f->g.in[at++] = (uint32_t)e;
		f->g.blocks[b].n_in = (uint32_t)at - f->g.blocks[b].in0;
	}
	f->p = problem_new(&f->g, &f->r);
	f->p->skid_known = true;
	f->p->insn_per_sample = f->p->cyc_per_sample = 1;
}

/* Its blocks are those of n functions that begin with entry[i] each, ascending. */
static inline void fixture_functions(struct fixture *f, const uint32_t *entry, size_t n)
{
	f->g.n_funcs = n;
	f->g.funcs = fixture_array(n, sizeof(*f->g.funcs));
	f->g.func_blocks = fixture_array(f->g.n_blocks, sizeof(*f->g.func_blocks));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t end = i + 1 < n ? entry[i + 1] : (uint32_t)f->g.n_blocks;

		f->g.funcs[i] = (struct flow_func){ .entry = entry[i],
			                            .block0 = entry[i],
			                            .n_blocks = end - entry[i] };
		for (uint32_t b = entry[i]; b < end; b++) {
			f->g.func_blocks[b] = b;
			f->g.blocks[b].func = i;
		}
	}
}

static inline void fixture_fini(struct fixture *f)
{
	problem_free(f->p);
	free(f->g.funcs);
	free(f->g.func_blocks);
	free(f->g.in);
	free(f->r.edges);
	free(f->g.edges);
	free(f->r.blocks);
	free(f->g.blocks);
	free(f->g.insns);
}

/* n_rungs loops' A, B and C of n_insn[3], each C falling into the next A, and a way back from the last. */
static inline void fixture_make_ladder(struct fixture *f, const uint32_t n_insn[3], uint32_t n_rungs)
{
	uint32_t *n = fixture_array((size_t)3 * n_rungs, sizeof(*n));
	struct flow_edge *edges = fixture_array((size_t)4 * n_rungs, sizeof(*edges));

	for (uint32_t i = 0; i < n_rungs; i++) {
		const uint32_t next = 3 * ((i + 1) % n_rungs);

		memcpy(n + (size_t)3 * i, n_insn, 3 * sizeof(*n));
		edges[4 * i] = (struct flow_edge){ 3 * i, 3 * i + 1, FLOW_FALL };
		edges[4 * i + 1] = (struct flow_edge){ 3 * i, 3 * i + 2, FLOW_TAKEN };
		edges[4 * i + 2] = (struct flow_edge){ 3 * i + 1, 3 * i + 2, FLOW_FALL };
		edges[4 * i + 3] = (struct flow_edge){ 3 * i + 2, next, next ? FLOW_FALL : FLOW_TAKEN };
	}
	fixture_make(f, n, (size_t)3 * n_rungs, edges, (size_t)4 * n_rungs);
	free(n);
	free(edges);
}

/* The paper's hmmer loop: 40c570, 40c612, 40c659 with n_insn instructions each. */
static inline void fixture_hmmer(struct fixture *f, const uint32_t n_insn[3])
{
	fixture_make_ladder(f, n_insn, 1);
}

#endif
