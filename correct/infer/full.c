/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The posterior of all terms (eq. 17).  The exact equations come first: where no flow meets them their noise is raised.  Stacks
 * join them.  Then draws are made from the posterior's moments (moments.h), and spread.
 */
#include "correct/infer/full.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/infer/cholesky.h"
#include "correct/infer/crossval.h"
#include "correct/infer/moments.h"
#include "correct/infer/posterior.h"
#include "correct/known.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

/*
 * How many directions the equations tell to 10% or better: as many as the eigenvalues of R'R, in units of t, above 10^2, which are the
 * positive pivots of what is left of it less that (Sylvester's law of inertia).
 */
static uint32_t settled(const struct posterior *post, const double *t)
{
	size_t d = post->n_free;
	double *a = mem_calloc(d * d + 1, sizeof(*a));
	uint32_t n = 0;

	posterior_normal(post, a);
	for (size_t i = 0; i < d; i++)
		for (size_t k = 0; k < d; k++)
			a[i * d + k] =
			        a[i * d + k] * fmax(fabs(t[i]), 1) * fmax(fabs(t[k]), 1) - (i == k) * 10 * 10;
	for (size_t i = 0; i < d; i++) {
		n += a[i * d + i] > 0;
		for (size_t row = i + 1; row < d; row++) {
			double factor = a[row * d + i] / a[i * d + i];

			for (size_t k = i + 1; factor != 0 && k < d; k++)
				a[row * d + k] -= factor * a[i * d + k];
		}
	}
	free(a);
	return n;
}

/*
 * What the result rests on: the kinds of equations that make up a fair part of what is known along some axis.  Axes are those in
 * which the posterior is about round and of width 1, so all that is known along one adds up to about 1.  The Hessian's factor
 * replaces it.  Returns 0, -SP_EDOMAIN.
 */
static int evidence_of(const struct posterior *post, const struct equations *eqs, double *hessian,
                       uint8_t *bits)
{
	static const uint8_t kinds[] = { PROFILE_BY_MIX, PROFILE_BY_TRIPS, PROFILE_BY_PATH,
		                         PROFILE_BY_BORDER };
	size_t d = post->n_free;
	double *axes = mem_calloc(d * d + 1, sizeof(*axes));

	*bits = d <= 1 ? PROFILE_BY_FLOW : 0;
	if (cholesky_factor_hessian(hessian, d) < 0) {
		free(axes);
		return sp_fail(SP_EDOMAIN, "a region's posterior could not be factored (%zu free flows)", d);
	}
	/* Row i of inverse(L) is an axis, column i of inverse(L'). */
	cholesky_invert(hessian, d, axes);
	for (size_t i = 0; d > 1 && i < d; i++) {
		double known[sizeof(kinds)] = { 0 };

		for (size_t row = 0; row < eqs->n; row++) {
			double along = 0;

			for (size_t k = 0; k <= i; k++)
				along += post->r[row * d + k] * axes[i * d + k];
			for (size_t k = 0; k < sizeof(kinds); k++)
				known[k] += eqs->v[row].kind == kinds[k] ? along * along : 0;
		}
		for (size_t k = 0; k < sizeof(kinds); k++)
			*bits |= known[k] > 1 - model->most ? kinds[k] : 0;
	}
	free(axes);
	return 0;
}

/* What method_full() works with. */
struct full {
	const struct problem *p;
	const struct space *space;
	struct equations eqs; /* the caller's, and their weights stay that */
	size_t n_exact;       /* of these the first: totals, ratios, trip counts */
	bool stacks;          /* the others are of stacks, and not of borders */
	struct posterior *post;
	double *t, *hessian;
	bool short_of_mode; /* the last search for the mode ended before it was reached */
	bool met;           /* the exact equations are, by some flow */
};

static void full_fini(struct full *fu)
{
	free(fu->eqs.v);
	posterior_free(fu->post);
	free(fu->t);
	free(fu->hessian);
}

/* The caller's equations: exact ones, then those of stacks. */
static void take_equations(struct full *fu, const struct equations *eqs)
{
	while (fu->n_exact < eqs->n && !(eqs->v[fu->n_exact].kind & (PROFILE_BY_PATH | PROFILE_BY_BORDER)))
		fu->n_exact++;
	fu->stacks = fu->n_exact < eqs->n && eqs->v[fu->n_exact].kind & PROFILE_BY_PATH;
	fu->eqs = *eqs;
	fu->eqs.v = mem_malloc((eqs->n + 1) * sizeof(*eqs->v));
	memcpy(fu->eqs.v, eqs->v, eqs->n * sizeof(*eqs->v));
}

