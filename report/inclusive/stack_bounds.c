/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/inclusive/stack_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
#include "report/assemble/context_walk.h"
#include "report/inclusive/impl.h"

static const double small_share = 1e-9;

/* What a function runs itself: what is only inlined has no code but that. */
static double own_insn(const struct profile *p, size_t func)
{
	const struct profile_func *f = &p->funcs[func];

	return f->rolled.insn > 0 ? f->rolled.insn : f->count.insn;
}

/* What physical function `leaf` ran below `func`, or as a part of it. */
struct below {
	uint32_t func, leaf;
	double raw_insn, raw_cyc, insn;
};

struct stacks {
	struct call_sets sets;
	double *in; /* [n_funcs] scratch of sets */
	struct pairs index;
	VEC(struct below) v;
	double *raw, *cyc; /* [n_funcs] of physical functions as leaves */
	double all_raw;
};

static void add_frame(const struct profile *p, uint32_t i, double insn, uint32_t *last, struct stacks *s)
{
	const struct profile_frame *f = &p->frames[i];

	s->raw[f->phys_func] += f->raw_insn;
	s->cyc[f->phys_func] += f->raw_cyc;
	s->all_raw += f->raw_insn;
	for (uint32_t at = i; at; at = p->frames[at].parent) {
		uint32_t func = p->frames[at].func;
		long k;

		if (last[func] == i + 1)
			continue;
		last[func] = i + 1;
		k = pairs_must(&s->index, func, f->phys_func);
		if ((size_t)k == s->v.n)
			vec_add(&s->v, (struct below){ func, f->phys_func, 0, 0, 0 });
		s->v.v[k].raw_insn += f->raw_insn;
		s->v.v[k].raw_cyc += f->raw_cyc;
		s->v.v[k].insn += insn;
	}
}

static void collect(const struct profile *p, const double *insn, struct stacks *s)
{
	uint32_t *last =
	        mem_calloc(p->n_funcs + 1, sizeof(*last)); /* frame + 1 that counted for a function last */

	s->raw = mem_calloc(p->n_funcs + 1, sizeof(*s->raw));
	s->cyc = mem_calloc(p->n_funcs + 1, sizeof(*s->cyc));
	for (uint32_t i = 1; i < p->n_frames; i++)
		if (p->frames[i].raw_insn > 0 || p->frames[i].raw_cyc > 0)
			add_frame(p, i, insn[i], last, s);
	free(last);
	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), order_u32);
}

static const struct profile_event *event_of(const struct profile *p, int event)
{
	return event < 0 || (size_t)event >= p->meta.n_events ? NULL : &p->meta.events[event];
}

static double period_of(const struct profile *p, int event)
{
	const struct profile_event *e = event_of(p, event);

	return e ? profile_mean_period(e) : 0;
}

/*
 * Of what each leaf ran, as much is func's as of its samples of instructions are, or of time where it has none of these: n of them are
 * drawn.  And the leaf's own count is known as its interval says.
 */
static double half_of(const struct profile *p, const struct stacks *s, const struct below *of, size_t n,
                      const struct own_noise *noise, double *shares)
{
	double var = 0, half;

	for (size_t i = 0; i < n; i++) {
		const bool counted = s->raw[of[i].leaf] > 0;
		double own = p->funcs[of[i].leaf].rolled.insn,
		       raw = counted ? s->raw[of[i].leaf] : s->cyc[of[i].leaf],
		       period = counted ? period_of(p, p->meta.insn_event)
		                        : period_of(p, p->meta.cyc_event) * p->meta.cyc_per_event,
		       share = raw > 0 ? fmin((counted ? of[i].raw_insn : of[i].raw_cyc) / raw, 1) : 1;

		shares[of[i].leaf] = own > 0 ? of[i].insn / own : 0;
		if (raw > 0)
			var += own * own * share * (1 - share) * period / raw;
	}
	half = hypot(own_noise_half(noise, shares), z_of_90 * sqrt(var));
	for (size_t i = 0; i < n; i++)
		shares[of[i].leaf] = 0;
	return half;
}

/* Calls by those that run without it above them: of what runs only below it all calls are inner ones.  NAN = some are not known. */
static double calls_by_others(const struct profile *p, struct stacks *s, uint32_t func)
{
	const struct profile_func *f = &p->funcs[func];
	double sum = 0, all = 0;

	if (f->uncalled)
		return NAN;
	inclusive_find_any(&s->sets, func, s->in);
	inclusive_keep_all(&s->sets, func, s->in);
	for (uint32_t i = s->sets.first[func]; i < s->sets.first[func + 1]; i++) {
		const struct profile_call *c = &p->calls[i];

		all += isnan(c->n) ? 0 : p->meta.truth ? c->n : c->hi;
		if (s->in[c->caller] > 0)
			continue;
		if (c->guessed || (isnan(c->n) && (c->taken || c->share > 0)))
			return NAN;
		sum += isnan(c->n) ? 0 : p->meta.truth ? c->n : c->hi;
	}
	/* Where calls are missing, as those through a pointer, anyone may have made them. */
	return sum > 0 && (!f->calls.n_terms || all >= f->calls.lo) ? sum : NAN;
}

