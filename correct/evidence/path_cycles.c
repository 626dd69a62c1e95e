/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch records that tell the cycles between branches (Intel from Skylake on,
 * Arm's BRBE) place each branch in time before the moment of the sample.
 * Samples of the cycles event are taken at moments spread evenly over time, so
 * what runs in the W cycles before one is a fair sample of what runs, whatever
 * the code before and after it: nothing leans towards what is slow.
 *
 * The moment itself is not on record: it lies somewhere between the newest
 * branch and the next one.  How long it takes from a branch to the next is
 * learned, edge by edge, from the older branches.
 *
 * The piece that ended with the newest branch is not followed, and that branch is the newest more often the longer it
 * takes until the next.  What is missing so is given to the other pieces that end with a branch of the same edge.
 *
 * Samples of instructions do not come evenly in time: their skid is about the
 * same each time, so a period that keeps step with a loop's instructions meets
 * the same part of it again and again.  Their stacks are weighed by their
 * newest branch (path_newest.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "correct/evidence/path_impl.h"
#include "correct/model/model.h"

enum {
	SINGLE = 32, /* cycles that have a bin each; then 8 bins to the power of two */
	OCTAVE = 8,
	N_BINS = SINGLE + 11 * OCTAVE, /* up to 65536: the field has 16 bits, and stays at its highest */
	ROUNDS = 3,
};

/* How long from branches of one edge to the next branch. */
struct gaps {
	double n[N_BINS], sum_cyc[N_BINS];
	double within[N_BINS + 1]; /* P(so many cycles ago or less | a moment between the two) */
	double total_cyc;
};

static unsigned bin_of(uint32_t cyc)
{
	unsigned octave;

	if (cyc < SINGLE)
		return cyc;
	octave = 31 - (unsigned)__builtin_clz(cyc) - 5;
	return SINGLE + octave * OCTAVE + ((cyc >> (octave + 2)) & (OCTAVE - 1));
}

static double bin_begin(unsigned bin)
{
	if (bin < SINGLE)
		return bin;
	return ldexp(OCTAVE + (bin - SINGLE) % OCTAVE, (int)((bin - SINGLE) / OCTAVE) + 2);
}

/* The second line of eq. 11 at the bins' ends: sum of min(gap, x) over the sum of gaps. */
static void integrate(struct gaps *g, const struct gaps *pooled)
{
	const struct gaps *of = g->total_cyc > 0 ? g : pooled;
	double shorter_cyc = 0, longer = 0;

	for (unsigned b = 0; b < N_BINS; b++)
		longer += of->n[b];
	for (unsigned b = 0; b <= N_BINS; b++) {
		g->within[b] = of->total_cyc > 0 ? (shorter_cyc + bin_begin(b) * longer) / of->total_cyc : 1;
		if (b < N_BINS) {
			shorter_cyc += of->sum_cyc[b];
			longer -= of->n[b];
		}
	}
}

/* P(the moment was x cycles after its newest branch, or less). */
static double within(const struct gaps *g, double x)
{
	unsigned b;
	double lo, hi;

	if (x <= 0)
		return 0;
	if (x >= UINT16_MAX)
		return 1;
	b = bin_of((uint32_t)x);
	lo = bin_begin(b);
	hi = bin_begin(b + 1);
	return fmin(1, g->within[b] + (g->within[b + 1] - g->within[b]) * (x - lo) / (hi - lo));
}

/* Cycles from a stack's oldest branch to its newest, which no piece ends with. */
static double covered(const struct scope_stacks *r, const struct stack *st)
{
	double sum = st->lead;

	for (uint32_t k = 0; k < st->n_pieces; k++)
		sum += r->marks.v[st->piece0 + k];
	return sum;
}

bool path_has_cycles(const struct scope_stacks *r)
{
	size_t n_stacks = 0, n_pieces = 0, n_timed = 0;

	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		if (!(st->cyc > 0))
			continue;
		n_stacks++;
		n_pieces += st->n_pieces;
		for (uint32_t k = 0; k < st->n_pieces; k++)
			n_timed += r->marks.v[st->piece0 + k] > 0;
	}
	/* Two branches may retire in one cycle, but not most. */
	return n_stacks >= model->many && n_timed * 2 > n_pieces;
}

/* W: as far back as nearly all stacks reach that were not cut short where they left the scope. */
static int window(const struct scope_stacks *r, double *w_cyc)
{
	double *x = calloc(r->stacks.n + 1, sizeof(*x));
	size_t n = 0, n_whole = 0;

	if (!x)
		return sp_fail(SP_ENOMEM, "out of memory for %zu branch stacks", r->stacks.n);
	for (size_t i = 0; i < r->stacks.n; i++)
		n_whole += !r->stacks.v[i].broken;
	for (size_t i = 0; i < r->stacks.n; i++)
		if (!n_whole || !r->stacks.v[i].broken)
			x[n++] = covered(r, &r->stacks.v[i]);
	gsl_sort(x, 1, n);
	*w_cyc = fmax(1, x[(size_t)((double)n * model->small)]);
	free(x);
	return 0;
}

static void add_gap(struct gaps *gaps, uint32_t edge, size_t n_edges, uint32_t cyc, double w)
{
	struct gaps *of[] = { &gaps[edge], &gaps[n_edges] };

	for (size_t i = 0; i < 2; i++) {
		of[i]->n[bin_of(cyc)] += w;
		of[i]->sum_cyc[bin_of(cyc)] += w * cyc;
		of[i]->total_cyc += w * cyc;
	}
}

/* A gap counts when the branch at its end lies in the window, so that long ones are not left out.  newest[stacks]: their weights. */
static void add_gaps(const struct path *s, const struct scope_stacks *r, const float *weight,
                     const float *newest, size_t n_edges, struct gaps *gaps)
{
	memset(gaps, 0, (n_edges + 1) * sizeof(*gaps));
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		add_gap(gaps, closing_edge(s, r->pieces.v[st->piece0]), n_edges, st->lead, (double)newest[i]);
		for (uint32_t k = 0; k + 1 < st->n_pieces; k++)
			add_gap(gaps, closing_edge(s, r->pieces.v[st->piece0 + k + 1]), n_edges,
			        r->marks.v[st->piece0 + k], (double)weight[st->piece0 + k]);
	}
	for (size_t e = 0; e <= n_edges; e++)
		integrate(&gaps[e], &gaps[n_edges]);
}

