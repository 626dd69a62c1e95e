/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions of blocks lifted to kernels, and what that is worth. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"
#include "report/lift/lift.h"
#include "report/lift/stats.h"

static bool predicts_blocks(const struct tool *t)
{
	return t->ops->predict != NULL;
}

double lift_insns(const struct lift *l, const struct lift_kernel *k)
{
	double insn = 0;

	for (size_t b = k->block0; b < k->block0 + k->n_blocks; b++)
		insn += l->blocks[b].n * l->blocks[b].n_insn;
	return insn;
}

/* lifted(K); a block without a prediction puts the tool out. */
static void sum_blocks(const struct lift *l, const struct lift_kernel *k, size_t tool, struct lift_sum *s)
{
	double cyc = 0;

	for (size_t b = k->block0; b < k->block0 + k->n_blocks; b++) {
		double each = lift_prediction(l, b, tool)->cyc;

		if (isfinite(each))
			cyc += l->blocks[b].n * each;
		else if (s->n_failed++ == 0)
			s->first_failed = b;
	}
	s->cyc = s->n_failed ? NAN : cyc;
}

/*
 * The interval of  sum over b of n_b (prediction(b) - cpi |b|)  over the
 * posterior draws, in which the blocks of a region vary together as their
 * flow does.
 */
static int sum_interval(const struct lift *l, const struct lift_kernel *k, size_t tool, double cpi,
                        double out[2])
{
	VEC(uint32_t) insns = { 0 };
	VEC(double) weights = { 0 };
	double mean;
	int err = 0;

	for (size_t b = k->block0; b < k->block0 + k->n_blocks && err == 0; b++) {
		const struct tool_block *code = &l->blocks[b].code;
		size_t first, n = lift_profile_insns(l, l->blocks[b].module, code->vaddr,
		                                     code->vaddr + code->n_bytes, &first);

		for (size_t i = first; i < first + n && err == 0; i++) {
			err = vec_push(&insns, (uint32_t)i);
			if (err == 0)
				err = vec_push(&weights,
				               lift_prediction(l, b, tool)->cyc / l->blocks[b].n_insn - cpi);
		}
	}
	if (err == 0)
		profile_weighted_interval(l->profile, insns.v, weights.v, insns.n, &mean, &out[0], &out[1]);
	vec_fini(&insns);
	vec_fini(&weights);
	return err;
}

/* Of lifted(K), and of lifted CPI(K): where the quotient varies little, as its numerator about the mean quotient. */
static int find_intervals(const struct lift *l, const struct lift_kernel *k, size_t tool, struct lift_sum *s)
{
	double insn = lift_insns(l, k), about[2] = { NAN, NAN }, range[2] = { NAN, NAN };
	int err = sum_interval(l, k, tool, s->cpi, about);

	if (err == 0 && !l->relative)
		err = sum_interval(l, k, tool, 0, range);
	if (err < 0)
		return err;
	s->cpi_lo = s->cpi + about[0] / insn;
	s->cpi_hi = s->cpi + about[1] / insn;
	s->lo = range[0];
	s->hi = range[1];
	return 0;
}

/* Executions are not known better than what is lifted from them: as functions are judged. */
static void judge_width(const struct lift *l, struct lift_kernel *k, const struct lift_sum *s)
{
	double width = l->relative ? (s->cpi_hi - s->cpi_lo) / s->cpi : (s->hi - s->lo) / s->cyc;

	if (width > 2 * LIFT_WEAK_HALF_WIDTH && k->status < PROFILE_WEAK)
		k->status = PROFILE_WEAK;
}

static int sum_kernel(const struct lift *l, struct lift_kernel *k, size_t tool)
{
	struct lift_sum *s = &k->sums[tool];
	const struct tool *t = &l->tools[tool];
	struct tool_prediction whole = { NAN, "" };
	int err = 0;

	*s = (struct lift_sum){ .lo = NAN, .hi = NAN, .cpi_lo = NAN, .cpi_hi = NAN };
	if (predicts_blocks(t)) {
		sum_blocks(l, k, tool, s);
	} else {
		t->ops->kernel(t, l, k, &whole);
		s->cyc = whole.cyc;
		s->n_failed = !isfinite(whole.cyc);
		s->first_failed = k->block0;
	}
	s->cpi = s->cyc / lift_insns(l, k);
	if (predicts_blocks(t) && !l->exact && isfinite(s->cpi))
		err = find_intervals(l, k, tool, s);
	judge_width(l, k, s);
	if (l->relative)
		s->cyc = NAN;
	/* The whole kernel as recorded, held against the recording, is the same number twice. */
	s->error = !predicts_blocks(t) && k->measured == MEASURED_PROFILE ? NAN : s->cyc / k->cyc - 1;
	return err;
}

