/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/profile.h"
#include "correct/judge/reasons.h"

#include <assert.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"

const char *profile_string(struct profile *p, const char *text)
{
	return texts_add(&p->strings, text, strlen(text));
}

uint32_t profile_add_file(struct profile *p, const char *file)
{
	size_t cap = p->file_cap; /* of both arrays, which grow alike */

	vec_room_raw((void **)&p->files, &cap, p->n_files + 1, sizeof(*p->files));
	vec_room_raw((void **)&p->file_dirs, &p->file_cap, p->n_files + 1, sizeof(*p->file_dirs));
	p->files[p->n_files] = profile_string(p, file);
	p->file_dirs[p->n_files] = NULL;
	return (uint32_t)p->n_files++;
}

const double profile_fewest_samples = 4.5;

bool profile_begins_thread(const struct profile_func *f)
{
	static const char *const names[] = { "clone", "__clone", "clone3", "__clone3" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(f->name, names[i]) == 0)
			return true;
	return false;
}

double profile_mean_period(const struct profile_event *e)
{
	if (e->period && !e->freq)
		return (double)e->period;
	return e->n_samples ? e->total / (double)e->n_samples : 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->regions && i < p->n_regions; i++) {
		free(p->regions[i].equations);
		free(p->regions[i].draws);
		free(p->regions[i].doubt);
	}
	free(p->regions);
	free(p->funcs);
	free(p->insns);
	free(p->files);
	free(p->modules);
	free(p->unsampled);
	free(p->file_dirs);
	free(p->blocks);
	free(p->ways);
	free(p->trips);
	free(p->trips_blocks);
	free(p->terms);
	free(p->mapped);
	free(p->frames);
	free(p->contexts);
	free(p->hidden);
	free(p->calls);
	free(p->counted);
	free(p->steps);
	free(p->tasks);
	free(p->meta.events);
	free(p->meta.cores);
	texts_fini(&p->strings);
	free(p);
}

double profile_weight(const struct profile *p, const struct profile_count *c)
{
	return p->meta.insn_event >= 0 || p->meta.truth ? c->insn : c->cyc;
}

bool profile_matters(const struct profile *p, const struct profile_count *c, double total)
{
	return total > 0 && profile_weight(p, c) >= 0.01 * total;
}

const char *profile_status_word(enum profile_status s)
{
	static const char *const words[] = { "fixed", "raw", "weak", "unreliable" };

	return (size_t)s < sizeof(words) / sizeof(words[0]) ? words[s] : "unreliable";
}

/* An instruction of the sum that a region's draws speak of: its block, and what one execution adds. */
struct drawn_insn {
	uint32_t region, block;
	double weight;
};

/* Draws of a sum, as many as the region with the most has. */
struct draw_sum {
	double *v;
	uint32_t *order;
	size_t n;
};

static int by_region(const void *a, const void *b)
{
	const struct drawn_insn *x = a, *y = b;

	return order_pairs(x->region, x->block, y->region, y->block);
}

/* Is this instruction's block among its region's draws? */
static bool has_draws(const struct profile *p, const struct profile_insn *insn)
{
	const struct profile_region *r;

	if (insn->region < 0 || (size_t)insn->region >= p->n_regions)
		return false;
	r = &p->regions[insn->region];
	return r->draws && r->n_draws && insn->block < r->n_blocks;
}

/*
 * Add a region's part to the draws of the sum.  Regions ran chains of the
 * same seed perhaps, so draws are not paired by position: every region's are
 * shuffled by its number, in the same way each time.
 */
static void add_region(const struct profile_region *r, gsl_rng *rng, const struct drawn_insn *insns, size_t n,
                       struct draw_sum *sum)
{
	assert(r->n_draws > 0); /* has_draws() */
	for (size_t d = 0; d < r->n_draws; d++)
		sum->order[d] = (uint32_t)d;
	if (rng) {
		gsl_rng_set(rng, insns[0].region + 1);
		gsl_ran_shuffle(rng, sum->order, r->n_draws, sizeof(*sum->order));
	}
	for (size_t d = 0; d < sum->n; d++) {
		const float *draw = r->draws + (size_t)sum->order[d % r->n_draws] * r->n_blocks;

		for (size_t i = 0; i < n; i++)
			sum->v[d] += insns[i].weight * (double)draw[insns[i].block];
	}
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/* The draws of what was drawn; sorts `drawn`.  together: they are to be paired with those of another sum. */
static void sum_draws(const struct profile *p, struct drawn_insn *drawn, size_t n, bool together,
                      struct draw_sum *sum)
{
	gsl_rng *rng = NULL;

