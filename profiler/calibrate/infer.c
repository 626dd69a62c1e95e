/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a curve to a number: trend line, change point, comparison of a pair.
 * Each has an interval, and a verdict that follows from the interval.
 */
#include "profiler/calibrate/cliff.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/err.h"

/* A clean row moves by no more than that from one day to the next, so its interval is no wider. */
static const double CLEAN = 0.03, WEAK = 0.6;
/* A change point is one only where the response rises by a quarter (trap 2). */
static const double LEAST_STEP = 0.25;
/* A cache's rise ends within that factor of its beginning: one more way, at least of four. */
static const double STEEP = 1.3;

enum { LEAST_SEGMENT = 2, NEAR = 16, GAP = 4 };

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

static enum cliff_verdict verdict_of(const struct cliff_result *r)
{
	double width = r->hi - r->lo, value = fabs(r->value);

	return width <= CLEAN * value ? CLIFF_CLEAN : width <= WEAK * value ? CLIFF_WEAK : CLIFF_NOISY;
}

static void set_interval(struct cliff_result *r, double value, double half)
{
	r->value = value;
	r->lo = value - half;
	r->hi = value + half;
	r->verdict = verdict_of(r);
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
};

/* Two straight segments, each with its own slope, by least squares (trap 7: a step on a slope). */
static void find_change(const struct cliff_curve *c, struct change *out)
{
	double best = INFINITY;

	*out = (struct change){ .at = LEAST_SEGMENT };
	for (size_t k = LEAST_SEGMENT; k + LEAST_SEGMENT <= c->n; k++) {
		struct line left = fit_line(c, 0, k), right = fit_line(c, k, c->n);

		if (left.sse + right.sse < best) {
			best = left.sse + right.sse;
			*out = (struct change){ k, left, right };
		}
	}
}

/* The points within some places of one: what is far away has slopes of its own. */
static void cut_around(const struct cliff_curve *c, size_t middle, struct cliff_curve *out)
{
	size_t from = middle > NEAR ? middle - NEAR : 0, to = middle + NEAR < c->n ? middle + NEAR : c->n;

	out->n = to - from;
	memcpy(out->pressure, c->pressure + from, out->n * sizeof(*out->pressure));
	memcpy(out->response, c->response + from, out->n * sizeof(*out->response));
	memcpy(out->spread, c->spread + from, out->n * sizeof(*out->spread));
}

/* Median of three neighbours: one point that a neighbour on the machine spoilt does not count. */
static double smooth_at(const struct cliff_curve *c, size_t i)
{
	double v[3];

	if (i == 0 || i + 1 == c->n)
		return c->response[i];
	memcpy(v, c->response + i - 1, sizeof(v));
	gsl_sort(v, 1, 3);
	return v[1];
}

static void set_absent(struct cliff_result *out)
{
	out->value = out->lo = out->hi = NAN;
	out->verdict = CLIFF_ABSENT;
}

/*
 * A step is rarely one point wide: queues fill in groups, and what is left of
 * one round is missing in the next.  Its place is where the response passes
 * half way between the lines to its left and right, the points of the step
 * itself left out; its interval is from the first point beyond that to the last one short of it.
 */
static void place_step(const struct cliff *c, const struct cliff_curve *curve, const struct change *ch,
                       struct cliff_result *out)
{
	size_t gap = ch->at > 3 * GAP && ch->at + 3 * GAP < curve->n ? GAP : 0;
	size_t from = ch->at > NEAR ? ch->at - NEAR : 0,
	       to = ch->at + NEAR < curve->n ? ch->at + NEAR : curve->n;
	struct line left = fit_line(curve, 0, ch->at - gap), right = fit_line(curve, ch->at + gap, curve->n);
	size_t first = to - 1, last = from, below = from;

	for (size_t i = from; i < to; i++) {
		double middle = (at(&left, curve->pressure[i]) + at(&right, curve->pressure[i])) / 2;

		if (smooth_at(curve, i) > middle) {
			first = i < first ? i : first;
		} else {
			last = i;
			below++;
		}
	}
	out->value = curve->pressure[below ? below - 1 : 0] + c->amount;
	out->lo = curve->pressure[first ? first - 1 : 0] + c->amount;
	out->hi = curve->pressure[last] + c->amount;
}

/*
 * Where the two lines meet.  The point there lies on either, so which of them it was counted to is a matter of noise:
 * the points beside it tell, and it is no further away than them.
 */
static double place_bend(const struct cliff_curve *c, const struct change *ch)
{
	double meet = round((ch->left.a - ch->right.a) / (ch->right.b - ch->left.b));

	return fmin(fmax(meet, c->pressure[ch->at - 1]), c->pressure[ch->at]);
}

