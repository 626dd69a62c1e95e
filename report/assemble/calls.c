/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/calls.h"

#include <math.h>
#include <stdlib.h>

#include "correct/model/model.h"
#include "profiler/base/groups.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"

long profile_block_at(const struct profile *p, uint32_t module, uint64_t vaddr)
{
	size_t lo =
	        sorted_count(p->n_blocks, k,
	                     order_pairs(p->blocks[k].module, p->blocks[k].end_vaddr, module, vaddr) <= 0);

	return lo < p->n_blocks && p->blocks[lo].module == module && p->blocks[lo].vaddr <= vaddr ? (long)lo
	                                                                                          : -1;
}

long profile_insn_at(const struct profile *p, uint32_t module, uint64_t vaddr)
{
	size_t lo = sorted_count(p->n_insns, k,
	                         order_pairs(p->insns[k].module, p->insns[k].vaddr, module, vaddr) < 0);

	return lo < p->n_insns && p->insns[lo].module == module && p->insns[lo].vaddr == vaddr ? (long)lo
	                                                                                       : -1;
}

/* ---- sums of executions of blocks ---- */

/* Terms as instructions and weights, which the caller frees. */
struct owned_sum {
	uint32_t *insns;
	double *weights;
	struct profile_sum sum;
	bool known;
};

/*
 * Nothing is said of a function or a loop whose instructions fewer than model->few samples stand for, for hardly any evidence has seen
 * it, nor of single ways through a region with fewer than model->some.  On the five samples (tests/stat/calls.py) half and twice as
 * many change which of the rarest are shown, and nothing else.
 */
static bool is_seen(const struct profile *p, uint32_t block, double insn)
{
	uint32_t at = p->blocks[block].insn;
	const struct profile_region *r;

	if (p->meta.truth)
		return true;
	if (at == UINT32_MAX || p->insns[at].region < 0)
		return false;
	r = &p->regions[p->insns[at].region];
	return insn * r->n_samples >= model->few * r->insn;
}

static bool is_told(const struct profile *p, uint32_t insn)
{
	int32_t region = insn == UINT32_MAX ? -1 : p->insns[insn].region;

	if (region < 0)
		return false;
	return p->meta.truth || p->regions[region].n_samples >= model->some;
}

static void sum_new(const struct profile *p, const struct profile_term *terms, size_t n,
                    struct owned_sum *out)
{
	*out = (struct owned_sum){ .insns = mem_calloc(n + 1, sizeof(*out->insns)),
		                   .weights = mem_calloc(n + 1, sizeof(*out->weights)),
		                   .known = true };
	for (size_t i = 0; i < n; i++) {
		uint32_t insn = p->blocks[terms[i].block].insn;

		out->known = out->known && is_told(p, insn);
		out->insns[i] = insn != UINT32_MAX ? insn : 0;
		out->weights[i] = (double)terms[i].weight;
	}
	out->sum = (struct profile_sum){ out->insns, out->weights, n };
}

static void sum_free(struct owned_sum *s)
{
	free(s->insns);
	free(s->weights);
}

static const struct profile_range unknown = { NAN, NAN, NAN };

static void count_terms(const struct profile *p, const struct profile_term *terms, size_t n,
                        struct profile_range *out)
{
	struct owned_sum s;

	sum_new(p, terms, n, &s);
	*out = unknown;
	if (s.known)
		profile_count(p, &s.sum, &out->mean, &out->lo, &out->hi);
	sum_free(&s);
}

static void ratio_terms(const struct profile *p, const struct profile_term *num, size_t n_num,
                        const struct profile_term *den, size_t n_den, struct profile_range *out)
{
	struct owned_sum a, b = { 0 };

	sum_new(p, num, n_num, &a);
	*out = unknown;
	sum_new(p, den, n_den, &b);
	if (a.known && b.known)
		profile_ratio(p, &a.sum, &b.sum, &out->mean, &out->lo, &out->hi);
	sum_free(&a);
	sum_free(&b);
}

void profile_block_count(const struct profile *p, uint32_t block, struct profile_range *out)
{
	count_terms(p, &(struct profile_term){ block, 1 }, 1, out);
}

void profile_way_count(const struct profile *p, const struct profile_way *w, struct profile_range *out)
{
	*out = unknown;
	if (w->known)
		count_terms(p, p->terms + w->term0, w->n_terms, out);
}

