/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From weighed stacks to what they say of the flow: the mean over stacks of
 * each free flow, with its scatter and what weighing leaves (eq. 13).
 */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/known.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"

/* Of an estimate in units of another's: rounding must not make it certain. */
static const double least_noise = 1e-6;

void path_add_stack(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                    const float *weight, double times, struct path_tally *t)
{
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];
		double w = times * (weight ? (double)weight[st->piece0 + k] : st->insn);

		if (w == 0)
			continue;
		for (uint32_t i = 0; i < p->n_edges; i++)
			t->edge[s->pool.v[p->edge0 + i]] += w;
		t->insn += w * p->n_insn;
	}
}

/* What stacks weighed in one way say of the free flows: N(mean, cov). */
struct path_estimate {
	double *mean, *cov; /* [d], [d][d] */
};

static void estimate_init(struct path_estimate *e, size_t d)
{
	*e = (struct path_estimate){ .mean = mem_calloc(d + 1, sizeof(double)),
		                     .cov = mem_calloc(d * d + 1, sizeof(double)) };
}

static void estimate_fini(struct path_estimate *e)
{
	free(e->mean);
	free(e->cov);
	*e = (struct path_estimate){ 0 };
}

/* What a stack weighs on average: its mean piece's weight. */
static double mean_weight(const struct scope_stacks *r, const float *weight)
{
	double sum = 0;

	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++)
			sum += (double)weight[st->piece0 + k] / st->n_pieces;
	}
	return sum / (double)r->stacks.n;
}

enum { ROUNDS = 10 }; /* of fitting weights to sums: what 30 would move is nothing to speak of */

/* How stacks are weighed. */
enum weighing {
	BY_CYCLES,
	BY_NEWEST,   /* eq. 12 */
	BY_INSNS,    /* those by the same newest edge stand for their instructions, all alike ... */
	BY_BRANCHES, /* ... or for their branches, which were sampled */
	AS_SEEN,     /* branches count as they come */
};

/* Of which stacks: of the processor's, those of the cycles event, or the others. */
enum of_stacks { OF_ALL, OF_RECORDS, OF_CYCLES, OF_INSNS, OF_BURSTS };

static bool is_of(const struct stack *st, enum of_stacks of)
{
	if (of == OF_ALL)
		return true;
	if (of == OF_BURSTS || st->burst)
		return of == OF_BURSTS && st->burst;
	return of == OF_RECORDS || (st->cyc > 0) == (of == OF_CYCLES);
}

/* Some of the stacks; pieces stay r's. */
static void stacks_of(const struct scope_stacks *r, enum of_stacks of, struct scope_stacks *out)
{
	*out = *r;
	memset(&out->stacks, 0, sizeof(out->stacks));
	for (size_t i = 0; i < r->stacks.n; i++)
		if (is_of(&r->stacks.v[i], of))
			vec_add(&out->stacks, r->stacks.v[i]);
}

/* An estimate to be made: of which stacks, weighed how. */
struct plan {
	enum of_stacks of;
	enum weighing how;
};

/*
 * What it is made for; and whether bursts tell the same without a bias: else what stacks without cycles are believed less would be
 * the prior of time's to say, which is further off.
 */
struct scope {
	const struct space *space;
	double total_insn;
	bool bursts;
};

/* What stacks stand for: in one of them. */
static double counted_in(const struct path *s, const struct scope_stacks *r, const struct stack *st,
                         enum weighing how)
{
	double sum = 0;

	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct piece *p = &s->all.v[r->pieces.v[st->piece0 + k]];

		sum += how == BY_BRANCHES ? p->n_branches : p->n_insn;
	}
	return sum;
}

