/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/infer/back.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/profile.h"
#include "profiler/base/err.h"

/*
 * How far a sample ran on depends on the way it came, so ways are not taken
 * quite as often as the flows are.  So much of what may be another block's is
 * taken to be wrong.
 */
static const double way_error = 0.6;
/* Share of the samples that may be without a counted way, or have one too long to be followed. */
static const double max_unknown = 0.1;
/* Share that may be another block's, past which what is walked back is the flow supposed, not the one that was. */
static const double max_unsure = 0.9;

enum { MAX_WAY = 2048, MAX_CELLS = 1 << 22 /* ways by blocks: 64 MB */ };

/* Samples seen at one instruction that came equally far. */
struct cell {
	uint32_t block, pos, way; /* pos: in the block */
	double weight;
};

struct back {
	const struct problem *p;
	struct cell *cells;
	size_t n_cells, longest;
	uint32_t *in; /* [E] edges by the block they lead to ... */
	size_t *in0;  /* [B + 2] ... where each block's begin */
	double *n;    /* [B] executions under one flow */
	double *mass; /* [longest + 1][B] at a block's end, this far still to go ... */
	double *open; /* ... and the part of it that may have come another way */
};

/* How many instructions back its cause lies: the one seen had not retired, so the count is without it. */
static uint32_t way_of(const struct problem_walk *w)
{
	return w->g_insn < MAX_WAY ? w->g_insn + 1 : MAX_WAY + 1;
}

/* Are nearly all samples of instructions known with how far they had run on, and near enough? */
static bool ways_known(const struct problem *p)
{
	double seen = 0, known = 0;

	if (p->n_blocks > MAX_CELLS / (MAX_WAY + 1))
		return false;
	for (size_t i = 0; i < p->n_insns; i++)
		seen += p->seen_insn[i];
	for (size_t i = 0; i < p->n_walks; i++)
		known += way_of(&p->walks[i]) <= MAX_WAY ? p->walks[i].weight : 0;
	return seen > 0 && known > (1 - max_unknown) * seen;
}

