/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where only time was sampled a moment's burst stands for time, and what ran in it hangs on the moment's pace.  Nothing
 * tells that: moments in other code may be of another (eq. 19), those of the same code are of one.  Where a program goes from
 * loop to loop within a burst all moments are alike, and it makes no difference.  path_spread_paces() moves draws by it.
 */
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/cost.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

/* Each draw keeps its instructions, which are what the scope's time stands for, and each block its mean. */
static void move_draws(const struct problem *p, const float *times, struct solution *out)
{
	double *mean = mem_calloc(p->n_blocks + out->n_draws + 1, sizeof(*mean)), *insn = mean + p->n_blocks;

	for (size_t b = 0; b < p->n_blocks; b++)
		mean[b] = solution_mean(out, p->n_blocks, b);
	for (size_t i = 0; i < out->n_draws; i++) {
		insn[i] = solution_draw_insn(out, p, i);
		for (size_t b = 0; b < p->n_blocks; b++)
			out->draws[i * p->n_blocks + b] *= fmaxf(1 + times[i * p->n_blocks + b], 0);
	}
	solution_fit(out, p, mean, insn);
	free(mean);
}

/* What half of a stack ran of a block, and the root of that block's share of its instructions. */
struct share {
	uint32_t block;
	float n, root;
};

struct half {
	size_t share0, n_shares;
	size_t other; /* of the same stack: that one tells this one's pace, or chance in what it ran would */
	double log_cost; /* cycles an instruction by its blocks' costs, over the mean */
};

struct halves {
	const struct problem *p;
	VEC(struct share) shares;
	VEC(struct half) v;
	double *n;      /* [B] executions in all, ... */
	double *sd;     /* [B] ... what a block's part in the log of a pace may be, ... */
	double *factor; /* [B] ... and, in one draw, that part, ... */
	double *times;  /* [B] ... and executions */
};

/* n[B]: what the half ran.  Zeros when it returns. */
static void add_half(struct halves *h, double weight, double *n)
{
	struct half half = { .share0 = h->shares.n };
	double insn = 0;

	for (size_t b = 0; b < h->p->n_blocks; b++)
		insn += n[b] * h->p->blocks[b].n_insn;
	for (size_t b = 0; b < h->p->n_blocks; b++) {
		if (!(n[b] > 0))
			continue;
		vec_add(&h->shares,
		        ((struct share){ (uint32_t)b, (float)(weight * n[b]),
		                         (float)sqrt(n[b] * h->p->blocks[b].n_insn / fmax(insn, 1)) }));
		h->n[b] += weight * n[b];
		n[b] = 0;
	}
	half.n_shares = h->shares.n - half.share0;
	vec_add(&h->v, half);
}

static void add_halves(struct halves *h, const struct path *s, const struct scope_stacks *r,
                       const struct stack *st, double *n)
{
	const size_t first = h->v.n;
	bool both;

	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *piece = &s->all.v[r->pieces.v[st->piece0 + k]];

		if (k == st->n_pieces / 2)
			add_half(h, st->insn, n);
		for (uint32_t e = 0; e < piece->n_edges; e++)
			n[h->p->edges[s->pool.v[piece->edge0 + e]].to]++;
	}
	add_half(h, st->insn, n);
	/* A stack of one piece has nothing beside it. */
	both = h->v.v[first].n_shares && h->v.v[first + 1].n_shares;
	h->v.v[first].other = first + both;
	h->v.v[first + 1].other = first + !both;
}

/* What time in a block costs, by samples: one of each is lent, so that few tell little. */
static void set_costs(struct halves *h)
{
	const struct problem *p = h->p;
	double *cost = mem_calloc(p->n_blocks + 1, sizeof(*cost)), all = 0, insn = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		for (uint32_t i = p->blocks[b].insn0; i < p->blocks[b].insn0 + p->blocks[b].n_insn; i++)
			cost[b] += p->cyc_per_sample > 0 ? p->seen_cyc[i] / p->cyc_per_sample : 0;
		all += cost[b];
		insn += h->n[b] * p->blocks[b].n_insn;
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		cost[b] = (cost[b] + 1) / (insn > 0 ? all * h->n[b] * p->blocks[b].n_insn / insn + 1 : 1);
	for (size_t i = 0; i < h->v.n; i++) {
		struct half *half = &h->v.v[i];
		double sum = 0;

		for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
			sum += (double)h->shares.v[k].root * (double)h->shares.v[k].root *
			       cost[h->shares.v[k].block];
		half->log_cost = sum > 0 ? log(sum) : 0;
	}
	free(cost);
}