/* Scale the weights w of each group's stacks, of which group[] tells: together they have what they stand for.  sums[2 n_groups] is scratch. */
static void fit_sums(const struct scope_stacks *r, const uint32_t *group, size_t n_groups,
                     const double *counted, double *w, double *sums)
{
	double *stand = sums, *have = sums + n_groups;

	memset(sums, 0, 2 * n_groups * sizeof(*sums));
	for (size_t i = 0; i < r->stacks.n; i++) {
		stand[group[i]] += r->stacks.v[i].insn;
		have[group[i]] += w[i] * counted[i];
	}
	for (size_t i = 0; i < r->stacks.n; i++)
		w[i] *= have[group[i]] > 0 ? stand[group[i]] / have[group[i]] : 0;
}

/*
 * Stacks by one newest edge have together as many instructions, or branches, as they stand for, be they cut short or not; and so have
 * those of one stretch of the run.  Stages of a program share code and newest edges: by these alone one whose branches
 * have few instructions between them would come out too short.  Scaling to the one and the other in turn meets both (Deming and
 * Stephan, Annals of Mathematical Statistics, 1940).  Where eq. 12 says what newest edges count only stretches are scaled.
 */
static void weigh_by_counts(const struct path *s, const struct scope_stacks *r, size_t n_edges,
                            enum weighing how, float *weight)
{
	const size_t n = r->stacks.n, n_stretches = 1 + n / (size_t)model->many,
	             n_most = n_edges > n_stretches ? n_edges : n_stretches;
	uint32_t *near = mem_malloc((2 * n + 1) * sizeof(*near)), *stretch = near + n;
	double *counted = mem_malloc((2 * n + 2 * n_most + 1) * sizeof(*counted)), *w = counted + n;

	if (how == BY_NEWEST)
		path_weigh_back(s, r, n_edges, PATH_NEAR, weight);
	for (size_t i = 0; i < n; i++) {
		near[i] = r->stacks.v[i].near;
		stretch[i] = (uint32_t)(i * n_stretches / n);
		counted[i] = counted_in(s, r, &r->stacks.v[i], how);
		w[i] = how == BY_NEWEST ? (double)weight[r->stacks.v[i].piece0] : r->stacks.v[i].insn;
	}
	for (int round = 0; round < ROUNDS; round++) {
		fit_sums(r, stretch, n_stretches, counted, w, w + n);
		if (how == BY_NEWEST)
			break;
		fit_sums(r, near, n_edges, counted, w, w + n);
	}
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < r->stacks.v[i].n_pieces; k++)
			weight[r->stacks.v[i].piece0 + k] = (float)w[i];
	free(near);
	free(counted);
}

static void weigh(const struct path *s, const struct scope_stacks *r, size_t n_edges, enum weighing how,
                  float *weight)
{
	if (how == BY_CYCLES)
		path_weigh_by_cycles(s, r, 1, weight);
	else if (how != AS_SEEN)
		weigh_by_counts(s, r, n_edges, how, weight);
	for (size_t i = 0; how == AS_SEEN && i < r->stacks.n; i++)
		for (uint32_t k = 0; k < r->stacks.v[i].n_pieces; k++)
			weight[r->stacks.v[i].piece0 + k] = (float)r->stacks.v[i].insn;
}

/*
 * A burst begins where time goes, and ends so many branches on.  These are no whole number of iterations: with sharp ends it would
 * have the slow part of one once more, or once less, too often.  So it fades in and out.  A record only fades in: branches that are
 * hardly ever the newest, as the first of two that retire at once, miss in eq. 12, which shows most in the newest pieces.
 */
static void taper(const struct scope_stacks *r, bool bursts, float *weight)
{
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++) {
			double place = bursts ? (double)r->marks.v[st->piece0 + k] / PATH_PLACES
			                      : (k + 0.5) / st->n_pieces,
			       end = bursts ? fmin(place, 1 - place) : place,
			       s = sin(M_PI_2 * fmin(end / model->ramp, 1));

			weight[st->piece0 + k] *= (float)(s * s / (1 - model->ramp / (bursts ? 1 : 2)));
		}
	}
}

