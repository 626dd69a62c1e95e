/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * [SKID]'s Algorithm 1.  A state is the share w_l = F_l |K_l| / |E| of the
 * instructions that each loop runs: eq. 3 says they add up to 1, the prior is
 * flat on that simplex, the likelihood exp(-phi / (2 sigma^2)) ([SKID] (7)).
 *
 * As the paper does, one F_l is drawn from its conditional distribution while
 * one other loop makes up the difference.  Unlike the paper:
 * - the other loop is drawn too, instead of always being the last: when the
 *   last one's F is near 0, nothing else could move;
 * - the conditional is sampled by slices (Neal, Ann. Stat. 31(3), 2003)
 *   instead of tabulated: the same distribution with fewer skid emulations;
 * - the burn-in starts hot and cools, because phi has several minima, and is
 *   repeated for a chain that ends in one far worse than another chain found;
 * - it stops when phi HAS settled: line 13 of the paper stops when it has not.
 * sigma^2 is loops_model's, from sampling noise; where even the best F fits
 * worse than that, it is raised to the misfit found (heat), or the model's
 * own error would pass for certainty.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "correct/baseline/loops.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"

enum {
	SLICE_STEPS = 8, /* stepping out, at most */
	SLICE_SHRINKS = 40,
	EVALS_A_SLICE = 7, /* about; for the budget */
	MIN_SWEEPS = 40,   /* of burn-in, and to keep */
	CAP_FACTOR = 3,    /* burn-in may take this many times its length to settle */
	MAX_CHAINS = 16,
	RESTARTS = 3, /* of chains caught in a minimum far worse than another's */
};
/* exp(-6): a minimum that holds 1/400 of what the best one does. */
static const double NATS_WORSE = 6;
/* Steps of arithmetic (loops_work) that one region may cost: about a second. */
static const double WORK_MAX = 1e8;

struct chain {
	struct loops_model *m;
	gsl_rng *rng;
	double *share; /* [L] w */
	double *F;     /* [L] the same as executions */
	double *width; /* [L] slice widths, fixed after burn-in */
	double phi;
	double settled_phi; /* mean over the last window of burn-in */
	double heat;        /* sigma^2 is multiplied by this */
};

struct plan {                           /* what the budget allows */
	size_t n_burn, n_keep, n_moves; /* moves: loops drawn in one sweep, <= L - 1 */
	int restarts;
};

static double executions(const struct chain *c, size_t l, double share)
{
	return share * c->m->p->total_insn / c->m->size[l];
}

/* phi with w_l = w and w_r = sum - w; F is left there. */
static double phi_at(struct chain *c, size_t l, size_t r, double w, double sum)
{
	c->F[l] = executions(c, l, w);
	c->F[r] = executions(c, r, sum - w);
	return loops_misfit(c->m, c->F);
}

static double log_density(const struct chain *c, double phi)
{
	return -phi / (2 * c->m->sigma2 * c->heat);
}

/* Step out from w until both ends are below the level; at most SLICE_STEPS in all (Neal, fig. 3). */
static void step_out(struct chain *c, size_t l, size_t r, double level, double *lo, double *hi)
{
	double w = c->share[l], sum = w + c->share[r];
	int left = (int)gsl_rng_uniform_int(c->rng, SLICE_STEPS), right = SLICE_STEPS - 1 - left;

	*lo = w - c->width[l] * gsl_rng_uniform(c->rng);
	*hi = *lo + c->width[l];
	while (left-- > 0 && *lo > 0 && log_density(c, phi_at(c, l, r, *lo, sum)) > level)
		*lo -= c->width[l];
	while (right-- > 0 && *hi < sum && log_density(c, phi_at(c, l, r, *hi, sum)) > level)
		*hi += c->width[l];
	*lo = fmax(*lo, 0);
	*hi = fmin(*hi, sum);
}

/* Draw w_l from its conditional, w_r making up the difference (Algorithm 1, lines 6 to 11). */
static void draw_pair(struct chain *c, size_t l, size_t r)
{
	double w0 = c->share[l], sum = w0 + c->share[r], lo, hi;
	double level = log_density(c, c->phi) - gsl_ran_exponential(c->rng, 1);

	step_out(c, l, r, level, &lo, &hi);
	for (int k = 0; k < SLICE_SHRINKS; k++) {
		double w = lo + (hi - lo) * gsl_rng_uniform(c->rng), phi = phi_at(c, l, r, w, sum);

		if (log_density(c, phi) >= level) {
			c->share[l] = w;
			c->share[r] = sum - w;
			c->phi = phi;
			return;
		}
		*(w < w0 ? &lo : &hi) = w;
	}
	c->F[l] = executions(c, l, w0); /* the slice shrank to nothing: stay */
	c->F[r] = executions(c, r, sum - w0);
}