void profile_way_share(const struct profile *p, const struct profile_way *w, struct profile_range *out)
{
	*out = unknown;
	if (!w->known)
		return;
	ratio_terms(p, p->terms + w->term0, w->n_terms, &(struct profile_term){ w->from, 1 }, 1, out);
	out->mean = fmin(out->mean, 1);
	out->hi = fmin(out->hi, 1);
}

/* ---- loops ---- */

static double insns_in(const struct profile *p, const struct profile_trips *t)
{
	double sum = 0;

	for (uint32_t i = t->block0; i < t->block0 + t->n_in; i++) {
		const struct profile_block *b = &p->blocks[p->trips_blocks[i]];

		for (size_t k = b->insn;
		     k < p->n_insns && p->insns[k].module == b->module && p->insns[k].vaddr < b->end_vaddr;
		     k++)
			sum += p->insns[k].count.insn;
	}
	return sum;
}

/*
 * A mean with its interval, of the flow: the interval is no narrower than bursts say.  Where some came from outside of the region these tell
 * the mean, too, for the flow has no calls from there.
 */
static void widen(const struct profile_spread *seen, bool with_mean, double *mean, double *lo, double *hi)
{
	double scale;

	if (!(seen->mean > 0) || isnan(*mean))
		return;
	if (with_mean)
		*lo = *hi = *mean = seen->mean;
	scale = *mean / seen->mean;
	*lo = fmin(*lo, scale * seen->lo);
	*hi = fmax(*hi, scale * seen->hi);
}

/* Does the code itself tell trips (eq. 8), and the flow hold to that?  Of a loop too long for the equation it does not. */
static bool is_bounded(const struct profile *p, const struct profile_trips *t)
{
	uint32_t at = p->blocks[t->header].insn;

	return t->counted && at != UINT32_MAX && p->insns[at].region >= 0 &&
	       p->regions[p->insns[at].region].evidence & PROFILE_BY_TRIPS;
}

static void count_trips(const struct profile *p, struct profile_trips *t)
{
	const bool bounded = is_bounded(p, t);
	const struct profile_term header = { t->header, 1 };
	struct profile_range iterations, entries = unknown, trips = unknown;
	bool told = t->n_terms && (p->meta.truth || !t->hardly_seen || bounded) &&
	            is_seen(p, t->header, insns_in(p, t));

	count_terms(p, &header, 1, &iterations);
	if (told) {
		count_terms(p, p->terms + t->term0, t->n_terms, &entries);
		ratio_terms(p, &header, 1, p->terms + t->term0, t->n_terms, &trips);
		if (p->meta.relative && !bounded)
			widen(&t->seen, t->seen.outside > 0, &trips.mean, &trips.lo, &trips.hi);
	}
	t->iterations = p->meta.relative ? NAN : iterations.mean;
	t->iterations_lo = p->meta.relative ? NAN : iterations.lo;
	t->iterations_hi = p->meta.relative ? NAN : iterations.hi;
	t->entries = p->meta.relative ? NAN : entries.mean;
	t->mean = trips.mean;
	/* A loop that is entered runs its header. */
	t->lo = fmax(trips.lo, isnan(trips.lo) ? NAN : 1);
	t->hi = trips.hi;
	if (t->mean < 1)
		t->mean = 1;
}

/* ---- calls ---- */

/* Variance of sampled cycles, as a share of their square: of one sample of them for each period. */
static double cyc_noise(const struct profile *p, double cyc)
{
	const struct profile_event *e = p->meta.cyc_event < 0 ? NULL : &p->meta.events[p->meta.cyc_event];

	if (!e || !e->n_samples || p->meta.truth)
		return 0;
	return e->total / (double)e->n_samples * p->meta.cyc_per_event / cyc;
}

/* The noise of cycles and that of calls are of different samples, so their squares add up. */
static void rate_cycles(const struct profile *p, double cyc, const struct profile_range *calls,
                        struct profile_rate *out)
{
	static const double z90 = 1.6449;
	double noise, fewer, more;

	/* Of as few samples as give no IPC. */
	if (!(calls->mean > 0) || !(cyc > 0) || profile_fewest_samples * cyc_noise(p, cyc) > 1)
		return;
	out->cyc = cyc / calls->mean;
	if (!isfinite(calls->lo) || !isfinite(calls->hi))
		return;
	noise = z90 * sqrt(cyc_noise(p, cyc));
	fewer = hypot(noise, 1 - calls->mean / fmax(calls->hi, calls->mean));
	more = calls->lo > 0 ? hypot(noise, calls->mean / calls->lo - 1) : INFINITY;
	out->cyc_lo = out->cyc * fmax(1 - fewer, 0);
	out->cyc_hi = out->cyc * (1 + more);
}