/* What half the window, or the newer half of each stack, says, for as many instructions as all of it. */
static void tally_half(const struct path *s, const struct scope_stacks *r, size_t n_edges, enum weighing how,
                       const struct path_tally *mean, struct path_tally *half)
{
	float *weight = mem_calloc(r->pieces.n + 1, sizeof(*weight));
	struct scope_stacks newer;

	stacks_of(r, OF_ALL, &newer);
	for (size_t i = 0; i < newer.stacks.n && how != BY_CYCLES; i++)
		newer.stacks.v[i].n_pieces -= newer.stacks.v[i].n_pieces / 2;
	if (how == BY_CYCLES)
		path_weigh_by_cycles(s, r, 0.5, weight);
	else
		weigh(s, &newer, n_edges, how, weight);
	for (size_t i = 0; i < newer.stacks.n; i++)
		path_add_stack(s, r, &newer.stacks.v[i], weight, 1, half);
	vec_fini(&newer.stacks);
	for (size_t e = 0; half->insn > 0 && e < n_edges; e++)
		half->edge[e] *= mean->insn / half->insn;
	free(weight);
}

/*
 * Positive when it says something.  Each burst is a mean of many laps: a few are known as well as Student's t says, whose
 * variance is finite from four of them on.
 */
static int estimate(const struct path *s, const struct scope_stacks *r, const struct plan *plan,
                    const struct scope *of, struct path_estimate *out)
{
	const struct space *space = of->space;
	size_t n_edges = space->n_edges, d = space->n_free;
	struct path_tally mean = { .edge = mem_calloc(2 * n_edges + 1, sizeof(double)) },
	                  half = { .edge = mean.edge + n_edges };
	float *weight = mem_calloc(r->pieces.n + 1, sizeof(*weight));
	const double n = (double)r->stacks.n, spread = plan->of == OF_BURSTS ? (n - 1) / (n - 3) : 1;
	double scale;
	int err = 0;

	if (n < (plan->of == OF_BURSTS ? 4 : model->few))
		goto out;
	weigh(s, r, n_edges, plan->how, weight);
	if (plan->of == OF_BURSTS || plan->how == BY_NEWEST)
		taper(r, plan->of == OF_BURSTS, weight);
	for (size_t i = 0; i < r->stacks.n; i++)
		path_add_stack(s, r, &r->stacks.v[i], weight, 1, &mean);
	/* Samples of no weight, as of an event without a period in a damaged file. */
	if (!(mean.insn > 0))
		goto out;
	if (plan->how == BY_CYCLES || (of->bursts && plan->of != OF_BURSTS))
		tally_half(s, r, n_edges, plan->how, &mean, &half);
	err = path_noise(s, r, weight, space,
	                 &(struct path_means){ &mean, mean_weight(r, weight), half.insn > 0 ? &half : NULL },
	                 out->cov);
	if (err < 0)
		goto out;
	scale = of->total_insn / mean.insn;
	for (size_t k = 0; k < d; k++)
		out->mean[k] = mean.edge[space->free_edge[k]] * scale;
	for (size_t k = 0; k < d * d; k++)
		out->cov[k] *= scale * scale * spread;
	err = 1;
out:
	free(mean.edge);
	free(weight);
	return err;
}

/* The sums of eq. 14 along the eigenvectors q of A: z are the differences there, lambda the other's variances. */
static void weigh_differences(const gsl_vector *lambda, gsl_vector *z, gsl_matrix *q)
{
	for (size_t i = 0; i < z->size; i++) {
		double dz = gsl_vector_get(z, i),
		       noise = fmax(fmax(gsl_vector_get(lambda, i), least_noise), dz * dz - 1);
		gsl_vector_view column = gsl_matrix_column(q, i);

		gsl_vector_set(z, i, dz / (1 + noise));
		gsl_vector_scale(&column.vector, sqrt(noise / (1 + noise)));
	}
}

/*
 * eq. 14: e, which is free of bias, with another estimate from other stacks, which may not be.  With cov = L L'
 * of e, in units of e's own noise, the other's is A = inverse(L) cov_other inverse(L').
 */
