/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a curve to a number: trend line, change point, comparison of a pair.
 * Each has an interval, and a verdict that follows from the interval.
 */
#include "profiler/calibrate/cliff.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/err.h"

/* What a row may move by from one day to the next and still be clean. */
static const double CLEAN = 0.03;
/* A change point is one only where the response rises by a quarter (trap 2). */
static const double LEAST_STEP = 0.25;
/* Change points nearer to each other than that are one. */
static const double SAME_PLACE = 0.02;

enum { LEAST_SEGMENT = 2 };

struct line {
	double a, b, sse, sd_b; /* y = a + bx; of b: NAN with two points */
};

static struct line fit_line(const struct cliff_curve *c, size_t from, size_t to)
{
	double x[CLIFF_MAX_POINTS], cov00, cov01, cov11;
	struct line l = { 0 };

	for (size_t i = from; i < to; i++)
		x[i] = c->pressure[i];
	if (to - from < 2) {
		l.a = c->response[from];
		return l;
	}
	gsl_fit_linear(x + from, 1, c->response + from, 1, to - from, &l.a, &l.b, &cov00, &cov01, &cov11,
	               &l.sse);
	l.sd_b = to - from > 2 ? sqrt(cov11) : NAN;
	return l;
}

static double at(const struct line *l, double x)
{
	return l->a + l->b * x;
}

/* Mean spread of a stretch: what the points themselves say of their noise. */
static double noise_of(const struct cliff_curve *c, size_t from, size_t to)
{
	return gsl_stats_mean(c->spread + from, 1, to - from);
}

static void set_interval(struct cliff_result *r, double value, double half)
{
	r->value = value;
	r->lo = value - half;
	r->hi = value + half;
	r->verdict = half <= CLEAN * fabs(value)        ? CLIFF_CLEAN
	             : half <= 10 * CLEAN * fabs(value) ? CLIFF_WEAK
	                                                : CLIFF_NOISY;
}

/* 97.5% point of Student's t: half the width of a 95% interval in standard deviations. */
static double t_half(size_t degrees)
{
	return gsl_cdf_tdist_Pinv(0.975, (double)degrees);
}

static void infer_slope(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	struct line l = fit_line(curve, 0, curve->n);

	set_interval(out, l.b / c->amount, l.sd_b * t_half(curve->n - 2) / c->amount);
	out->before = curve->response[0];
	out->after = curve->response[curve->n - 1];
	if (l.b <= 0)
		out->verdict = CLIFF_NOISY;
}

/* ---- change point ---- */

struct change {
	size_t at; /* first point behind it */
	struct line left, right;
	double sse, sse_without;
	size_t lo, hi; /* as well placed as `at`, within the noise */
};

static double split_at(const struct cliff_curve *c, size_t at, struct line *left, struct line *right)
{
	*left = fit_line(c, 0, at);
	*right = fit_line(c, at, c->n);
	return left->sse + right->sse;
}

/*
 * Two straight segments, each with its own slope, by least squares (trap 7:
 * a slope and a step).  Every place whose sum of squares is within what chance
 * gives of the best one's (F test, 95%) is in the interval.
 */
static void find_change(const struct cliff_curve *c, struct change *out)
{
	double sse[CLIFF_MAX_POINTS], limit;
	struct line left, right;
	size_t degrees = c->n > 5 ? c->n - 5 : 1;

	*out = (struct change){ .at = LEAST_SEGMENT,
		                .sse = INFINITY,
		                .sse_without = fit_line(c, 0, c->n).sse };
	for (size_t k = LEAST_SEGMENT; k + LEAST_SEGMENT <= c->n; k++) {
		sse[k] = split_at(c, k, &left, &right);
		if (sse[k] < out->sse) {
			out->sse = sse[k];
			out->at = k;
			out->left = left;
			out->right = right;
		}
	}
	limit = out->sse * (1 + gsl_cdf_fdist_Pinv(0.95, 1, (double)degrees) / (double)degrees);
	out->lo = out->hi = out->at;
	while (out->lo > LEAST_SEGMENT && sse[out->lo - 1] <= limit)
		out->lo--;
	while (out->hi + 1 + LEAST_SEGMENT <= c->n && sse[out->hi + 1] <= limit)
		out->hi++;
}