/* eq. 11.  A stack that ends within the window stands for all of it.  *newest: the weight of its newest branch. */
static void weigh_stack(const struct scope_stacks *r, const struct stack *st, const struct gaps *near,
                        double w_cyc, float *weight, float *newest)
{
	double all = covered(r, st), ago = st->lead, whole = 1;

	if (all < w_cyc)
		whole = w_cyc / (all + (w_cyc - all) * (1 - within(near, w_cyc - all) / 2));
	*newest = (float)(st->cyc * whole * within(near, w_cyc));
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		weight[st->piece0 + k] = (float)(st->cyc * whole * within(near, w_cyc - ago));
		ago += r->marks.v[st->piece0 + k];
	}
}

/* What pieces weigh, by the edge of the branch that each ends with: in the window, n of them, and all. */
struct ending {
	double missing, in_window, all, n;
};

static void add_endings(const struct path *s, const struct scope_stacks *r, const float *newest,
                        const float *weight, struct ending *of)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		if (st->newest != UINT32_MAX)
			of[st->newest].missing += (double)newest[i];
		for (uint32_t k = 0; k < st->n_pieces; k++) {
			struct ending *e = &of[closing_edge(s, r->pieces.v[st->piece0 + k])];

			e->in_window += (double)weight[st->piece0 + k];
			e->n += weight[st->piece0 + k] > 0;
			e->all += st->cyc;
		}
	}
}