static int join(struct path_estimate *e, struct path_estimate *other, size_t d)
{
	gsl_matrix_view l = gsl_matrix_view_array(e->cov, d, d), a = gsl_matrix_view_array(other->cov, d, d);
	gsl_vector_view m = gsl_vector_view_array(e->mean, d), diff = gsl_vector_view_array(other->mean, d);
	gsl_matrix *q = mem_have(gsl_matrix_alloc(d, d));
	gsl_vector *z = mem_have(gsl_vector_alloc(d)), *lambda = mem_have(gsl_vector_alloc(d));
	gsl_eigen_symmv_workspace *work = mem_have(gsl_eigen_symmv_alloc(d));
	int err = 0;

	if (gsl_linalg_cholesky_decomp1(&l.matrix) != GSL_SUCCESS)
		err = sp_fail(SP_EDOMAIN, "branch records: their covariance could not be factored");
	if (err < 0)
		goto out;
	gsl_blas_dtrsm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, &l.matrix, &a.matrix);
	gsl_blas_dtrsm(CblasRight, CblasLower, CblasTrans, CblasNonUnit, 1, &l.matrix, &a.matrix);
	gsl_eigen_symmv(&a.matrix, lambda, q, work);
	gsl_vector_sub(&diff.vector, &m.vector);
	gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, &l.matrix, &diff.vector);
	gsl_blas_dgemv(CblasTrans, 1, q, &diff.vector, 0, z);
	gsl_matrix_memcpy(&a.matrix, q);
	weigh_differences(lambda, z, q);
	/* Back from e's own units: the mean moves by L Q z, and cov is (L Q)(L Q)' of the scaled Q. */
	gsl_blas_dgemv(CblasNoTrans, 1, &a.matrix, z, 0, &diff.vector);
	gsl_blas_dtrmv(CblasLower, CblasNoTrans, CblasNonUnit, &l.matrix, &diff.vector);
	gsl_vector_add(&m.vector, &diff.vector);
	gsl_blas_dtrmm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, &l.matrix, q);
	gsl_blas_dgemm(CblasNoTrans, CblasTrans, 1, q, q, 0, &l.matrix);
out:
	gsl_matrix_free(q);
	gsl_vector_free(z);
	gsl_vector_free(lambda);
	gsl_eigen_symmv_free(work);
	return err;
}

/*
 * eq. 14: two estimates of which either may be wrong: their mean, with half the noise of both, and along the line that
 * joins them so much that either lies within a standard deviation of the middle.  Where on it, exact totals may tell.
 */
static void blend(struct path_estimate *e, const struct path_estimate *other, size_t d)
{
	for (size_t i = 0; i < d; i++)
		for (size_t k = 0; k < d; k++) {
			double apart = (e->mean[i] - other->mean[i]) * (e->mean[k] - other->mean[k]);
			double *cov = &e->cov[i * d + k];

			*cov = (*cov + other->cov[i * d + k]) / 2 + apart / 4;
		}
	for (size_t i = 0; i < d; i++)
		e->mean[i] = (e->mean[i] + other->mean[i]) / 2;
}

/* Turn N(mean, cov) of the free edges into d independent equations of unit noise: with cov = L L', rows of inverse(L). */
static int add_rows(const struct space *space, struct path_estimate *e, struct equations *out)
{
	size_t d = space->n_free;
	gsl_matrix_view m = gsl_matrix_view_array(e->cov, d, d);
	gsl_matrix *inverse;

	if (gsl_linalg_cholesky_decomp1(&m.matrix) != GSL_SUCCESS)
		return sp_fail(SP_EDOMAIN, "branch records: their covariance could not be factored");
	inverse = mem_have(gsl_matrix_alloc(d, d));
	gsl_matrix_set_identity(inverse);
	gsl_blas_dtrsm(CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, 1, &m.matrix, inverse);
	for (size_t i = 0; i < d; i++) {
		struct equation *eq = equations_add(out, space->n_edges);

		eq->name = "branch records";
		eq->kind = PROFILE_BY_PATH;
		eq->sd = 1;
		for (size_t k = 0; k <= i; k++) {
			double x = gsl_matrix_get(inverse, i, k);

			eq->w[space->free_edge[k]] = x;
			eq->value += x * e->mean[k];
		}
	}
	gsl_matrix_free(inverse);
	return 0;
}