static void sweep(struct chain *c, const struct plan *plan, bool adapt)
{
	size_t n = c->m->n_loops;

	assert(n > 1 || plan->n_moves == 0);
	for (size_t k = 0; k < plan->n_moves; k++) {
		size_t l = plan->n_moves == n - 1 ? k : gsl_rng_uniform_int(c->rng, n);
		size_t r = (l + 1 + gsl_rng_uniform_int(c->rng, n - 1)) % n;
		double before = c->share[l];

		draw_pair(c, l, r);
		if (adapt) /* towards four times the mean move */
			c->width[l] = fmax(0.9 * c->width[l] + 0.4 * fabs(c->share[l] - before), 1e-7);
	}
}

/* A random F that obeys eq. 3: flat on the simplex. */
static void start(struct chain *c)
{
	size_t n = c->m->n_loops;
	double sum = 0;

	for (size_t l = 0; l < n; l++)
		sum += c->share[l] = gsl_ran_exponential(c->rng, 1);
	for (size_t l = 0; l < n; l++) {
		c->share[l] /= sum;
		c->width[l] = 0.5;
		c->F[l] = executions(c, l, c->share[l]);
	}
	c->phi = loops_misfit(c->m, c->F);
	c->heat = 1;
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* Still falling: the last window of phi lies below the one before by more than a tenth and two standard errors. */
static bool still_falling(const double *phi, size_t n, size_t window)
{
	double a, b, va = 0, vb = 0, w = (double)window;

	if (n < 2 * window)
		return true;
	a = mean_of(phi + n - 2 * window, window);
	b = mean_of(phi + n - window, window);
	for (size_t i = 0; i < window; i++) {
		va += pow(phi[n - 2 * window + i] - a, 2) / (w * w);
		vb += pow(phi[n - window + i] - b, 2) / (w * w);
	}
	return b < 0.9 * a && a - b > 2 * sqrt(va + vb);
}

/* Cool from where the first phi is likely down to 1, then go on until phi has settled.  phi[CAP_FACTOR * n_burn] is scratch. */
static bool burn_in(struct chain *c, const struct plan *plan, double *phi, size_t *n_sweeps)
{
	size_t cool = plan->n_burn / 2, window = plan->n_burn / 4 ? plan->n_burn / 4 : 1, n = 0;
	double heat0 = fmax(c->phi / ((double)c->m->p->n_blocks * c->m->sigma2), 1);

	for (size_t k = 0; k < cool; k++) {
		c->heat = pow(heat0, 1 - (double)(k + 1) / (double)cool);
		sweep(c, plan, true);
	}
	c->heat = 1;
	while (n + cool < CAP_FACTOR * plan->n_burn && still_falling(phi, n, window)) {
		sweep(c, plan, true);
		phi[n++] = c->phi;
	}
	c->settled_phi = mean_of(phi + n - window, window);
	*n_sweeps = *n_sweeps > n + cool ? *n_sweeps : n + cool;
	return !still_falling(phi, n, window);
}

static void keep(struct chain *c, const struct plan *plan, float *F)
{
	for (size_t k = 0; k < plan->n_burn / 4; k++) /* get used to the heat */
		sweep(c, plan, true);
	for (size_t k = 0; k < plan->n_keep; k++) {
		sweep(c, plan, false);
		for (size_t l = 0; l < c->m->n_loops; l++)
			F[k * c->m->n_loops + l] = (float)c->F[l];
	}
}

bool loops_affordable(const struct loops_model *m, const struct infer_opts *opts)
{
	double sweep_work = loops_work(m) * EVALS_A_SLICE * (double)(m->n_loops - 1);

	return sweep_work * (double)opts->n_chains <= WORK_MAX;
}

static struct plan make_plan(const struct loops_model *m, const struct infer_opts *opts)
{
	struct plan plan = { opts->n_burn, opts->n_keep, m->n_loops - 1, RESTARTS };
	double moves = WORK_MAX / (loops_work(m) * EVALS_A_SLICE * (double)(opts->n_chains));
	double want = (double)(opts->n_burn + opts->n_keep) * (double)plan.n_moves, cut = moves / want;

	if (cut >= 1)
		return plan;
	plan.restarts = cut > 0.25 ? 1 : 0;
	plan.n_burn = (size_t)fmax((double)opts->n_burn * cut, MIN_SWEEPS);
	plan.n_keep = (size_t)fmax((double)opts->n_keep * cut, MIN_SWEEPS);
	plan.n_moves =
	        (size_t)fmin(fmax(moves / (double)(plan.n_burn + plan.n_keep), 1), (double)plan.n_moves);
	return plan;
}

static void chain_fini(struct chain *c)
{
	if (c->rng)
		gsl_rng_free(c->rng);
	free(c->width);
	free(c->F);
	free(c->share);
}

static void chain_init(struct chain *c, struct loops_model *m, uint64_t seed)
{
	*c = (struct chain){ .m = m, .rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937)) };
	c->share = mem_calloc(m->n_loops, sizeof(*c->share));
	c->F = mem_calloc(m->n_loops, sizeof(*c->F));
	c->width = mem_calloc(m->n_loops, sizeof(*c->width));
	gsl_rng_set(c->rng, (unsigned long)seed);
	start(c);
}