static void score_errors(double *errors, size_t n, struct lift_score *s)
{
	gsl_sort(errors, 1, n);
	s->mean = gsl_stats_mean(errors, 1, n);
	s->q1 = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.25);
	s->median = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.5);
	s->q3 = gsl_stats_quantile_from_sorted_data(errors, 1, n, 0.75);
	s->worst = errors[n - 1];
}

/* What coverage is a share of. */
static double weight_of(const struct lift *l, const struct lift_kernel *k)
{
	return l->relative ? (k->cyc > 0 ? k->cyc : 0) : k->insn;
}

static void score_tool(const struct lift *l, size_t tool, double *scratch, struct lift_score *s)
{
	double *errors = scratch, *cyc = scratch + l->n_kernels, *measured = cyc + l->n_kernels;
	double all = 0, predicted = 0;

	*s = (struct lift_score){
		.mean = NAN, .median = NAN, .q1 = NAN, .q3 = NAN, .worst = NAN, .tau = NAN
	};
	for (size_t i = 0; i < l->n_kernels; i++) {
		const struct lift_kernel *k = &l->kernels[i];

		s->n_out += k->sums[tool].n_failed > 0;
		all += weight_of(l, k);
		predicted += k->sums[tool].n_failed ? 0 : weight_of(l, k);
		if (!lift_judges(k) || !isfinite(k->sums[tool].error))
			continue;
		errors[s->n_kernels] = fabs(k->sums[tool].error);
		cyc[s->n_kernels] = k->sums[tool].cyc;
		measured[s->n_kernels++] = k->cyc;
	}
	s->coverage = all > 0 ? predicted / all : NAN;
	if (s->n_kernels)
		score_errors(errors, s->n_kernels, s);
	if (s->n_kernels > 1)
		s->tau = stats_tau(cyc, measured, s->n_kernels);
}

int lift_sum_up(struct lift *l)
{
	double *scratch = calloc(3 * l->n_kernels + 1, sizeof(*scratch));
	int err = 0;

	l->scores = calloc(l->n_tools + 1, sizeof(*l->scores));
	if (!scratch || !l->scores)
		err = sp_fail(SP_ENOMEM, "out of memory for scores");
	for (size_t i = 0; i < l->n_kernels && err == 0; i++) {
		struct lift_kernel *k = &l->kernels[i];

		k->sums = calloc(l->n_tools + 1, sizeof(*k->sums));
		if (!k->sums)
			err = sp_fail(SP_ENOMEM, "out of memory for scores");
		for (size_t t = 0; t < l->n_tools && err == 0; t++)
			err = sum_kernel(l, k, t);
	}
	for (size_t t = 0; t < l->n_tools && err == 0; t++)
		score_tool(l, t, scratch, &l->scores[t]);
	free(scratch);
	return err;
}

/* The region that a kernel's code is in, -1 = in none. */
static int32_t region_of(const struct lift *l, const struct lift_kernel *k)
{
	size_t first, n = lift_profile_insns(l, k->module, k->vaddr, k->end_vaddr, &first);

	for (size_t i = first; i < first + n; i++)
		if (l->profile->insns[i].region >= 0)
			return l->profile->insns[i].region;
	return -1;
}

/* Do two kernels that are not reliable lie in one region? */
static bool share_region(const struct lift *l)
{
	for (size_t i = 0; l->profile && i < l->n_kernels; i++) {
		int32_t region = region_of(l, &l->kernels[i]);

		if (l->kernels[i].status != PROFILE_UNRELIABLE || region < 0)
			continue;
		for (size_t k = 0; k < i; k++)
			if (l->kernels[k].status == PROFILE_UNRELIABLE &&
			    region_of(l, &l->kernels[k]) == region)
				return true;
	}
	return false;
}

int lift_verdict(const struct lift *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_kernels; i++)
		n += l->kernels[i].status == PROFILE_UNRELIABLE;
	if (!n)
		return 0;
	if (share_region(l))
		return sp_fail(SP_EDOUBT,
		               "how often the blocks of %zu kernels ran is not reliable: left out of the "
		               "averages; one loop calls several of them: record each in a run of its own, "
		               "or count with --truth",
		               n);
	return sp_fail(SP_EDOUBT,
	               "how often the blocks of %zu kernel%s ran is not reliable: left out of the averages; "
	               "'skidprof report --why FUNCTION' tells why, --truth has exact counts",
	               n, n == 1 ? "" : "s");
}