void path_stacks_of_cycles(const struct scope_stacks *r, struct scope_stacks *out)
{
	stacks_of(r, OF_CYCLES, out);
}

void path_pace_by_branches(const struct path *s, const struct scope_stacks *r, size_t n_edges, double *pace,
                           double *sd)
{
	float *weight = mem_calloc(r->pieces.n + 1, sizeof(*weight));
	struct scope_stacks of;
	double insn = 0, branches = 0, insn2 = 0, both = 0, branches2 = 0;

	stacks_of(r, OF_RECORDS, &of);
	weigh(s, &of, n_edges, BY_BRANCHES, weight);
	for (size_t i = 0; i < of.stacks.n; i++) {
		const struct stack *st = &of.stacks.v[i];
		/* All of a stack's pieces weigh the same. */
		const double w = (double)weight[st->piece0], x = w * counted_in(s, r, st, BY_INSNS),
		             n = w * counted_in(s, r, st, BY_BRANCHES);

		insn += x;
		branches += n;
		insn2 += x * x;
		both += x * n;
		branches2 += n * n;
	}
	*pace = branches > 0 && of.stacks.n >= model->few ? insn / branches : 0;
	/* The squares of what stacks are off by at that pace. */
	*sd = branches > 0 ? sqrt(fmax(insn2 + *pace * (*pace * branches2 - 2 * both), 0)) / branches : 0;
	vec_fini(&of.stacks);
	free(weight);
}

static size_t count_of(const struct scope_stacks *r, enum of_stacks of)
{
	size_t n = 0;

	for (size_t i = 0; i < r->stacks.n; i++)
		n += is_of(&r->stacks.v[i], of);
	return n;
}

/*
 * What the processor's own branch records are good for.  Returns how many estimates are to be joined.  Bursts tell what newest edges
 * count better than going back does: records beside them add what is rare, which eq. 12 leaves more open.
 */
static size_t plan_records(const struct path *s, const struct scope_stacks *r, const struct scope *of,
                           struct plan *plan)
{
	const enum weighing how = of->bursts ? BY_INSNS : BY_NEWEST;
	size_t n_cycles = count_of(r, OF_CYCLES), n_insns = count_of(r, OF_INSNS), n = 0;

	/* Those of instructions beside them could only be weighed by going back along them, which leaves more than it adds. */
	if (path_has_cycles(r)) {
		plan[0] = (struct plan){ OF_CYCLES, BY_CYCLES };
		return 1;
	}
	plan[0] = (struct plan){ OF_RECORDS, s->in.rec->branch_kind ? BY_BRANCHES : how };
	/* Of an event that is neither cycles, instructions nor branches: a stack stands for nothing but the way it shows. */
	if (s->in.rec->relative && !n_cycles)
		return 1;
	if (n_cycles >= model->many)
		plan[n++] = (struct plan){ OF_CYCLES, how };
	if (n_insns >= model->few && 3 * n_insns >= n_cycles && (!n || of->space->n_free <= EFFORT_JOINED))
		plan[n++] = (struct plan){ OF_INSNS, how };
	return n ? n : 1;
}

static int estimate_of(const struct path *s, const struct scope_stacks *r, const struct plan *plan,
                       const struct scope *of, struct path_estimate *out)
{
	struct scope_stacks stacks;
	int err;

	estimate_init(out, of->space->n_free);
	stacks_of(r, plan->of, &stacks);
	err = estimate(s, &stacks, plan, of, out);
	vec_fini(&stacks.stacks);
	return err;
}