/*
 * What newest branches weigh goes to the pieces that end with a branch of the same edge.  Where it takes longer than W until the next
 * branch none of these lies in the window, and those from before it have to do.  of[n_edges] is scratch.
 */
static void restore_newest(const struct path *s, const struct scope_stacks *r, const float *newest,
                           size_t n_edges, struct ending *of, float *weight)
{
	memset(of, 0, n_edges * sizeof(*of));
	add_endings(s, r, newest, weight, of);
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = st->piece0; k < st->piece0 + st->n_pieces; k++) {
			const struct ending *e = &of[closing_edge(s, r->pieces.v[k])];

			if (e->n >= model->few)
				weight[k] *= (float)(1 + e->missing / e->in_window);
			else if (e->all > 0)
				weight[k] = (float)(st->cyc * (e->missing + e->in_window) / e->all);
		}
	}
}

static int weigh(const struct path *s, const struct scope_stacks *r, size_t n_edges, double w_cyc,
                 float *weight)
{
	/* All zero, the gaps are none: the first round takes each moment for that of its newest branch. */
	struct gaps *gaps = calloc(n_edges + 1, sizeof(*gaps));
	float *newest = calloc(r->stacks.n + 1, sizeof(*newest));
	struct ending *endings = calloc(n_edges + 1, sizeof(*endings));
	int err = gaps && newest && endings
	                  ? 0
	                  : sp_fail(SP_ENOMEM, "out of memory for branch records of %zu edges", n_edges);

	for (int round = 0; round < ROUNDS && err == 0; round++) {
		for (size_t e = 0; e <= n_edges && round == 0; e++)
			integrate(&gaps[e], &gaps[n_edges]);
		for (size_t i = 0; i < r->stacks.n; i++) {
			const struct stack *st = &r->stacks.v[i];

			weigh_stack(r, st, &gaps[st->near], w_cyc, weight, &newest[i]);
		}
		if (round + 1 < ROUNDS)
			add_gaps(s, r, weight, newest, n_edges, gaps);
	}
	if (err == 0)
		restore_newest(s, r, newest, n_edges, endings, weight);
	free(gaps);
	free(newest);
	free(endings);
	return err;
}

int path_weigh_by_cycles(const struct path *s, const struct scope_stacks *r, size_t n_edges, float *weight)
{
	double w_cyc = 0;
	int err = window(r, &w_cyc);

	return err < 0 ? err : weigh(s, r, n_edges, w_cyc, weight);
}

/* Instructions that a stack counts, in the window of each of the moments that it stands for. */
static double counted(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                      const float *weight)
{
	double sum = 0;

	for (uint32_t k = 0; k < st->n_pieces; k++)
		sum += (double)weight[st->piece0 + k] * s->all.v[r->pieces.v[st->piece0 + k]].n_insn;
	return sum;
}

int path_pace_by_cycles(const struct path *s, const struct scope_stacks *r, size_t n_edges, double *pace,
                        double *sd)
{
	float *weight = calloc(r->pieces.n + 1, sizeof(*weight));
	double w_cyc = 0, insn = 0, cyc = 0, squares = 0;
	int err =
	        weight ? window(r, &w_cyc) : sp_fail(SP_ENOMEM, "out of memory for %zu pieces", r->pieces.n);

	if (err == 0)
		err = weigh(s, r, n_edges, w_cyc, weight);
	for (size_t i = 0; i < r->stacks.n && err == 0; i++) {
		insn += counted(s, r, &r->stacks.v[i], weight);
		cyc += w_cyc * r->stacks.v[i].cyc;
	}
	*pace = cyc > 0 ? insn / cyc : 0;
	for (size_t i = 0; i < r->stacks.n && err == 0; i++) {
		double off = counted(s, r, &r->stacks.v[i], weight) - *pace * w_cyc * r->stacks.v[i].cyc;

		squares += off * off;
	}
	*sd = cyc > 0 ? model->path_scatter * sqrt(squares) / cyc : 0;
	free(weight);
	return err;
}
