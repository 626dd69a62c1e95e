/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where only time was sampled a moment's burst stands for time, and what ran in it hangs on the moment's pace.  Timed paths
 * tell paces of code that they ran.  Else nothing does: moments in other code may be of another (eq. 19), those of the same code
 * are of one.  Where a program goes from loop to loop within a burst all moments are alike, and it makes no difference.
 * path_spread_paces() moves draws by it.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/infer/cost.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

/* Beyond so many deviations nothing is expected. */
enum { DEVIATIONS = 3 };

/* Executions in the mean go as draws have moved them, and edges with the blocks that they lead to. */
static void move_edges(const struct problem *p, const double *mean, struct solution *out)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		const uint32_t b = p->edges[e].to;

		if (mean[b] > 0)
			out->edge_flow[e] *= solution_mean(out, p->n_blocks, b) / mean[b];
	}
}

/* Each draw has the instructions that the scope ran, as far as they are known. */
static void set_totals(const struct problem *p, gsl_rng *rng, struct solution *out)
{
	for (size_t i = 0; i < out->n_draws; i++)
		solution_set_insn(out, p, i, fmax(p->total_insn + gsl_ran_gaussian(rng, p->total_sd), 0));
}

/*
 * Each draw keeps its instructions, which are what the scope's time stands for, and each block its mean; timed paths tell both.
 */
static void move_draws(const struct problem *p, const float *times, bool told, gsl_rng *rng,
                       struct solution *out)
{
	double *mean = mem_calloc(p->n_blocks + out->n_draws + 1, sizeof(*mean)), *insn = mean + p->n_blocks;

	for (size_t b = 0; b < p->n_blocks; b++)
		mean[b] = solution_mean(out, p->n_blocks, b);
	for (size_t i = 0; i < out->n_draws; i++) {
		insn[i] = solution_draw_insn(out, p, i);
		for (size_t b = 0; b < p->n_blocks; b++)
			out->draws[i * p->n_blocks + b] =
			        told ? times[i * p->n_blocks + b]
			             : out->draws[i * p->n_blocks + b] *
			                        fmaxf(1 + times[i * p->n_blocks + b], 0);
	}
	if (told) {
		set_totals(p, rng, out);
		move_edges(p, mean, out);
	} else {
		solution_fit(out, p, mean, insn);
	}
	free(mean);
}

/* What half of a stack, or a timed path, ran of a block, and the root of that block's share of its instructions. */
struct share {
	uint32_t block;
	float n, root;
	float like; /* the root of what the block counts for in a pace, and in how alike two are */
};

struct half {
	size_t share0, n_shares;
	size_t other; /* of the same stack: that one tells this one's pace, or chance in what it ran would */
	double log_cost; /* cycles an instruction by its blocks' costs, over the mean */
	double variance; /* of the log of its pace, were its blocks' costs any (eq. 16): few have most of its time, or many ... */
	uint32_t most; /* ... and the block with most */
};

struct halves {
	const struct problem *p;
	VEC(struct share) shares;
	VEC(struct half) v;
	double *n;        /* [B] executions in all, ... */
	double *sd;       /* [B] ... what a block's part in the log of a pace may be, ... */
	double *factor;   /* [B] ... and, in one draw, that part, ... */
	double *times;    /* [B] ... and executions */
	size_t n_moments; /* halves of stacks; those after them are timed paths, which have no other */
};

/* What timed paths tell of paces: logarithms of instructions a nanosecond. */
struct told {
	size_t n;
	double *log_pace; /* [n] */
	double *off;      /* [n] in one draw */
	double mean;
	double noise;   /* deviation of these among paths that a moment may lie in */
	double pace;    /* of all moments, in one draw */
	float *in;      /* [n_moments][n] see find_parts() */
	bool *is_told;  /* [n_moments] */
	double *weight; /* [n] moments that a path stands for, in one draw */
	double untold;  /* share of moments whose code no path ran */
	double *lost; /* [n_moments] share of a moment's time that stands for paths which lost their way in its code */
	size_t n_lost;
};

/* One path may be an odd one. */
static bool paths_tell(const struct told *t)
{
	return t->n > 1;
}