/* Is there one at all: the whole curve tells.  Where a slope changes: only the points around it, as far ones bend. */
static void infer_change(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	bool is_bend = c->method == CLIFF_BEND, is_there;
	struct cliff_curve around;
	struct change ch;

	find_change(curve, &ch);
	out->before = at(&ch.left, curve->pressure[ch.at - 1]);
	out->after = at(&ch.right, curve->pressure[ch.at]);
	is_there = is_bend ? ch.right.b > ch.left.b * (1 + LEAST_STEP)
	                   : out->after >= out->before * (1 + LEAST_STEP);
	if (!is_there) {
		set_absent(out);
		return;
	}
	if (is_bend) {
		cut_around(curve, ch.at, &around);
		find_change(&around, &ch);
		out->value = out->lo = out->hi = place_bend(&around, &ch) + c->amount;
	} else {
		place_step(c, curve, &ch, out);
	}
	out->verdict = verdict_of(out);
	/* The step must stand out of the noise on both sides. */
	if (!is_bend && out->after - out->before < 2 * noise_of(curve, 0, curve->n))
		out->verdict = CLIFF_NOISY;
}

/* ---- footprints ---- */

/* The last point up to which the curve is below a share of its rise. */
static size_t last_below(const struct cliff_curve *c, double low, double high, double share)
{
	size_t i = 0;

	while (i + 1 < c->n && smooth_at(c, i + 1) <= low + share * (high - low))
		i++;
	return i;
}

static double median_of(const struct cliff_curve *c, size_t from, size_t to)
{
	double sorted[CLIFF_MAX_POINTS];

	memcpy(sorted, c->response + from, (to - from) * sizeof(*sorted));
	gsl_sort(sorted, 1, to - from);
	return gsl_stats_median_from_sorted_data(sorted, 1, to - from);
}

static size_t first_above(const struct cliff_curve *c, uint32_t pressure)
{
	size_t i = 0;

	while (i < c->n && c->pressure[i] <= pressure)
		i++;
	return i;
}

/*
 * A cache that overflows set by set: a steep rise that begins at its size.
 * Where pages lie at random in a large cache, its sets fill unevenly and the
 * rise is long; then its middle is near the size, and the verdict is weak.
 */
static void infer_fill(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out)
{
	uint32_t quarter = (curve->pressure[curve->n - 1] - curve->pressure[0]) / 4;
	/* Quarters of the range, not of the points: these crowd where the rise is. */
	size_t begin = first_above(curve, curve->pressure[0] + quarter),
	       end = first_above(curve, curve->pressure[curve->n - 1] - quarter - 1);
	double low = median_of(curve, 0, begin), high = median_of(curve, end, curve->n);
	size_t foot = last_below(curve, low, high, 0.1), top = last_below(curve, low, high, 0.85);

	(void)c;
	out->before = low;
	out->after = high;
	if (!(high >= low * (1 + LEAST_STEP)) || foot + 1 == curve->n) {
		set_absent(out);
		return;
	}
	out->lo = curve->pressure[foot];
	out->hi = curve->pressure[foot + 1] - 1;
	out->value = out->lo;
	out->verdict = verdict_of(out);
	if (curve->pressure[top] > out->lo * STEEP) {
		out->value = curve->pressure[last_below(curve, low, high, 0.5)];
		out->hi = curve->pressure[top];
		out->verdict = CLIFF_WEAK;
	}
}

void cliff_attribute(const struct cliff *c, const struct cliff_result *behind, struct cliff_result *r)
{
	if (c->behind && behind->verdict != CLIFF_ABSENT && r->verdict != CLIFF_ABSENT &&
	    fabs(r->value - behind->value) <= c->behind_percent / 100.0 * behind->value)
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

	assert(curve->n >= 3);
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
		[CLIFF_SLOPE] = { 3, infer_slope },       [CLIFF_RATE] = { 3, infer_rate },
		[CLIFF_PLATEAU] = { 3, infer_plateau },   [CLIFF_KNEE] = { 4, infer_change },
		[CLIFF_BEND] = { 4, infer_change },       [CLIFF_FILL] = { 8, infer_fill },
		[CLIFF_LEVEL] = { 1, infer_level },       [CLIFF_DIFFERENCE] = { 2, infer_difference },
		[CLIFF_PRESENCE] = { 2, infer_presence },
	};

	if (curve->n < methods[c->method].least)
		return sp_fail(SP_EDOMAIN, "cliff %s: a curve of %zu points; it needs %zu", c->name, curve->n,
		               methods[c->method].least);
	methods[c->method].infer(c, curve, out);
	if (c->is_shared && out->verdict == CLIFF_CLEAN)
		out->verdict = CLIFF_WEAK;
	return 0;
}

/* A value that differs from sweep to sweep is no better known than that. */
void cliff_agree(const struct cliff_result *sweeps, size_t n, struct cliff_result *r)
{
	size_t absent = 0;

	for (size_t i = 0; i < n; i++)
		absent += sweeps[i].verdict == CLIFF_ABSENT;
	if (r->verdict == CLIFF_ABSENT || r->verdict == CLIFF_NOISY)
		return;
	if (absent) {
		r->verdict = CLIFF_NOISY;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		r->lo = fmin(r->lo, sweeps[i].value);
		r->hi = fmax(r->hi, sweeps[i].value);
	}
	if (verdict_of(r) > r->verdict)
		r->verdict = verdict_of(r);
}

const char *cliff_verdict_name(enum cliff_verdict v)
{
	static const char *const names[] = { "clean", "weak", "absent", "noisy" };

	return names[v];
}