/* Calls of a function by others, at most; NAN = not known. */
static double calls_from_outside(const struct profile *p, struct stacks *s, uint32_t func)
{
	const struct profile_calls *c = &p->funcs[func].calls;
	double n = !c->n_terms ? NAN : p->meta.truth ? c->n : c->hi;
	long itself = context_find_call(p, func, func);

	n = itself >= 0 && p->calls[itself].lo > 0 ? n - p->calls[itself].lo : n;
	return fmin(n, calls_by_others(p, s, func));
}

/*
 * A sample is seen a skid after its cause, with the stack of then.  At each call as many come in from before it as fall into a
 * skid, and at its end as many go out: what comes in and goes out differs where the code before a call is faster or slower than
 * that of the call.  Of time, which passes evenly everywhere, as much comes in as goes out.
 */
static double displaced_at_calls(const struct profile *p, struct stacks *s, size_t func,
                                 const struct inclusive *c)
{
	return calls_from_outside(p, s, (uint32_t)func) * p->meta.skid_median_cyc * c->insn / c->cyc;
}

/* Are samples further apart than a skid is long? */
static bool apart(const struct profile *p)
{
	const struct profile_event *e = event_of(p, p->meta.insn_event),
	                           *cyc = event_of(p, p->meta.cyc_event);

	return e && cyc &&
	       cyc->total * p->meta.cyc_per_event > p->meta.skid_median_cyc * (double)e->n_samples;
}

/* From one sample to the next: more than a period where interrupts come late, and stand for all that their counter ran over. */
static double distance(const struct profile *p)
{
	const struct profile_event *e = event_of(p, p->meta.insn_event);

	return e ? fmax(profile_mean_period(e), inclusive_ratio(e->total, (double)e->n_samples)) : 0;
}

/* Calls of a function by others, at least; 0 where it is not known. */
static double least_calls_from_outside(const struct profile *p, size_t func)
{
	long itself = context_find_call(p, (uint32_t)func, (uint32_t)func);

	return fmax(p->funcs[func].calls.lo, 0) - (itself >= 0 ? fmax(p->calls[itself].hi, 0) : 0);
}

/*
 * In a skid it is left no more often than from one sample to the next: there is it on one stack and not on the other.  Where more
 * calls of it are known than such visits, it was left and called again between two samples: all of a stretch may be seen in it,
 * and have come from outside.  A visit that many samples saw, as the way to it, has a skid at either end; what is left, or comes back,
 * sooner than the next sample is seen as often as it lasts: on one stack alone, or on all but one, which may be all displaced.
 */
static double displaced_at_visits(const struct profile *p, size_t func, const struct inclusive *c)
{
	const struct profile_func *f = &p->funcs[func];
	const struct profile_event *insn = event_of(p, p->meta.insn_event),
	                           *cyc = event_of(p, p->meta.cyc_event);
	double skid;

	if (!apart(p) || !(f->visits > 0) || least_calls_from_outside(p, func) > f->visits)
		return NAN;
	skid = p->meta.skid_median_cyc *
	       fmax(inclusive_ratio(c->insn, c->cyc),
	            inclusive_ratio(insn->total, cyc->total * p->meta.cyc_per_event));
	return fmin(f->visits * distance(p), f->visits * skid + (f->brief + 1) * distance(p));
}

static double displaced_by_skid(const struct profile *p, struct stacks *s, size_t func,
                                const struct inclusive *c)
{
	if (!(c->cyc > 0) || !(p->meta.skid_median_cyc > 0))
		return 0;
	/* fmin: what is not known bounds nothing. */
	return fmax(fmin(displaced_at_calls(p, s, func, c), displaced_at_visits(p, func, c)), 0);
}

/*
 * What the number of samples leaves open of func's, of 90%.  Drawn from all of them their variance is that of a share.  But where
 * one comes every so many instructions, what lasts x periods in one visit has one of the two whole numbers beside x: its variance
 * is f (1 - f), f the part of a period beyond the smaller one, and at most the chance that it is seen.  Visits that were seen are
 * then no fewer, in the mean, than the variance is.  unsampled: its part of what the counter had counted outside of samples' periods.
 */