static double insn_of(const struct problem *p, const double *n)
{
	double sum = 0;

	for (size_t b = 0; b < p->n_blocks; b++)
		sum += n[b] * p->blocks[b].n_insn;
	return sum;
}

/* n[B]: what the half ran, or of a timed path's, which has no time of its own.  Zeros when it returns. */
static void add_half(struct halves *h, bool timed, double *n)
{
	const double weight = timed ? 0 : 1;
	struct half half = { .share0 = h->shares.n };
	const double insn = insn_of(h->p, n);

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

/* [stacks] 1 + the record that the i-th goes on from: the last one before it that ends with an edge of it, its oldest if any does; 0 = none. */
static uint32_t *link_records(const struct path_moments *m)
{
	const struct scope_stacks *r = m->scope;
	uint32_t n_edges = 0, *behind, *latest;

	for (size_t i = 0; i < r->stacks.n; i++)
		n_edges = n_edges > r->stacks.v[i].near ? n_edges : r->stacks.v[i].near + 1;
	behind = mem_calloc(r->stacks.n + n_edges + 1, sizeof(*behind));
	latest = behind + r->stacks.n;
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = st->n_pieces; k > 0 && !st->burst && !behind[i]; k--) {
			const uint32_t edge = closing_edge(m->path, r->pieces.v[st->piece0 + k - 1]);

			behind[i] = edge < n_edges ? latest[edge] : 0;
		}
		if (!st->burst)
			latest[st->near] = (uint32_t)i + 1;
	}
	return behind;
}

/* What its pieces from the first to before the last stand for, into n[B]. */
static void add_pieces(const struct halves *h, const struct path_moments *m, const struct stack *st,
                       uint32_t first, uint32_t last, double *n)
{
	for (uint32_t k = first; k < last; k++)
		m->add_piece(m, h->p, st, st->piece0 + k, n);
}

/*
 * The first half of a moment's burst, and the one after it.  A record is too short to tell which loops it lies in: beside all of it stand
 * those that it goes on from, as far back as eq. 12 goes.
 */
static void add_halves(struct halves *h, const struct path_moments *m, size_t i, const uint32_t *behind,
                       double *n)
{
	const struct stack *st = &m->scope->stacks.v[i];
	const bool burst = st->burst;
	const uint32_t half = burst ? st->n_pieces / 2 : st->n_pieces;
	const size_t first = h->v.n;
	bool both;

	add_pieces(h, m, st, 0, half, n);
	add_half(h, false, n);
	add_pieces(h, m, st, half, st->n_pieces, n);
	for (int round = 0; round < PATH_NEAR && !burst && behind[i]; round++) {
		i = behind[i] - 1;
		st = &m->scope->stacks.v[i];
		add_pieces(h, m, st, 0, st->n_pieces, n);
	}
	add_half(h, !burst, n);
	/* A stack of one piece has nothing beside it. */
	both = h->v.v[first].n_shares && h->v.v[first + 1].n_shares;
	h->v.v[first].other = first + both;
	h->v.v[first + 1].other = first + !(both && burst);
}

/* Instructions of a run, by blocks in the order of their addresses: n[B], executions. */
static double add_run(const struct problem *p, const struct timed_run *run, double *n)
{
	const struct flow_graph *g = p->graph;
	long first = run->module < 0 ? -1 : flow_block_at(g, (uint32_t)run->module, run->vaddr);
	double insn = 0, in = 0;
	size_t end;

	if (first < 0)
		return 0;
	for (end = (size_t)first; end < g->n_blocks && g->blocks[end].module == (uint32_t)run->module &&
	                          g->blocks[end].vaddr <= run->last;
	     end++)
		insn += g->blocks[end].n_insn;
	for (size_t b = (size_t)first; b < end; b++) {
		const long at = problem_block_at(p, (uint32_t)b);

		if (at < 0)
			continue;
		n[at] += run->insn / insn;
		in += run->insn * g->blocks[b].n_insn / insn;
	}
	return in;
}