/* How far what the chain's F predicts is from what was seen: a share of the instructions. */
static double total_variation(struct chain *c)
{
	const struct loops_model *m = c->m;
	double sum = 0;

	loops_predict(c->m, c->F, m->landed);
	for (size_t b = 0; b < m->p->n_blocks; b++)
		sum += fabs(m->seen[b] - m->landed[b]);
	return m->p->total_insn > 0 ? sum / 2 / m->p->total_insn : 0;
}

static struct chain *best_of(struct chain *chains, size_t n)
{
	struct chain *best = chains;

	for (size_t k = 1; k < n; k++)
		best = chains[k].settled_phi < best->settled_phi ? &chains[k] : best;
	return best;
}

/* sigma^2 is too small by this if even the best F misses by more than noise. */
static double heat_of(const struct chain *best)
{
	const struct loops_model *m = best->m;

	return fmax(best->settled_phi / ((double)m->p->n_blocks * m->sigma2), 1);
}

/*
 * Burn in until no chain sits in a minimum of negligible weight, so that the
 * draws need not carry it.  One that does so again and again stays, for R-hat to show.
 */
static void settle(struct chain *chains, const struct plan *plan, double *phi, struct loops_draws *out)
{
	bool settled[MAX_CHAINS] = { 0 }, again[MAX_CHAINS] = { 0 };

	for (size_t k = 0; k < out->n_chains; k++)
		again[k] = true;
	for (int round = 0; round <= plan->restarts; round++) {
		const struct chain *best;

		for (size_t k = 0; k < out->n_chains; k++) {
			if (again[k] && round > 0)
				start(&chains[k]);
			if (again[k])
				settled[k] = burn_in(&chains[k], plan, phi, &out->n_sweeps);
		}
		best = best_of(chains, out->n_chains);
		for (size_t k = 0; k < out->n_chains; k++)
			again[k] = chains[k].settled_phi - best->settled_phi >
			           NATS_WORSE * 2 * best->m->sigma2 * heat_of(best);
	}
	out->settled = true;
	for (size_t k = 0; k < out->n_chains; k++)
		out->settled &= settled[k];
}

/* Burn all chains in, then set the heat by the best of them and keep draws of each. */
static void run(struct chain *chains, const struct plan *plan, struct loops_draws *out)
{
	double *phi = mem_calloc(CAP_FACTOR * plan->n_burn + 1, sizeof(*phi));
	struct chain *best;

	settle(chains, plan, phi, out);
	free(phi);
	best = best_of(chains, out->n_chains);
	out->misfit = total_variation(best);
	out->heat = heat_of(best);
	for (size_t k = 0; k < out->n_chains; k++) {
		chains[k].heat = out->heat;
		keep(&chains[k], plan, out->F + k * plan->n_keep * chains->m->n_loops);
	}
}

int loops_gibbs(struct loops_model *m, const struct infer_opts *opts, struct loops_draws *out)
{
	struct plan plan = make_plan(m, opts);
	struct chain chains[MAX_CHAINS] = { 0 };

	if (opts->n_chains < 1 || opts->n_chains > MAX_CHAINS)
		return sp_fail(SP_EDOMAIN, "%zu chains: 1 to %d are possible", opts->n_chains, MAX_CHAINS);
	*out = (struct loops_draws){ .n_chains = opts->n_chains, .n_keep = plan.n_keep };
	out->F = mem_calloc(opts->n_chains * plan.n_keep * m->n_loops, sizeof(*out->F));
	for (size_t k = 0; k < opts->n_chains; k++)
		chain_init(&chains[k], m, opts->seed * opts->n_chains + k + 1);
	run(chains, &plan, out);
	for (size_t k = 0; k < opts->n_chains; k++)
		chain_fini(&chains[k]);
	return 0;
}

void loops_draws_fini(struct loops_draws *d)
{
	free(d->F);
	*d = (struct loops_draws){ 0 };
}