/* One of the plan's estimates is left in e[0], where any says something: positive then. */
static int make_estimates(const struct path *s, const struct scope_stacks *r, const struct scope *of,
                          const struct plan *plan, size_t n_plans, struct path_estimate e[2])
{
	size_t d = of->space->n_free, n = 0;
	int err = 0;

	for (size_t i = 0; i < n_plans && err == 0; i++) {
		err = estimate_of(s, r, &plan[i], of, &e[n]);
		if (err > 0) {
			n++;
			err = 0;
		} else {
			estimate_fini(&e[n]);
		}
	}
	if (err == 0 && n == 2)
		blend(&e[0], &e[1], d);
	return err < 0 ? err : n > 0;
}

/* The instructions of code that no burst went along, by what records say. */
static double unseen_insn(const struct problem *p, const struct space *space,
                          const struct path_estimate *bursts, const struct path_estimate *records)
{
	double *f = mem_calloc(2 * p->n_edges + 1, sizeof(*f)), *seen = f + p->n_edges, insn = 0;

	space_flow(space, bursts->mean, seen);
	space_flow(space, records->mean, f);
	for (size_t e = 0; e < p->n_edges; e++)
		if (fabs(seen[e]) < least_noise * f[e])
			insn += f[e] * p->blocks[p->edges[e].to].n_insn;
	free(f);
	return insn;
}

/*
 * Flows that no burst went along have no scatter, as if they were known to be none: they get that of as few records, which saw
 * them.  more: records for each burst.
 */
static void doubt_unseen(struct problem *p, const struct space *space, struct path_estimate *bursts,
                         const struct path_estimate *records, double more)
{
	const size_t d = space->n_free;
	double unseen = unseen_insn(p, space, bursts, records);

	if (!(unseen > model->little * p->total_insn))
		return;
	p->untaken_insn = unseen;
	for (size_t i = 0; i < d; i++)
		for (size_t k = 0; bursts->mean[i] == 0 && k < d; k++)
			if (bursts->mean[k] == 0)
				bursts->cov[i * d + k] += records->cov[i * d + k] * fmax(more, 1);
}

int path_equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	struct path *s = state;
	struct scope_stacks *r = &s->scopes[scope];
	/* Bursts come evenly in time: where that is no number of instructions neither can they stand for those. */
	const struct plan of_bursts = { OF_BURSTS, s->in.rec->relative ? AS_SEEN : BY_INSNS };
	struct plan plan[2];
	struct path_estimate e[2] = { 0 }, bursts = { 0 };
	size_t d = space->n_free;
	/* Bursts are of time: where branches were sampled they say less of stages than records do. */
	size_t n_bursts = s->in.rec->branch_kind ? 0 : count_of(r, OF_BURSTS);
	const struct scope of = { space, s->in.problems[scope]->total_insn, n_bursts >= model->few };
	int has_records = 0, has_bursts = 0, err = 0;

	if (!d)
		return 0;
	if (count_of(r, OF_RECORDS))
		err = has_records = make_estimates(s, r, &of, plan, plan_records(s, r, &of, plan), e);
	if (err >= 0 && n_bursts)
		err = has_bursts = estimate_of(s, r, &of_bursts, &of, &bursts);
	if (err >= 0 && has_bursts && has_records) {
		/* The scatter of a few bursts says little about the noise of many flows. */
		for (size_t k = 0; k < d * d; k++)
			bursts.cov[k] *= 1 + (double)d / (double)n_bursts;
		doubt_unseen(s->in.problems[scope], space, &bursts, &e[0],
		             (double)count_of(r, OF_RECORDS) / (double)n_bursts);
		err = join(&bursts, &e[0], d);
	}
	if (err >= 0 && (has_bursts || has_records))
		err = add_rows(space, has_bursts ? &bursts : &e[0], out);
	estimate_fini(&e[0]);
	estimate_fini(&e[1]);
	estimate_fini(&bursts);
	return err < 0 ? err : 0;
}