static double noise_of_samples(const struct profile *p, const struct stacks *s, size_t func, double share,
                               double total, double unsampled)
{
	double period = period_of(p, p->meta.insn_event), visits = p->funcs[func].visits,
	       drawn = total * sqrt(fmax(share * (1 - share), 0) * inclusive_ratio(period, s->all_raw));
	bool even = visits > 0 && apart(p) && !p->meta.events[p->meta.insn_event].freq;

	return even ? fmin(z_of_90 * drawn, z_of_90 * distance(p) * sqrt(visits) + unsampled)
	            : z_of_90 * drawn;
}

/*
 * Samples as they are, for what lasts many skids: half is what their number leaves open.  Parts of it may be known worse than the
 * samples below all of them tell: a skid takes other shares of a leaf's samples below one caller than below another.  Where
 * parts are further from these samples than noise and skid explain, it is the parts that are wrong, by the rest.
 */
static bool count_samples(const struct profile *p, const struct stacks *s, size_t func, double total,
                          double displaced, struct inclusive *c, double *half)
{
	double share = inclusive_ratio(c->raw_insn, s->all_raw), period = period_of(p, p->meta.insn_event);
	double noise, own = displaced * inclusive_ratio(fmin(own_insn(p, func), c->insn), c->insn);

	if (!(share > 0) || !(period > 0))
		return false;
	noise = noise_of_samples(p, s, func, share, total, fabs(share * total - c->raw_insn));
	if (displaced_at_visits(p, func, c) > 0)
		*half = fmax(*half, fabs(c->insn - share * total) - noise - displaced);
	if (noise + own >= *half)
		return false;
	*half = noise;
	c->insn = share * total;
	memset(c->by_status, 0, sizeof(c->by_status));
	c->by_status[PROFILE_RAW] = c->insn;
	return true;
}

static void bound_insn(const struct profile *p, struct stacks *s, size_t func, double total, double half,
                       double rest, struct inclusive *c)
{
	double displaced = displaced_by_skid(p, s, func, c), own;
	bool samples, alone = c->insn <= own_insn(p, func) * (1 + small_share);

	/* Of what none was seen 90% have fewer than so many periods. */
	if (!(c->insn > 0))
		half = fmax(half, -log(0.1) * period_of(p, p->meta.insn_event));
	/* What it runs by itself stands in every other table as it was corrected. */
	samples = !alone && count_samples(p, s, func, total, displaced, c, &half);
	/* Where it is inlined and no sample fell there, it has no frame. */
	own = own_insn(p, func);
	c->insn = fmax(c->insn, own);
	/* And no stack tells it. */
	if (alone)
		displaced = 0;
	c->lo = fmax(fmax(c->insn - displaced, own) - half, 0);
	c->hi = fmin(c->insn + displaced, fmax(total, c->insn)) + half;
	if (!alone && !samples)
		c->hi += rest;
}

/* Of all samples some fall into it. */
static void bound_time(const struct profile *p, double total, struct inclusive *c)
{
	double period = period_of(p, p->meta.cyc_event) * p->meta.cyc_per_event;
	double half = total > 0 ? z_of_90 * sqrt(fmax(c->cyc * (1 - c->cyc / total) * period, 0)) : 0;

	c->lo = fmax(c->cyc - half, 0);
	c->hi = c->cyc + half;
}

void stack_bounds(const struct profile *p, const double *insn, double rest, const struct own_noise *noise,
                  struct inclusive *out)
{
	struct stacks s = { 0 };
	double *shares = mem_calloc(p->n_funcs + 1, sizeof(*shares)), total_insn = 0, total_cyc = 0;

	collect(p, insn, &s);
	call_sets_new(p, &s.sets);
	s.in = mem_calloc(p->n_funcs + 1, sizeof(*s.in));
	for (size_t f = 0; f < p->n_funcs; f++) {
		total_insn += p->funcs[f].count.insn;
		total_cyc += p->funcs[f].count.cyc;
	}
	if (event_of(p, p->meta.insn_event))
		total_insn = event_of(p, p->meta.insn_event)->total;
	for (size_t i = 0, j; i < s.v.n; i = j) {
		struct inclusive *c = &out[s.v.v[i].func];

		for (j = i; j < s.v.n && s.v.v[j].func == s.v.v[i].func; j++)
			;
		if (inclusive_is_of_insn(p))
			bound_insn(p, &s, s.v.v[i].func, total_insn,
			           half_of(p, &s, s.v.v + i, j - i, noise, shares), rest, c);
		else
			bound_time(p, total_cyc, c);
	}
	pairs_fini(&s.index);
	vec_fini(&s.v);
	call_sets_free(&s.sets);
	free(s.in);
	free(s.raw);
	free(s.cyc);
	free(shares);
}