/* Paths that mostly ran in the scope: of other code's pace nothing follows. */
static void add_paths(struct halves *h, const struct timed_paths *t, struct told *told, double *n)
{
	told->log_pace = mem_calloc(3 * t->v.n + 1, sizeof(*told->log_pace));
	for (size_t i = 0, end; i < t->runs.n && told->n < EFFORT_TOLD; i = end) {
		const struct timed_path *path = &t->v.v[t->runs.v[i].path];
		double in = 0;

		for (end = i; end < t->runs.n && t->runs.v[end].path == t->runs.v[i].path; end++)
			in += add_run(h->p, &t->runs.v[end], n);
		if (path->ns > 0 && in > model->guess * path->insn) {
			told->log_pace[told->n++] = log(path->insn / path->ns);
			add_half(h, true, n);
			h->v.v[h->v.n - 1].other = h->v.n - 1;
		} else {
			memset(n, 0, h->p->n_blocks * sizeof(*n));
		}
	}
	told->off = told->log_pace + t->v.n;
	told->weight = told->off + t->v.n;
}

/* From the shares of `by`: a record's are those of what tells its pace. */
static void set_cost_of(const struct halves *h, const double *cost, const struct half *by, struct half *half)
{
	double sum = 0, squares = 0, most = 0;

	for (size_t k = by->share0; k < by->share0 + by->n_shares; k++) {
		const struct share *of = &h->shares.v[k];
		const double time = (double)of->root * (double)of->root * cost[of->block];

		sum += time;
		squares += time * time * cost_variance(fmax(h->p->blocks[of->block].n_insn, 1));
		if (time > most) {
			most = time;
			half->most = of->block;
		}
	}
	half->log_cost = sum > 0 ? log(sum) : 0;
	half->variance = sum > 0 ? squares / sum / sum : 0;
}