static void full_init(struct full *fu, const struct problem *p, const struct space *space,
                      const double *interior, const struct equations *eqs)
{
	size_t d = space->n_free;
	double insn = 0;

	*fu = (struct full){ .p = p,
		             .space = space,
		             .t = mem_calloc(d + 1, sizeof(double)),
		             .hessian = mem_calloc(d * d + 1, sizeof(double)) };
	take_equations(fu, eqs);
	for (size_t e = 0; e < p->n_edges; e++)
		insn += interior[e] * p->blocks[p->edges[e].to].n_insn;
	for (size_t k = 0; k < d; k++)
		fu->t[k] = interior[space->free_edge[k]] * p->total_insn / insn;
	fu->post = posterior_new(p, space, &fu->eqs);
}

/* Mean square of the residuals of rows [first, end) at t, in units of their noise. */
static double mean_square(const struct full *fu, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++) {
		double miss = posterior_miss(fu->post, i, fu->t);

		sum += miss * miss;
	}
	return end > first ? sum / (double)(end - first) : 0;
}

/* The mode under the first n equations. */
static void mode_of(struct full *fu, size_t n)
{
	size_t all = fu->eqs.n;

	fu->eqs.n = n;
	posterior_equate(fu->post, &fu->eqs);
	fu->eqs.n = all;
	fu->short_of_mode = posterior_mode(fu->post, fu->t, fu->hessian);
}

static void raise_noise(struct full *fu, size_t first, size_t end, double factor)
{
	for (size_t i = first; i < end; i++)
		fu->eqs.v[i].sd *= factor;
}

/* The largest residual of an exact equation, in instructions; *worst: which one. */
static double worst_miss(const struct full *fu, size_t *worst)
{
	double *flow = mem_calloc(fu->p->n_edges + 1, sizeof(*flow)), most = 0;

	*worst = 0;
	space_flow(fu->space, fu->t, flow);
	for (size_t i = 0; i < fu->n_exact; i++) {
		double miss = -fu->eqs.v[i].value;

		for (size_t e = 0; e < fu->p->n_edges; e++)
			miss += fu->eqs.v[i].w[e] * flow[e];
		if (fabs(miss) > most) {
			most = fabs(miss);
			*worst = i;
		}
	}
	free(flow);
	return most;
}

/*
 * Exact equations that no flow meets are not exact: an event counts otherwise than its name says, or code is missing from the
 * scope.  Their noise is raised to their residuals.  Where those are gross the scope is given up.
 */
static int settle_exact(struct full *fu)
{
	double square, miss;
	size_t worst;
	bool gross;

	mode_of(fu, fu->n_exact);
	/* The prior may hold the mode off totals that a flow could meet: then the totals are right. */
	if (mean_square(fu, 0, fu->n_exact) > model->missed)
		fu->short_of_mode |= posterior_nearest(fu->post, fu->t, fu->hessian);
	square = mean_square(fu, 0, fu->n_exact);
	fu->met = square <= model->missed;
	if (fu->met)
		return 0;
	gross = square > reason_limit_no_flow_squares;
	if (gross && fu->short_of_mode)
		return sp_fail(SP_EDOMAIN, reason_text_no_flow_in_time, fu->space->n_free);
	/* Totals of other code than the region's: no count made from them is worth more than the raw ones. */
	miss = worst_miss(fu, &worst);
	if (gross && miss > reason_limit_no_flow * fu->p->total_insn)
		return sp_fail(SP_EDOMAIN, reason_text_no_flow, fu->eqs.v[worst].name,
		               100 * miss / fu->p->total_insn);
	raise_noise(fu, 0, fu->n_exact, sqrt(square));
	return 0;
}

/*
 * Equations [first, n) come to the exact ones.  Where the two disagree the exact ones are right, and the newcomers' noise
 * is raised until the totals are met again.  Where less belief in newcomers does not bring the exact ones nearer, those
 * contradict one another or the bounds of the flow by as much: it is their noise then.  Not so where a flow meets them, and they are
 * missed by more than any noise: few bursts may know a flow to nearly nothing, and wrongly.
 */
static void admit(struct full *fu, size_t first)
{
	size_t n = fu->eqs.n;
	double before = INFINITY, raised = 1;

	for (int round = 0; round < EFFORT_ADMIT_ROUNDS; round++) {
		double exact;

		mode_of(fu, n);
		if (n == first)
			break;
		exact = mean_square(fu, 0, fu->n_exact);
		if (exact > model->missed && exact > model->most * before &&
		    !(fu->met && exact > reason_limit_no_flow_squares)) {
			raise_noise(fu, first, n, 1 / raised);
			raise_noise(fu, 0, fu->n_exact, sqrt(exact));
			break;
		}
		if (exact <= model->missed)
			break;
		before = exact;
		raised = sqrt(2 * exact);
		raise_noise(fu, first, n, raised);
	}
	mode_of(fu, n);
}

/*
 * eq. 18: the noise of stacks, and of borders, by what all else says of them (a variance component, as Helmert's).  The mode misses each
 * row by as much of its noise as is not settled by the row itself: were the noise right, squares would come to that.  One square that
 * comes to itself is added, for a few tell little.  Once is enough: the factor hardly moves what it is made from.  Where there is only
 * the total, which stacks are scaled to, only the prior would judge them: nothing is changed.  They keep trip counts as well, however
 * wrong they are of how often a loop is entered: that they agree with these and the total makes no noise less.
 */