	sum->v = mem_calloc(sum->n, sizeof(*sum->v));
	sum->order = mem_calloc(sum->n, sizeof(*sum->order));
	qsort(drawn, n, sizeof(*drawn), by_region);
	if (n && (together || drawn[0].region != drawn[n - 1].region)) {
		rng = mem_have(gsl_rng_alloc(gsl_rng_taus2));
	}
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && drawn[j].region == drawn[i].region; j++)
			;
		add_region(&p->regions[drawn[i].region], rng, drawn + i, j - i, sum);
	}
	gsl_rng_free(rng);
}

void profile_chance(const struct profile *p, double insn, double *lo, double *hi)
{
	const double n = p->meta.chance_samples, all = p->meta.chance_insn, z = z_of_90;
	double share, middle, half;

	*lo = *hi = NAN;
	if (!(n > 0) || !(all > 0))
		return;
	share = fmin(insn / all, 1);
	middle = (share + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	*lo = all * fmax(middle - half, 0);
	*hi = all * fmin(middle + half, 1);
}

void profile_interval(const struct profile *p, const uint32_t *insns, size_t n, double *mean, double *lo,
                      double *hi)
{
	profile_weighted_interval(p, insns, NULL, n, mean, lo, hi);
	if (isnan(*lo))
		profile_chance(p, *mean, lo, hi);
	/* What is in doubt is taken off: there is no less than none. */
	if (*lo < 0)
		*lo = 0;
}

enum profile_status profile_judge(enum profile_status status, const struct profile_count *count)
{
	bool wide = count->hi - count->lo > 2 * reason_limit_wide * count->insn;

	return status == PROFILE_FIXED && wide ? PROFILE_WEAK : status;
}

static const struct profile_region *region_of(const struct profile *p, const struct profile_insn *insn)
{
	return insn->region >= 0 ? &p->regions[insn->region] : NULL;
}

/* An instruction's entry in an array over its region's blocks, which may be NULL. */
static double of_block(const struct profile_region *r, const float *executions,
                       const struct profile_insn *insn)
{
	return executions && insn->block < r->n_blocks ? (double)executions[insn->block] : 0;
}

void profile_worst_add(struct profile_worst *worst, const struct profile *p, const struct profile_insn *insn)
{
	const double weight = profile_weight(p, &insn->count);

	worst->all += weight;
	worst->raw += insn->status == PROFILE_RAW ? weight : 0;
	if (insn->status > worst->status)
		worst->status = insn->status;
}

enum profile_status profile_worst_status(const struct profile_worst *worst)
{
	if (worst->status == PROFILE_RAW && worst->all - worst->raw > reason_limit_outside * worst->all)
		return PROFILE_FIXED;
	return worst->status;
}

double profile_doubt(const struct profile *p, const struct profile_insn *insn)
{
	const struct profile_region *r = region_of(p, insn);

	return r ? of_block(r, r->doubt, insn) : 0;
}

/* A sum of executions, taken apart: what was drawn, what is as it was counted, and how far off both may be besides. */
struct parted {
	struct drawn_insn *drawn;
	size_t n;
	double rest, doubt;
	struct draw_sum sum;
};

static void part(const struct profile *p, const struct profile_sum *of, struct parted *out)
{
	*out = (struct parted){ .drawn = mem_malloc((of->n ? of->n : 1) * sizeof(*out->drawn)) };
	for (size_t i = 0; i < of->n; i++) {
		const struct profile_insn *insn = &p->insns[of->insns[i]];
		double weight = of->weights ? of->weights[i] : 1;

		if (!has_draws(p, insn)) {
			out->rest += weight * insn->count.insn;
			/* Raw counts that nothing corrected: as far off as they are large, for all we know. */
			out->doubt += fabs(weight) * insn->count.insn;
			continue;
		}
		out->drawn[out->n++] = (struct drawn_insn){ (uint32_t)insn->region, insn->block, weight };
		out->doubt += fabs(weight) * profile_doubt(p, insn);
		if (p->regions[insn->region].n_draws > out->sum.n)
			out->sum.n = p->regions[insn->region].n_draws;
	}
}

static void parted_fini(struct parted *x)
{
	free(x->sum.v);
	free(x->sum.order);
	free(x->drawn);
}

void profile_weighted_interval(const struct profile *p, const uint32_t *insns, const double *weights,
                               size_t n, double *mean, double *lo, double *hi)
{
	struct parted x;
	const struct profile_sum of = { insns, weights, n };

	part(p, &of, &x);
	if (!x.n) {
		*mean = x.rest;
		*lo = *hi = NAN;
	} else {
		sum_draws(p, x.drawn, x.n, false, &x.sum);
		*mean = x.rest + mean_of(x.sum.v, x.sum.n);
		*lo = x.rest + select_quantile(x.sum.v, x.sum.n, 0.05) - x.doubt;
		*hi = x.rest + select_quantile(x.sum.v, x.sum.n, 0.95) + x.doubt;
	}
	parted_fini(&x);
}

/* Is there any of what the other is divided by?  Less than a thousandth of an execution is a draw's rounding. */
static const double no_execution = 1e-3;

static double divide(double num, double den)
{
	return den > 0 ? num / den : num > 0 ? INFINITY : 0;
}

/*
 * The shortest interval that holds nine draws of ten.  What hardly runs has most of its draws close to none, and one that
 * leaves out as much below as above would leave out none itself.
 */
static void shortest(const double *sorted, size_t n, double *lo, double *hi)
{
	size_t within = (size_t)ceil(0.9 * (double)(n - 1));
	double least = INFINITY;

	*lo = sorted[0];
	*hi = sorted[n - 1];
	for (size_t i = 0; i + within < n; i++) {
		double width = sorted[i + within] - sorted[i];

		if (!(width < least))
			continue;
		least = width;
		*lo = sorted[i];
		*hi = sorted[i + within];
	}
}

static void shortest_of(double *draws, size_t n, double *lo, double *hi)
{
	gsl_sort(draws, 1, n);
	shortest(draws, n, lo, hi);
}

/*
 * The interval of quotients of paired draws, into a's.  It is that of the smaller over the larger: of an inverse the shortest
 * interval is another, and the smaller is what may be close to none.
 */
static void divide_draws(struct parted *a, const struct parted *b, bool inverse, double *lo, double *hi)
{
	for (size_t i = 0; i < a->sum.n; i++) {
		double num = fmax(a->rest + a->sum.v[i], 0), den = fmax(b->rest + b->sum.v[i], 0);

		num = num > no_execution ? num : 0;
		den = den > no_execution ? den : 0;
		a->sum.v[i] = inverse ? divide(den, num) : divide(num, den);
	}
	shortest_of(a->sum.v, a->sum.n, lo, hi);
	if (inverse) {
		double upper = divide(1, *lo);

		*lo = *hi > 0 ? 1 / *hi : 0;
		*hi = upper;
	}
}

void profile_count(const struct profile *p, const struct profile_sum *of, double *mean, double *lo,
                   double *hi)
{
	struct parted x;

	part(p, of, &x);
	*lo = *hi = NAN;
	if (x.n)
		sum_draws(p, x.drawn, x.n, false, &x.sum);
	*mean = fmax(x.rest + (x.n ? mean_of(x.sum.v, x.sum.n) : 0), 0);
	if (x.n) {
		for (size_t i = 0; i < x.sum.n; i++)
			x.sum.v[i] = fmax(x.rest + x.sum.v[i], 0);
		shortest_of(x.sum.v, x.sum.n, lo, hi);
		*lo = fmax(*lo - x.doubt, 0);
		*hi += x.doubt;
	}
	parted_fini(&x);
}

void profile_ratio(const struct profile *p, const struct profile_sum *num, const struct profile_sum *den,
                   double *mean, double *lo, double *hi)
{
	struct parted a = { 0 }, b = { 0 };
	double n, d;

	part(p, num, &a);
	part(p, den, &b);
	a.sum.n = b.sum.n = a.sum.n > b.sum.n ? a.sum.n : b.sum.n;
	*lo = *hi = NAN;
	if (a.sum.n)
		sum_draws(p, a.drawn, a.n, true, &a.sum);
	if (a.sum.n)
		sum_draws(p, b.drawn, b.n, true, &b.sum);
	n = fmax(a.rest + (a.sum.n ? mean_of(a.sum.v, a.sum.n) : 0), 0);
	d = fmax(b.rest + (b.sum.n ? mean_of(b.sum.v, b.sum.n) : 0), 0);
	*mean = d > no_execution ? n / d : NAN;
	if (a.sum.v && b.sum.v) {
		divide_draws(&a, &b, n > d, lo, hi);
		*lo *= fmax(1 - a.doubt / fmax(n, no_execution), 0) / (1 + b.doubt / fmax(d, no_execution));
		*hi = b.doubt < d ? *hi * (1 + a.doubt / fmax(n, no_execution)) / (1 - b.doubt / d)
		                  : INFINITY;
	}
	parted_fini(&a);
	parted_fini(&b);
}