/* What time in a block costs, by samples: one of each is lent, so that few tell little. */
static void set_costs(struct halves *h)
{
	const struct problem *p = h->p;
	double *cost = mem_calloc(p->n_blocks + 1, sizeof(*cost)), all = 0, insn = insn_of(p, h->n);

	for (size_t b = 0; b < p->n_blocks; b++) {
		cost[b] = p->cyc_per_sample > 0 ? problem_time(p, &p->blocks[b]) / p->cyc_per_sample : 0;
		all += cost[b];
	}
	for (size_t b = 0; b < p->n_blocks; b++)
		cost[b] = (cost[b] + 1) / (insn > 0 ? all * h->n[b] * p->blocks[b].n_insn / insn + 1 : 1);
	for (size_t i = 0; i < h->v.n; i++) {
		const size_t other = h->v.v[i].other;

		set_cost_of(h, cost, &h->v.v[h->v.v[other].other == other ? other : i], &h->v.v[i]);
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

/* What all moments run tells nothing of how their paces differ: shares count by how rare it is that their block runs at all. */
static void weigh_rare(struct halves *h)
{
	memset(h->times, 0, h->p->n_blocks * sizeof(*h->times));
	for (size_t i = 0; i < h->n_moments; i++)
		for (size_t k = h->v.v[i].share0; k < h->v.v[i].share0 + h->v.v[i].n_shares; k++)
			h->times[h->shares.v[k].block]++;
	for (size_t i = 0; i < h->v.n; i++) {
		struct half *half = &h->v.v[i];
		double sum = 0;

		for (size_t k = half->share0; k < half->share0 + half->n_shares; k++) {
			struct share *of = &h->shares.v[k];

			of->like = of->root * of->root *
			           (float)log(((double)h->n_moments + 1) / (h->times[of->block] + 0.5));
			sum += (double)of->like;
		}
		for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
			h->shares.v[k].like = sqrtf(h->shares.v[k].like / (float)sum);
	}
	memset(h->times, 0, h->p->n_blocks * sizeof(*h->times));
}

static void halves_init(struct halves *h, const struct path_moments *m, const struct problem *p,
                        struct told *told)
{
	double *n = mem_calloc(5 * p->n_blocks + 1, sizeof(*n));
	const size_t stride = m->scope->stacks.n / EFFORT_MOMENTS + 1;
	uint32_t *behind = link_records(m);

	*h = (struct halves){ .p = p,
		              .n = n + p->n_blocks,
		              .sd = n + 2 * p->n_blocks,
		              .factor = n + 3 * p->n_blocks,
		              .times = n + 4 * p->n_blocks };
	for (size_t i = 0; i < m->scope->stacks.n; i += stride)
		add_halves(h, m, i, behind, n);
	h->n_moments = h->v.n;
	free(behind);
	add_paths(h, &m->path->in.rec->paths, told, n);
	set_costs(h);
	set_sd(h);
	for (size_t k = 0; k < h->shares.n; k++)
		h->shares.v[k].like = h->shares.v[k].root;
	if (paths_tell(told))
		weigh_rare(h);
}

static void halves_fini(struct halves *h)
{
	vec_fini(&h->shares);
	vec_fini(&h->v);
	free(h->n - h->p->n_blocks);
}

/* Which part of a path looks like a moment, and *covered, how much of the code that tells moments apart the path ran at all. */
static double part_in(const struct halves *h, const struct half *moment, const double *share, double *covered)
{
	double sum = 0;

	*covered = 0;
	for (size_t k = moment->share0; k < moment->share0 + moment->n_shares; k++) {
		const struct share *of = &h->shares.v[k];
		const double ran = (double)of->root * (double)of->root,
		             like = (double)of->like * (double)of->like,
		             part = fmin(share[of->block] / ran, 1);

		/* The path may have run a little of any code. */
		sum += like * log(fmax(part, model->least));
		*covered += part > model->least ? like : 0;
	}
	return moment->n_shares ? exp(sum) : 0;
}

/* in[n_moments][n]: which part of each path looks like each moment. */
static void find_parts(struct halves *h, struct told *t)
{
	t->in = mem_calloc(h->n_moments * t->n + 1, sizeof(*t->in));
	t->is_told = mem_calloc(h->n_moments + 1, sizeof(*t->is_told));
	for (size_t j = 0; j < t->n; j++) {
		const struct half *path = &h->v.v[h->n_moments + j];

		for (size_t k = path->share0; k < path->share0 + path->n_shares; k++) {
			h->times[h->shares.v[k].block] =
			        (double)h->shares.v[k].root * (double)h->shares.v[k].root;
		}
		for (size_t i = 0; i < h->n_moments; i++) {
			double covered, part = part_in(h, &h->v.v[i], h->times, &covered);

			t->is_told[i] |= covered > model->guess;
			t->in[i * t->n + j] = (float)part;
		}
		memset(h->times, 0, h->p->n_blocks * sizeof(*h->times));
	}
	for (size_t i = 0; i < h->n_moments; i++)
		t->untold += t->is_told[i] ? 0 : 1 / (double)h->n_moments;
}

/* Moments that run the code in which a path was lost share its time. */
static void find_lost(const struct halves *h, const struct timed_paths *paths, struct told *t)
{
	double *ran = mem_calloc(h->p->n_blocks + 1, sizeof(*ran));

	t->lost = mem_calloc(h->n_moments + 1, sizeof(*t->lost));
	for (size_t k = 0; k < h->v.v[h->n_moments].share0; k++)
		ran[h->shares.v[k].block] += (double)h->shares.v[k].root * (double)h->shares.v[k].root;
	for (size_t i = 0; i < paths->v.n; i++) {
		const struct timed_path *path = &paths->v.v[i];
		const long block = path->ns > 0 || path->module < 0
		                           ? -1
		                           : flow_block_at(h->p->graph, (uint32_t)path->module, path->vaddr);
		const long at = block < 0 ? -1 : problem_block_at(h->p, (uint32_t)block);

		if (at < 0)
			continue;
		t->n_lost++;
		for (size_t m = 0; m < h->n_moments; m++)
			for (size_t k = h->v.v[m].share0; k < h->v.v[m].share0 + h->v.v[m].n_shares; k++)
				if (h->shares.v[k].block == (uint32_t)at)
					t->lost[m] += (double)h->shares.v[k].root *
					              (double)h->shares.v[k].root / ran[at];
	}
	for (size_t m = 0; m < h->n_moments; m++)
		t->lost[m] = fmin(t->lost[m] * (double)h->n_moments / (double)(t->n + t->n_lost), 1);
	free(ran);
}

static void set_noise(const struct halves *h, struct told *t)
{
	for (size_t i = 0; i < h->n_moments; i++) {
		double n = 0, sum = 0, squares = 0;

		for (size_t j = 0; j < t->n && t->is_told[i]; j++) {
			n += (double)t->in[i * t->n + j];
			sum += (double)t->in[i * t->n + j] * t->log_pace[j];
			squares += (double)t->in[i * t->n + j] * t->log_pace[j] * t->log_pace[j];
		}
		if (n > 0)
			t->noise += fmax(squares / n - sum * sum / n / n, 0) / (double)h->n_moments;
	}
	t->noise = sqrt(t->noise);
}

static void told_init(struct told *t, struct halves *h, const struct timed_paths *paths)
{
	if (!t->n)
		return;
	for (size_t i = 0; i < t->n; i++)
		t->mean += t->log_pace[i] / (double)t->n;
	find_parts(h, t);
	set_noise(h, t);
	find_lost(h, paths, t);
}

static void told_fini(struct told *t)
{
	free(t->log_pace);
	free(t->in);
	free(t->is_told);
	free(t->lost);
}

/* How fast a moment is by what its other half ran, in one draw. */
static double log_pace_at(const struct halves *h, const struct half *half, double costs_hold)
{
	double u = -costs_hold * half->log_cost;

	for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
		u += (double)h->shares.v[k].like * h->factor[h->shares.v[k].block];
	return u;
}

/* What a half of a moment, or a path, ran at a pace: executions a time. */
static void run_for(const struct halves *h, const struct half *half, double pace)
{
	for (size_t k = half->share0; k < half->share0 + half->n_shares; k++) {
		const struct share *of = &h->shares.v[k];

		h->times[of->block] +=
		        pace * (double)of->root * (double)of->root / fmax(h->p->blocks[of->block].n_insn, 1);
	}
}

/* Each moment stands for the paths that it may lie in, by how much of each looks like it. */
static void run_paths(struct halves *h, struct told *t, gsl_rng *rng, double costs_hold)
{
	/* Paths that lost their way did so in the same code, which has one pace. */
	const double lost = exp(gsl_ran_gaussian(rng, model->pace_spread));

	for (size_t j = 0; j < t->n; j++) {
		/* Rubin's Bayesian bootstrap. */
		t->off[j] = gsl_ran_exponential(rng, 1);
		t->weight[j] = 0;
	}
	for (size_t i = 0; i < h->n_moments; i++) {
		const float *in = &t->in[i * t->n];
		const double times = gsl_ran_exponential(rng, 1) * (1 + t->lost[i] * (lost - 1));
		double sum = 0;

		if (!t->is_told[i]) {
			const struct half *other = &h->v.v[h->v.v[i].other];
			const double pace = exp(t->mean + log_pace_at(h, other, costs_hold));

			run_for(h, &h->v.v[i], times * pace);
			t->pace += times * pace / (double)h->n_moments;
			continue;
		}
		for (size_t j = 0; j < t->n; j++)
			sum += t->off[j] * (double)in[j];
		for (size_t j = 0; j < t->n; j++)
			t->weight[j] += times * t->off[j] * (double)in[j] / sum;
	}
	for (size_t j = 0; j < t->n; j++) {
		const double pace = t->weight[j] * exp(t->log_pace[j] + gsl_ran_gaussian(rng, t->noise) -
		                                       t->noise * t->noise / 2);

		run_for(h, &h->v.v[h->n_moments + j], pace);
		t->pace += pace / (double)h->n_moments;
	}
}

/*
 * eq. 19, one draw: times[B], or NULL, how often each block ran over what its stacks' time stands for, less 1; where paths tell
 * paces, how often an instruction of the scope, and told->pace is that of all its time.
 */
static void draw_paces(struct halves *h, struct told *told, gsl_rng *rng, float *times)
{
	const size_t n_blocks = h->p->n_blocks;
	const double costs_hold = gsl_ran_gaussian(rng, 1);
	double insn;

	for (size_t b = 0; b < n_blocks; b++)
		h->factor[b] = gsl_ran_gaussian(rng, h->sd[b]);
	memset(h->times, 0, n_blocks * sizeof(*h->times));
	told->pace = 0;
	if (told->n) {
		run_paths(h, told, rng, costs_hold);
	} else {
		for (size_t i = 0; i < h->n_moments; i++) {
			const struct half *half = &h->v.v[i];
			const double u = exp(log_pace_at(h, &h->v.v[half->other], costs_hold));

			for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
				h->times[h->shares.v[k].block] += u * (double)h->shares.v[k].n;
		}
	}
	insn = insn_of(h->p, h->times);
	for (size_t b = 0; times && b < n_blocks; b++)
		times[b] = told->n       ? (float)(h->times[b] / insn)
		           : h->n[b] > 0 ? (float)(h->times[b] / h->n[b] - 1)
		                         : 0;
}

/* Where few blocks have most of the time, their costs alone make the pace: it may differ by more than draws do. */
static bool is_open(const struct half *half)
{
	return half->variance > model->pace_spread * model->pace_spread;
}

/* Open moments that one block has most time of run faster by so many deviations: by how much executions differ then. */
static void doubt_open(struct halves *h, uint32_t most, double faster, struct solution *out)
{
	const double insn = insn_of(h->p, h->n);
	double then;

	memset(h->times, 0, h->p->n_blocks * sizeof(*h->times));
	for (size_t i = 0; i < h->n_moments; i++) {
		const struct half *half = &h->v.v[i];
		const double pace =
		        is_open(half) && half->most == most ? exp(faster * sqrt(half->variance)) : 1;

		for (size_t k = half->share0; k < half->share0 + half->n_shares; k++)
			h->times[h->shares.v[k].block] += pace * (double)h->shares.v[k].n;
	}
	then = insn_of(h->p, h->times);
	for (size_t b = 0; b < h->p->n_blocks; b++)
		if (h->n[b] > 0)
			out->doubt[b] =
			        fmaxf(out->doubt[b], (float)(fabs(h->times[b] / h->n[b] * insn / then - 1) *
			                                     solution_mean(out, h->p->n_blocks, b)));
}

static void find_open(struct halves *h, struct solution *out)
{
	bool *done = mem_calloc(h->p->n_blocks + 1, sizeof(*done));

	for (size_t i = 0; i < h->n_moments; i++) {
		const struct half *half = &h->v.v[i];

		if (!is_open(half))
			continue;
		out->open_share += 1 / (double)h->n_moments;
		for (int way = -1; way <= 1 && !done[half->most]; way += 2)
			doubt_open(h, half->most, way * DEVIATIONS, out);
		done[half->most] = true;
	}
	free(done);
}

/* Code that time was sampled in and no burst met may run at any pace that eq. 19 allows one moment, to the end of a 90% interval. */
static void doubt_unmet(const struct halves *h, struct solution *out)
{
	const struct problem *p = h->p;
	const double insn_per_cyc =
	        exp(gsl_cdf_ugaussian_Pinv(0.95) * model->pace_spread) * p->total_insn / p->total_cyc;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const double n = insn_per_cyc * problem_time(p, &p->blocks[b]) / p->blocks[b].n_insn;

		if (h->n[b] == 0 && n > 0)
			out->doubt[b] = fmaxf(out->doubt[b], (float)(n - solution_mean(out, p->n_blocks, b)));
	}
}

/*
 * Share of what moments ran that lies in functions which one of them alone ran: as much is likely in those that none did (Good, 1953).
 */
static double run_once(const struct halves *h)
{
	const struct flow_graph *g = h->p->graph;
	double *share = mem_calloc(g->n_funcs + 1, sizeof(*share)), once = 0, all = 0;
	size_t *stack = mem_calloc(g->n_funcs + 1, sizeof(*stack)); /* the first that ran it, + 1 */

	/* Halves of a stack stand side by side. */
	for (size_t i = 0; i < h->n_moments; i++)
		for (size_t k = h->v.v[i].share0; k < h->v.v[i].share0 + h->v.v[i].n_shares; k++) {
			const struct share *s = &h->shares.v[k];
			const uint32_t f = g->blocks[h->p->blocks[s->block].graph_block].func;
			const double of = s->n > 0 ? (double)s->root * (double)s->root : 0;

			if (!stack[f])
				stack[f] = i / 2 + 1;
			share[f] = stack[f] == i / 2 + 1 ? share[f] + of : NAN;
			all += of;
		}
	for (size_t f = 0; f < g->n_funcs; f++)
		once += isnan(share[f]) ? 0 : share[f];
	free(share);
	free(stack);
	return all > 0 ? once / all : 0;
}

void path_spread_moments(const struct path_moments *m, const struct problem *p, unsigned long seed,
                         struct solution *out)
{
	float *times = mem_calloc(out->n_draws * p->n_blocks + 1, sizeof(*times));
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	struct halves h;
	struct told told = { 0 };

	gsl_rng_set(rng, seed);
	halves_init(&h, m, p, &told);
	out->once_share = run_once(&h);
	/* Where bursts go through all loops they tell shares by themselves, and better. */
	if (!paths_tell(&told) || p->stay_share <= reason_limit_apart_in_time)
		told.n = 0;
	told_init(&told, &h, &m->path->in.rec->paths);
	out->told_share = told.n ? 1 - told.untold : 0;
	if ((double)told.n_lost > model->timed_missed * (double)(told.n + told.n_lost))
		out->told_share = 0;
	for (size_t i = 0; i < out->n_draws; i++)
		draw_paces(&h, &told, rng, times + i * p->n_blocks);
	move_draws(p, times, told.n, rng, out);
	if (!told.n) {
		out->doubt = mem_calloc(p->n_blocks + 1, sizeof(*out->doubt));
		if (p->stay_share > reason_limit_apart_in_time)
			find_open(&h, out);
		doubt_unmet(&h, out);
	}
	told_fini(&told);
	halves_fini(&h);
	gsl_rng_free(rng);
	free(times);
}

static void add_piece(const struct path_moments *m, const struct problem *p, const struct stack *st, size_t k,
                      double *n)
{
	const struct piece *piece = &m->path->all.v[m->scope->pieces.v[k]];

	for (uint32_t e = 0; e < piece->n_edges; e++)
		n[p->edges[m->path->pool.v[piece->edge0 + e]].to] += st->insn;
}

static struct path_moments moments_of(const struct path *s, size_t scope)
{
	return (struct path_moments){ .path = s, .scope = &s->scopes[scope], .add_piece = add_piece };
}

bool path_timed_pace(struct evidence *ev, size_t scope, unsigned long seed, double *pace, double *sd)
{
	const struct path *s = evidence_state(ev, &evidence_path);
	const struct path_moments m = moments_of(s, scope);
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	double paces[EFFORT_PACES];
	struct halves h;
	struct told told = { 0 };
	bool known;

	gsl_rng_set(rng, seed);
	halves_init(&h, &m, s->in.problems[scope], &told);
	known = paths_tell(&told) && h.n_moments;
	if (known) {
		told_init(&told, &h, &s->in.rec->paths);
		for (size_t i = 0; i < EFFORT_PACES; i++) {
			draw_paces(&h, &told, rng, NULL);
			paces[i] = told.pace;
		}
		*pace = gsl_stats_mean(paces, 1, EFFORT_PACES);
		*sd = hypot(gsl_stats_sd(paces, 1, EFFORT_PACES), model->neighbours_off * *pace);
	}
	told_fini(&told);
	halves_fini(&h);
	gsl_rng_free(rng);
	return known;
}

void path_spread_paces(struct evidence *ev, size_t scope, unsigned long seed, struct solution *out)
{
	const struct path *s = evidence_state(ev, &evidence_path);
	const struct path_moments m = moments_of(s, scope);
	const struct problem *p = s->in.problems[scope];

	if (out->n_draws && p->relative && !(p->pace > 0 && !p->pace_timed) && m.scope->stacks.n)
		path_spread_moments(&m, p, seed, out);
}