static void judge_stacks(struct full *fu)
{
	const size_t d = fu->space->n_free, first = fu->n_exact, n = fu->eqs.n - first;
	double *factor = mem_malloc((d * d + d + 1) * sizeof(*factor)), *x = factor + d * d, sure = 0,
	       squares = 1 + (double)n * mean_square(fu, first, fu->eqs.n), open = 1 + (double)n;

	memcpy(factor, fu->hessian, d * d * sizeof(*factor));
	if (first < 2 || cholesky_factor_hessian(factor, d) < 0)
		goto out;
	for (size_t i = 0; i < fu->eqs.n; i++) {
		memcpy(x, fu->post->r + i * d, d * sizeof(*x));
		cholesky_solve(factor, d, x);
		for (size_t k = 0; k < d; k++) {
			double known = fu->post->r[i * d + k] * x[k];

			open -= i >= first ? known : 0;
			sure += i == 0 || fu->eqs.v[i].kind == PROFILE_BY_TRIPS ? known : 0;
		}
	}
	if (squares < open)
		open = fmax(open - sure, squares);
	raise_noise(fu, first, fu->eqs.n, sqrt(squares / open));
	mode_of(fu, fu->eqs.n);
out:
	free(factor);
}

/*
 * eq. 18, the dispersion of draws by cross-validation: each exact equation but the total, which stacks are scaled to, is left out, and
 * predicted from all else, stacks and prior among it; how much more do predictions miss than they should?
 */
static double crossval_factor(struct full *fu)
{
	size_t rows[] = { 1, fu->n_exact };
	struct posterior *loose;
	double squares;

	if (settled(fu->post, fu->t) >= fu->space->n_free)
		return 1;
	if (fu->n_exact < 2)
		return fu->stacks ? 1 : sqrt(model->missed);
	raise_noise(fu, rows[0], rows[1], 1e6);
	loose = posterior_new(fu->p, fu->space, &fu->eqs);
	raise_noise(fu, rows[0], rows[1], 1e-6);
	squares = crossval_of(fu->post, loose, fu->t, rows);
	posterior_free(loose);
	return sqrt(isnan(squares) ? model->missed : fmax(1, squares / (double)(rows[1] - rows[0])));
}

/* Spread draws about their mean, which stays; none falls below zero. */
static void stretch(const struct problem *p, double factor, struct solution *out)
{
	for (size_t b = 0; b < p->n_blocks; b++) {
		double mean = 0, after = 0;

		for (size_t i = 0; i < out->n_draws; i++)
			mean += (double)out->draws[i * p->n_blocks + b] / (double)out->n_draws;
		for (size_t i = 0; i < out->n_draws; i++) {
			float *n = &out->draws[i * p->n_blocks + b];

			*n = (float)fmax(mean + factor * ((double)*n - mean), 0);
			after += (double)*n / (double)out->n_draws;
		}
		for (size_t i = 0; i < out->n_draws && after > 0; i++)
			out->draws[i * p->n_blocks + b] *= (float)(mean / after);
	}
}

/* Draws from the moments.  Where those do not settle, too little is known of the flow, and raw counts stay. */
static int draw(const struct full *fu, unsigned long seed, struct solution *out)
{
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	struct moments m = { 0 };
	int err = moments_find(fu->post, fu->t, &m);

	if (err == 0 && !m.settled)
		err = sp_fail(SP_EDOMAIN, reason_text_not_settled, fu->space->n_free);
	if (err == 0) {
		gsl_rng_set(rng, seed * 1000003);
		moments_draw(&m, fu->post, rng, fu->p, out);
	}
	moments_fini(&m);
	gsl_rng_free(rng);
	return err;
}

int method_full(const struct problem *p, const struct space *space, const double *interior,
                const struct equations *eqs, unsigned long seed, struct solution *out)
{
	struct full fu;
	double spread;
	int err;

	solution_init(out, p, space->n_free <= EFFORT_ALL_DRAWS ? EFFORT_DRAWS : EFFORT_LARGE_DRAWS);
	full_init(&fu, p, space, interior, eqs);
	err = settle_exact(&fu);
	if (err == 0)
		admit(&fu, fu.n_exact);
	if (err < 0)
		goto out;
	if (fu.stacks)
		judge_stacks(&fu);
	spread = crossval_factor(&fu);
	out->n_free = (uint32_t)space->n_free;
	out->n_rank = settled(fu.post, fu.t);
	err = evidence_of(fu.post, &fu.eqs, fu.hessian, &out->evidence);
	if (err == 0)
		err = draw(&fu, seed, out);
	if (err == 0 && spread > 1)
		stretch(p, spread, out);
out:
	full_fini(&fu);
	return err;
}