/* Where it is, between which pressures it can be, and how far it stands out. */
static void infer_change(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	struct change ch;
	uint32_t foot, next;
	bool is_there;

	find_change(curve, &ch);
	foot = curve->pressure[ch.at - 1];
	next = curve->pressure[ch.at];
	out->before = at(&ch.left, foot);
	out->after = at(&ch.right, next);
	is_there = c->method == CLIFF_BEND ? ch.right.b > ch.left.b * (1 + LEAST_STEP)
	                                   : out->after >= out->before * (1 + LEAST_STEP);
	if (!is_there) {
		out->value = out->lo = out->hi = NAN;
		out->verdict = CLIFF_ABSENT;
		return;
	}
	out->value = foot + c->amount;
	out->lo = curve->pressure[ch.lo - 1] + c->amount;
	out->hi = curve->pressure[ch.hi] - 1 + c->amount;
	out->verdict = out->hi - out->lo <= 2 * CLEAN * out->value ? CLIFF_CLEAN : CLIFF_WEAK;
	/* The step must stand out of the noise on both sides. */
	if (c->method == CLIFF_KNEE && out->after - out->before < 2 * noise_of(curve, 0, curve->n))
		out->verdict = CLIFF_NOISY;
}

void cliff_attribute(const struct cliff *c, const struct cliff_result *behind, struct cliff_result *r)
{
	if (c->behind && behind->verdict != CLIFF_ABSENT && r->verdict != CLIFF_ABSENT &&
	    fabs(r->value - behind->value) <= SAME_PLACE * behind->value)
		r->verdict = CLIFF_ABSENT;
}

/* ---- trend lines ---- */

static void infer_rate(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	struct line l = fit_line(curve, 0, curve->n);

	set_interval(out, c->amount / l.b, c->amount * l.sd_b * t_half(curve->n - 2) / (l.b * l.b));
	out->before = curve->response[0];
	out->after = curve->response[curve->n - 1];
	if (l.b <= 0)
		out->verdict = CLIFF_NOISY;
}

static void infer_plateau(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	double rate[CLIFF_MAX_POINTS], top;
	size_t first = 0;

	for (size_t i = 0; i < curve->n; i++)
		rate[i] = c->amount * curve->pressure[i] / curve->response[i];
	out->before = rate[0];
	out->after = rate[curve->n - 1];
	gsl_sort(rate, 1, curve->n);
	/* The plateau is what lies within 3% of the third highest: one or two lucky points don't make it. */
	top = rate[curve->n - 3];
	while (rate[first] < top * (1 - CLEAN))
		first++;
	set_interval(out, gsl_stats_median_from_sorted_data(rate + first, 1, curve->n - first),
	             (rate[curve->n - 1] - rate[first]) / 2);
}

/* ---- levels and pairs ---- */

static void infer_level(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	double sorted[CLIFF_MAX_POINTS], median;

	memcpy(sorted, curve->response, curve->n * sizeof(*sorted));
	gsl_sort(sorted, 1, curve->n);
	median = gsl_stats_median_from_sorted_data(sorted, 1, curve->n);
	/* The range of the points: that they differ at all is what makes the level uncertain. */
	set_interval(out, median / c->amount, (sorted[curve->n - 1] - sorted[0]) / 2 / c->amount);
	out->before = sorted[0];
	out->after = sorted[curve->n - 1];
}

static void infer_difference(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	double d = (curve->response[1] - curve->response[0]) / c->amount;
	double noise = hypot(curve->spread[0], curve->spread[1]) / c->amount;

	out->before = curve->response[0];
	out->after = curve->response[1];
	set_interval(out, d, noise);
	if (d < noise || curve->response[1] < curve->response[0] * 1.02) {
		out->value = 0;
		out->verdict = CLIFF_ABSENT;
	}
}

static void infer_presence(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	double limit = c->amount * curve->response[0];
	double noise = hypot(curve->spread[0] * c->amount, curve->spread[1]);

	out->before = curve->response[0];
	out->after = curve->response[1];
	out->value = out->lo = out->hi = curve->response[1] <= limit;
	out->verdict = fabs(curve->response[1] - limit) > 2 * noise ? CLIFF_CLEAN : CLIFF_WEAK;
}

int cliff_infer(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	static const struct {
		size_t least; /* points */
		void (*infer)(const struct cliff *, const struct cliff_curve *, struct cliff_result *);
	} methods[] = {
		[CLIFF_SLOPE] = { 3, infer_slope },           [CLIFF_RATE] = { 3, infer_rate },
		[CLIFF_PLATEAU] = { 3, infer_plateau },       [CLIFF_KNEE] = { 4, infer_change },
		[CLIFF_BEND] = { 4, infer_change },           [CLIFF_LEVEL] = { 1, infer_level },
		[CLIFF_DIFFERENCE] = { 2, infer_difference }, [CLIFF_PRESENCE] = { 2, infer_presence },
	};

	if (curve->n < methods[c->method].least)
		return sp_fail(SP_EDOMAIN, "cliff %s: a curve of %zu points; it needs %zu", c->name, curve->n,
		               methods[c->method].least);
	methods[c->method].infer(c, curve, out);
	return 0;
}

const char *cliff_verdict_name(enum cliff_verdict v)
{
	static const char *const names[] = { "clean", "weak", "absent", "noisy" };

	return names[v];
}