static int by_place(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

static void fill_cells(struct back *w)
{
	const struct problem *p = w->p;
	size_t n = 0;

	for (size_t i = 0; i < p->n_walks; i++) {
		const struct problem_walk *walk = &p->walks[i];
		uint32_t b = problem_block_of_insn(p, walk->insn), way = way_of(walk);

		if (way > MAX_WAY)
			continue;
		w->cells[w->n_cells++] =
		        (struct cell){ b, walk->insn - p->blocks[b].insn0, way, walk->weight };
		w->longest = way > w->longest ? way : w->longest;
	}
	qsort(w->cells, w->n_cells, sizeof(*w->cells), by_place);
	for (size_t i = 0; i < w->n_cells; i++) {
		if (n && by_place(&w->cells[n - 1], &w->cells[i]) == 0)
			w->cells[n - 1].weight += w->cells[i].weight;
		else
			w->cells[n++] = w->cells[i];
	}
	w->n_cells = n;
}

static void fill_in(struct back *w)
{
	const struct problem *p = w->p;

	for (size_t e = 0; e < p->n_edges; e++)
		w->in0[p->edges[e].to + 2]++;
	for (size_t b = 0; b < p->n_blocks; b++)
		w->in0[b + 2] += w->in0[b + 1];
	for (size_t e = 0; e < p->n_edges; e++)
		w->in[w->in0[p->edges[e].to + 1]++] = (uint32_t)e;
}

static void back_fini(struct back *w)
{
	free(w->cells);
	free(w->in);
	free(w->in0);
	free(w->n);
	free(w->mass);
}

static int back_init(struct back *w, const struct problem *p)
{
	*w = (struct back){ .p = p,
		            .cells = calloc(p->n_walks + 1, sizeof(*w->cells)),
		            .in = calloc(p->n_edges + 1, sizeof(*w->in)),
		            .in0 = calloc(p->n_blocks + 2, sizeof(*w->in0)),
		            .n = calloc(p->n_blocks + 1, sizeof(*w->n)) };
	if (w->cells && w->in && w->in0 && w->n) {
		fill_cells(w);
		fill_in(w);
		w->mass = calloc(2 * (w->longest + 1) * p->n_blocks + 1, sizeof(*w->mass));
		w->open = w->mass ? w->mass + (w->longest + 1) * p->n_blocks : NULL;
	}
	if (w->mass)
		return 0;
	back_fini(w);
	return sp_fail(SP_ENOMEM, "out of memory for %zu samples of a region", p->n_walks);
}

struct caused {
	double *at, *unsure; /* [B] */
	double lost;         /* where no flow leads: not known */
};

/* Mass `way` instructions after its cause, at the pos-th instruction of block b. */
static void walk_from(struct back *w, const double *f, struct cell at, double open, struct caused *out)
{
	size_t b = at.block;

	if (at.way <= at.pos) {
		out->at[b] += at.weight;
		out->unsure[b] += open;
		return;
	}
	if (!(w->n[b] > 0)) {
		out->lost += at.weight;
		return;
	}
	for (size_t i = w->in0[b]; i < w->in0[b + 1]; i++) {
		double share = f[w->in[i]] / w->n[b];
		size_t to = (at.way - at.pos - 1) * w->p->n_blocks + w->p->edges[w->in[i]].from;

		w->mass[to] += at.weight * share;
		w->open[to] += fmin(at.weight * share, share * (open + (1 - share) * at.weight));
	}
}

static void caused_under(struct back *w, const double *f, struct caused *out)
{
	const struct problem *p = w->p;

	memset(w->mass, 0, 2 * (w->longest + 1) * p->n_blocks * sizeof(*w->mass));
	memset(w->n, 0, p->n_blocks * sizeof(*w->n));
	memset(out->at, 0, p->n_blocks * sizeof(*out->at));
	memset(out->unsure, 0, p->n_blocks * sizeof(*out->unsure));
	out->lost = 0;
	for (size_t e = 0; e < p->n_edges; e++)
		w->n[p->edges[e].to] += f[e];
	for (size_t i = 0; i < w->n_cells; i++)
		walk_from(w, f, w->cells[i], 0, out);
	for (size_t way = w->longest + 1; way-- > 0;)
		for (size_t b = 0; b < p->n_blocks; b++) {
			double mass = w->mass[way * p->n_blocks + b], open = w->open[way * p->n_blocks + b];
			struct cell at = { (uint32_t)b, p->blocks[b].n_insn - 1, (uint32_t)way, mass };

			if (mass > 0 && p->blocks[b].n_insn)
				walk_from(w, f, at, open, out);
			else
				out->lost += mass;
		}
}

int back_caused(const struct problem *p, const double *f, double *caused, double *unsure)
{
	struct caused out = { caused, unsure, 0 };
	struct back w;
	int err = back_init(&w, p);

	if (err < 0)
		return err;
	caused_under(&w, f, &out);
	back_fini(&w);
	return 0;
}

static void flow_at(const struct space *space, const double *t, double *f)
{
	space_flow(space, t, f);
	for (size_t e = 0; e < space->n_edges; e++)
		f[e] = fmax(f[e], 0);
}

int back_tells(const struct problem *p, const struct space *space, const double *t, bool *tells)
{
	double *f, *caused, *unsure, all = 0, open = 0;
	int err;

	*tells = false;
	if (!ways_known(p))
		return 0;
	f = calloc(p->n_edges + 2 * p->n_blocks + 1, sizeof(*f));
	if (!f)
		return sp_fail(SP_ENOMEM, "out of memory for a region of %zu blocks", p->n_blocks);
	caused = f + p->n_edges;
	unsure = caused + p->n_blocks;
	flow_at(space, t, f);
	err = back_caused(p, f, caused, unsure);
	for (size_t b = 0; err == 0 && b < p->n_blocks; b++) {
		all += caused[b];
		open += unsure[b];
	}
	*tells = err == 0 && open < max_unsure * all;
	free(f);
	return err;
}

/* n_b I_b - caused_b at t, for all blocks. */
static void misses_at(struct back *w, const struct space *space, const double *t, double *f,
                      struct caused *out, double *miss)
{
	flow_at(space, t, f);
	caused_under(w, f, out);
	for (size_t b = 0; b < w->p->n_blocks; b++)
		miss[b] = w->n[b] * w->p->blocks[b].n_insn - out->at[b];
}

static int add_rows(const struct back *w, const struct space *space, const double *t,
                    const struct caused *caused, const double *miss, const double *slope,
                    struct equations *out)
{
	const struct problem *p = w->p;

	for (size_t b = 0; b < p->n_blocks; b++) {
		double due = miss[b] + caused->at[b], wrong = way_error * caused->unsure[b] + caused->lost;
		struct equation *eq;

		if (!equations_any(slope + b, p->n_blocks, space->n_free))
			continue;
		eq = equations_add(out, p->n_edges);
		if (!eq)
			return -SP_ENOMEM;
		eq->name = "landing";
		eq->kind = PROFILE_BY_LANDING;
		eq->value = -miss[b];
		/* Counted samples: the noise is that of the count due, not only of the one that came. */
		eq->sd = sqrt((fmax(due, caused->at[b]) + p->insn_per_sample) * p->insn_per_sample +
		              wrong * wrong);
		for (size_t k = 0; k < space->n_free; k++) {
			eq->w[space->free_edge[k]] = slope[k * p->n_blocks + b];
			eq->value += slope[k * p->n_blocks + b] * t[k];
		}
	}
	return 0;
}

int back_equations(const struct problem *p, const struct space *space, const double *t, struct equations *out)
{
	size_t d = space->n_free, n_blocks = p->n_blocks;
	double *work = calloc(d * n_blocks + 6 * n_blocks + p->n_edges + d + 1, sizeof(*work));
	double *slope, *miss, *near, *f, *t_near;
	struct caused here, there;
	struct back w;
	int err;

	if (!work)
		return sp_fail(SP_ENOMEM, "out of memory for %zu free flows", d);
	err = back_init(&w, p);
	if (err < 0) {
		free(work);
		return err;
	}
	slope = work;
	miss = slope + d * n_blocks;
	near = miss + n_blocks;
	here = (struct caused){ near + n_blocks, near + 2 * n_blocks, 0 };
	there = (struct caused){ near + 3 * n_blocks, near + 4 * n_blocks, 0 };
	f = near + 5 * n_blocks;
	t_near = f + p->n_edges;
	misses_at(&w, space, t, f, &here, miss);
	for (size_t k = 0; k < d; k++) {
		double h = fmax(0.01 * fabs(t[k]), 1e-4 * p->total_insn / (double)(n_blocks + 1));

		memcpy(t_near, t, d * sizeof(*t));
		t_near[k] += h;
		misses_at(&w, space, t_near, f, &there, near);
		for (size_t b = 0; b < n_blocks; b++)
			slope[k * n_blocks + b] = (near[b] - miss[b]) / h;
	}
	err = add_rows(&w, space, t, &here, miss, slope, out);
	back_fini(&w);
	free(work);
	return err;
}
