/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/solve/cold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/interior.h"
#include "correct/infer/space.h"
#include "correct/model/model.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

static double samples_of(const struct problem *p, double insn, double cyc)
{
	return (p->insn_per_sample > 0 ? insn / p->insn_per_sample : 0) +
	       (p->cyc_per_sample > 0 ? cyc / p->cyc_per_sample : 0);
}

static double samples_in(const struct problem *p, const struct problem_block *b)
{
	double insn = 0, cyc = 0;

	for (uint32_t i = b->insn0; i < b->insn0 + b->n_insn; i++) {
		insn += p->seen_insn[i];
		cyc += p->seen_cyc[i];
	}
	return samples_of(p, insn, cyc);
}

/* A cut, while others are tried. */
struct cut {
	const struct problem *p;
	const bool *can; /* [E] the edges that may carry flow if nothing is left out */
	const uint8_t *on_record;
	double *n; /* [B] samples */
	bool *warm, *usable;
	double *f;
	size_t n_free;
	double outside; /* samples in what it leaves out */
};

/* Blocks on no usable edge. */
static void mark_cold(const struct problem *p, const bool *usable, bool *is_cold)
{
	memset(is_cold, true, p->n_blocks * sizeof(*is_cold));
	for (size_t e = 0; e < p->n_edges; e++)
		if (usable[e])
			is_cold[p->edges[e].from] = is_cold[p->edges[e].to] = false;
}

/* The cut without blocks of fewer than `least` samples; one sample is no less than half a one, by rounding. */
static int cut_below(struct cut *c, double least)
{
	const struct problem *p = c->p;
	int err;

	for (size_t b = 0; b < p->n_blocks; b++)
		c->warm[b] = c->n[b] > 0 && c->n[b] > least - 0.5;
	interior_warm(p, c->warm);
	memcpy(c->usable, c->can, p->n_edges * sizeof(*c->usable));
	err = interior_find(p, c->warm, c->usable, c->f);
	if (err == 0)
		space_size(p, c->usable, &c->n_free);
	if (err < 0)
		return err;
	c->outside = 0;
	mark_cold(p, c->usable, c->warm);
	for (size_t b = 0; b < p->n_blocks; b++)
		c->outside += c->warm[b] ? c->n[b] : 0;
	return 0;
}

/*
 * A single sample in code that is called from everywhere opens all of it.
 * Where a few samples more to be warm leave out half of the free flows, it
 * was such code.
 */
static int cut_rare(struct cut *c, double n_samples)
{
	size_t n = c->n_free;
	int err = 0;

	for (uint32_t rare = 1; rare <= model->hardly && err == 0; rare++) {
		err = cut_below(c, rare + 1);
		if (err == 0 && c->n_free <= n / 2 && c->outside <= model->small * n_samples)
			return 0;
	}
	return err < 0 && err != -SP_EDOMAIN ? err : cut_below(c, 0);
}

/* Each block of a function that has samples has all of them.  Returns how many blocks have none. */
static long sum_by_function(struct cut *c)
{
	const struct problem *p = c->p;
	double *n = mem_calloc(p->graph->n_funcs + 1, sizeof(*n));
	long n_cold = 0;

	for (size_t b = 0; b < p->n_blocks; b++)
		n[p->graph->blocks[p->blocks[b].graph_block].func] += c->n[b];
	for (size_t b = 0; b < p->n_blocks; b++) {
		c->n[b] = n[p->graph->blocks[p->blocks[b].graph_block].func];
		n_cold += !(c->n[b] > 0);
	}
	free(n);
	return n_cold;
}

/* Positive where there is nothing to leave out. */
static int cut_cold(struct cut *c)
{
	double n_samples = 0;
	long n_cold;
	int err;

	for (size_t b = 0; b < c->p->n_blocks; b++) {
		c->n[b] = samples_in(c->p, &c->p->blocks[b]);
		n_samples += c->n[b];
		/* What is on record ran: so much is known of what has a sample. */
		if (c->on_record && c->on_record[c->p->blocks[b].graph_block])
			c->n[b] = fmax(c->n[b], 1);
	}
	/* One of them is not as good as none. */
	if (n_samples * model->least < 1)
		return 1;
	if (c->n_free <= model->cold_flows) {
		n_cold = sum_by_function(c);
		if (n_cold <= 0)
			return n_cold < 0 ? (int)n_cold : 1;
	}
	err = cut_below(c, 0);
	if (err == 0 && c->n_free > model->rare_flows)
		err = cut_rare(c, n_samples);
	return err;
}

static double insn_in_cold(const struct problem *p, const bool *is_cold)
{
	double insn = 0;

	for (size_t b = 0; b < p->n_blocks; b++)
		for (uint32_t i = 0; is_cold[b] && i < p->blocks[b].n_insn; i++)
			insn += p->seen_insn[p->blocks[b].insn0 + i];
	return insn;
}

int cold_cut(struct problem *p, bool ran, const uint8_t *on_record, bool *usable, double *f,
             uint32_t *n_free_out)
{
	int err = interior_find(p, NULL, usable, f);
	size_t n = 0;
	bool *can;
	struct cut c = { .p = p, .on_record = on_record, .usable = usable, .f = f };

	*n_free_out = 0;
	p->cold_insn = 0;
	if (err == 0)
		space_size(p, usable, &n);
	if (err < 0 || ran)
		return err;
	c.can = can = mem_malloc((p->n_edges + 1) * sizeof(*can));
	c.n = mem_calloc(p->n_blocks + 1, sizeof(*c.n));
	c.warm = mem_calloc(p->n_blocks + 1, sizeof(*c.warm));
	c.n_free = n;
	err = 0;
	if (err == 0) {
		memcpy(can, usable, p->n_edges * sizeof(*can));
		err = cut_cold(&c);
	}
	if (err == -SP_EDOMAIN) {
		err = interior_find(p, NULL, usable, f);
	} else if (err == 0 && n > c.n_free) {
		*n_free_out = (uint32_t)(n - c.n_free);
		mark_cold(p, usable, c.warm);
		p->cold_insn = insn_in_cold(p, c.warm);
	}
	free(can);
	free(c.n);
	free(c.warm);
	return err < 0 ? err : 0;
}

void cold_keep_raw(const struct problem *p, const bool *usable, struct solution *sol)
{
	bool *is_cold;

	if (!(p->cold_insn > 0))
		return;
	is_cold = mem_calloc(p->n_blocks + 1, sizeof(*is_cold));
	sol->doubt = mem_calloc(p->n_blocks + 1, sizeof(*sol->doubt));
	mark_cold(p, usable, is_cold);
	for (size_t b = 0; b < p->n_blocks; b++) {
		double insn = 0;

		for (uint32_t i = 0; is_cold[b] && i < p->blocks[b].n_insn; i++)
			insn += p->seen_insn[p->blocks[b].insn0 + i];
		if (!(insn > 0))
			continue;
		sol->doubt[b] = (float)(insn / p->blocks[b].n_insn);
		for (size_t i = 0; i < sol->n_draws; i++)
			sol->draws[i * p->n_blocks + b] = sol->doubt[b];
	}
	free(is_cold);
}