/* What a call comes to in insns[n]. */
static void rate(const struct profile *p, const uint32_t *insns, size_t n, const struct owned_sum *calls,
                 const struct profile_range *n_calls, struct profile_rate *out)
{
	struct profile_sum sum = { insns, NULL, n };
	double cyc = 0;

	profile_ratio(p, &sum, &calls->sum, &out->insn, &out->lo, &out->hi);
	for (size_t i = 0; i < n; i++)
		cyc += p->insns[insns[i]].count.cyc;
	rate_cycles(p, cyc, n_calls, out);
}

/* Exact counts are of all of a function: the instructions of a profile are those with samples, or of a region. */
static void rate_exactly(const struct profile_count *all, double n_calls, struct profile_rate *out)
{
	if (n_calls > 0)
		out->insn = out->lo = out->hi = all->insn / n_calls;
}

/* As many calls more came from outside. */
static void widen_rate(const struct profile_spread *seen, struct profile_rate *rate)
{
	/* Bursts that saw no other calls tell nothing of those that the flow has. */
	if (!(seen->outside < 1))
		return;
	rate->insn *= 1 - seen->outside;
	rate->lo *= 1 - seen->outside;
	rate->hi *= 1 - seen->outside;
	widen(seen, false, &rate->insn, &rate->lo, &rate->hi);
}

static void count_func(const struct profile *p, struct profile_func *f, const uint32_t *insns, size_t n,
                       uint32_t *own)
{
	uint32_t self = (uint32_t)(f - p->funcs);
	struct profile_range calls;
	struct owned_sum s;
	size_t n_own = 0;

	count_terms(p, p->terms + f->calls.term0, f->calls.n_terms, &calls);
	sum_new(p, p->terms + f->calls.term0, f->calls.n_terms, &s);
	if (!s.known || isnan(calls.mean))
		goto out;
	for (size_t i = 0; i < n; i++)
		if (p->insns[insns[i]].func == self)
			own[n_own++] = insns[i];
	rate(p, own, n_own, &s, &calls, &f->calls.own);
	rate(p, insns, n, &s, &calls, &f->calls.rolled);
	if (p->meta.truth) {
		rate_exactly(&f->count, calls.mean, &f->calls.own);
		rate_exactly(&f->rolled, calls.mean, &f->calls.rolled);
	}
	if (p->meta.relative) {
		widen_rate(&f->calls.seen, &f->calls.own);
		widen_rate(&f->calls.seen, &f->calls.rolled);
		f->calls.own.cyc = f->calls.own.cyc_lo = f->calls.own.cyc_hi = NAN;
		f->calls.rolled.cyc = f->calls.rolled.cyc_lo = f->calls.rolled.cyc_hi = NAN;
		goto out;
	}
	f->calls.n = calls.mean;
	f->calls.lo = calls.lo;
	f->calls.hi = calls.hi;
out:
	sum_free(&s);
}

static void count_call(const struct profile *p, struct profile_call *c)
{
	struct profile_range n = unknown;

	if (c->known)
		count_terms(p, p->terms + c->term0, c->n_terms, &n);
	c->n = fmax(n.mean, isnan(n.mean) ? NAN : 0);
	c->lo = fmax(n.lo, isnan(n.lo) ? NAN : 0);
	c->hi = n.hi;
}

void calls_count(struct profile *p)
{
	static const struct profile_rate no_rate = { NAN, NAN, NAN, NAN, NAN, NAN };
	struct groups l; /* instructions by function */
	uint32_t *own = mem_calloc(p->n_insns + 1, sizeof(*own));

	groups_make(&l, p->n_insns, p->n_funcs, i, p->insns[i].phys_func);
	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_calls *c = &p->funcs[f].calls;

		*c = (struct profile_calls){ NAN, NAN, NAN, no_rate, no_rate, c->term0, c->n_terms, c->seen };
		if (c->n_terms && is_seen(p, p->terms[c->term0].block, p->funcs[f].rolled.insn))
			count_func(p, &p->funcs[f], l.of + l.first[f], l.first[f + 1] - l.first[f], own);
	}
	for (size_t t = 0; t < p->n_trips; t++)
		count_trips(p, &p->trips[t]);
	for (size_t i = 0; i < p->n_calls; i++)
		count_call(p, &p->calls[i]);
	calls_divide(p);
	for (size_t i = 0; i < p->n_calls && p->meta.relative; i++)
		p->calls[i].n = p->calls[i].lo = p->calls[i].hi = NAN;
	groups_fini(&l);
	free(own);
}