/* Where a block runs it has a share of the instructions: its cost is of so much of a pace. */
static void set_sd(struct halves *h)
{
	double *squares = mem_calloc(2 * h->p->n_blocks + 1, sizeof(*squares)),
	       *sum = squares + h->p->n_blocks;

	for (size_t k = 0; k < h->shares.n; k++) {
		const struct share *of = &h->shares.v[k];
		const double share = (double)of->root * (double)of->root;

		sum[of->block] += share;
		squares[of->block] += share * share;
	}
	for (size_t b = 0; b < h->p->n_blocks; b++)
		h->sd[b] = sum[b] > 0 ? hypot(model->pace_spread,
		                              sqrt(squares[b] / sum[b] *
		                                   cost_variance(fmax(h->p->blocks[b].n_insn, 1))))
		                      : 0;
	free(squares);
}

static void halves_init(struct halves *h, const struct path *s, const struct scope_stacks *r,
                        const struct problem *p)
{
	double *n = mem_calloc(5 * p->n_blocks + 1, sizeof(*n));
	const size_t stride = r->stacks.n / EFFORT_MOMENTS + 1;

	*h = (struct halves){ .p = p,
		              .n = n + p->n_blocks,
		              .sd = n + 2 * p->n_blocks,
		              .factor = n + 3 * p->n_blocks,
		              .times = n + 4 * p->n_blocks };
	for (size_t i = 0; i < r->stacks.n; i += stride)
		add_halves(h, s, r, &r->stacks.v[i], n);
	set_costs(h);
	set_sd(h);
}

static void halves_fini(struct halves *h)
{
	vec_fini(&h->shares);
	vec_fini(&h->v);
	free(h->n - h->p->n_blocks);
}

/* eq. 19, one draw: times[B], how often each block ran over what its stacks' time stands for, less 1. */
static void draw_paces(struct halves *h, gsl_rng *rng, float *times)
{
	const size_t n_blocks = h->p->n_blocks;
	const double costs_hold = gsl_ran_gaussian(rng, 1);

	for (size_t b = 0; b < n_blocks; b++)
		h->factor[b] = gsl_ran_gaussian(rng, h->sd[b]);
	memset(h->times, 0, n_blocks * sizeof(*h->times));
	for (size_t i = 0; i < h->v.n; i++) {
		const struct half *half = &h->v.v[i], *other = &h->v.v[half->other];
		double u = -costs_hold * other->log_cost;

		for (size_t k = other->share0; k < other->share0 + other->n_shares; k++)
			u += (double)h->shares.v[k].root * h->factor[h->shares.v[k].block];
		u = exp(u);
		for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
			h->times[h->shares.v[k].block] += u * (double)h->shares.v[k].n;
	}
	for (size_t b = 0; b < n_blocks; b++)
		times[b] = h->n[b] > 0 ? (float)(h->times[b] / h->n[b] - 1) : 0;
}

static void spread_paces(const struct path *s, const struct scope_stacks *r, const struct problem *p,
                         gsl_rng *rng, struct solution *out)
{
	float *times = mem_calloc(out->n_draws * p->n_blocks + 1, sizeof(*times));
	struct halves h;

	halves_init(&h, s, r, p);
	for (size_t i = 0; i < out->n_draws; i++)
		draw_paces(&h, rng, times + i * p->n_blocks);
	move_draws(p, times, out);
	halves_fini(&h);
	free(times);
}

void path_spread_paces(struct evidence *ev, size_t scope, unsigned long seed, struct solution *out)
{
	const struct path *s = evidence_state(ev, &evidence_path);
	const struct problem *p = s->in.problems[scope];
	const struct scope_stacks *r = &s->scopes[scope];
	gsl_rng *rng;

	if (!out->n_draws || !p->relative || (p->pace > 0 && !p->pace_timed) || !r->stacks.n)
		return;
	rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	gsl_rng_set(rng, seed);
	spread_paces(s, r, p, rng, out);
	gsl_rng_free(rng);
}
