/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of a profile: sums over their instructions, and whether they are to be trusted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/groups.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"

static void sum_insns(const struct profile *p, const uint32_t *insns, size_t n, struct profile_count *out)
{
	bool corrected = false;

	*out = (struct profile_count){ .lo = NAN, .hi = NAN };
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];

		out->raw_insn += insn->count.raw_insn;
		out->raw_cyc += insn->count.raw_cyc;
		out->cyc += insn->count.cyc;
		out->insn += insn->count.insn;
		out->n_samples += insn->count.n_samples;
		corrected = corrected || insn->block != UINT32_MAX;
	}
	if (corrected)
		profile_interval(p, insns, n, &out->insn, &out->lo, &out->hi);
	else
		profile_chance(p, out->insn, &out->lo, &out->hi);
}

/*
 * Without paths all rests on where samples landed, and so on how far they skid.  A default is a guess at that: with it two
 * thirds of the functions of random programs that were called fixed were not within 5% (make accuracy, plain-pair).
 */
static bool is_guessed(const struct profile *p, uint8_t evidence)
{
	return p->meta.skid_source == SKID_DEFAULT && p->meta.insn_event >= 0 &&
	       !(evidence & PROFILE_BY_PATH);
}

/* A file that is gone, or another build's: what its samples fell in has no name.  Of memory, and of the kernel, that is to be expected. */
static bool is_unread(const struct profile_module *m)
{
	return *m->trouble && m->path[0] == '/' && !module_is_memory(m->path);
}

/* What is known of the whole profile. */
struct whole {
	double a_sample; /* instructions that one stands for, of all that is told; 0 = not known */
	bool is_off;     /* corrected counts do not come to what was sampled */
	/* Parts of regions that nothing settles: the weight of each, and what of it is the function's that is judged. */
	double *open_parts, *open_here;
};

/* An instruction's weight in its function's status: of time, where that was sampled; else by executions. */
static double weight_in(const struct profile *p, const struct profile_count *func,
                        const struct profile_insn *insn)
{
	return profile_weight(p, func) > 0 ? profile_weight(p, &insn->count) : insn->count.insn;
}

/*
 * Does a function share a part of its region, which nothing settles, with others?  The skid leaves a part's total as it is, and so
 * the raw count of what has all of it, but moves samples about in it.
 */
static bool shares_open_part(const struct whole *whole, const struct profile_insn *insn)
{
	uint32_t part = insn->open_part;

	return part && whole->open_here[part] < (1 - reason_limit_partly_outside) * whole->open_parts[part];
}

/* What of each open part lies in these instructions; sign -1 forgets it. */
static void add_open_parts(const struct profile *p, const uint32_t *insns, size_t n, double sign,
                           double *open_parts)
{
	for (size_t k = 0; k < n; k++)
		if (p->insns[insns[k]].open_part)
			open_parts[p->insns[insns[k]].open_part] +=
			        sign * profile_weight(p, &p->insns[insns[k]].count);
}

/* Regions of one function whose reasons are weighed against one another: further ones have little of it. */
enum { MOST_TOLD = 8 };

/* What speaks against a function's counts: in how much of it, and what is said of the most. */
struct doubts {
	double all;
	size_t n;
	const char *why[MOST_TOLD];
	double part[MOST_TOLD];
};

static void doubts_add(struct doubts *d, const char *why, double part)
{
	size_t i = 0;

	if (!(part > 0))
		return;
	d->all += part;
	while (i < d->n && d->why[i] != why)
		i++;
	if (i == MOST_TOLD)
		return;
	d->n = i < d->n ? d->n : i + 1;
	d->why[i] = why;
	d->part[i] += part;
}

static const char *doubts_why(const struct doubts *d)
{
	size_t most = 0;

	for (size_t i = 1; i < d->n; i++)
		most = d->part[i] > d->part[most] ? i : most;
	return d->n ? d->why[most] : "";
}

/*
 * Whether code that is in no region must be in a loop, for so many samples are not of code that runs once.  A skid took
 * samples in and out of it, but of precise ones.  Of the kernel, whose code is not read, that is to be expected.  insn: its first.
 */
static bool runs_again(const struct profile *p, const struct profile_insn *insn,
                       const struct profile_count *count, const struct whole *whole, const char *why)
{
	return p->n_regions && why == reason_text_outside && !*p->modules[insn->module].trouble &&
	       p->meta.skid_source != SKID_PRECISE && whole->a_sample > 0 &&
	       count->raw_insn >= reason_limit_loop_unknown * whole->a_sample;
}

/*
 * The status of a function's instructions, whose sum is count: that of the regions that hold most of them, and its own
 * interval.  whole: of the whole profile; evidence: what is known of those regions is added; why: one sentence, "" for fixed.
 */
static uint8_t judge(const struct profile *p, const uint32_t *insns, size_t n,
                     const struct profile_count *count, const struct whole *whole, uint8_t *evidence,
                     const char **why)
{
	struct doubts unread = { 0 }, unreliable = { 0 }, averaged = { 0 }, contradicted = { 0 },
	              outside = { 0 };
	double in_region = 0, misled = 0, all = 0;

	*why = "";
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];
		const struct profile_region *r = insn->region >= 0 ? &p->regions[insn->region] : NULL;
		const double weight = weight_in(p, count, insn);
		bool left_raw, shared;

		all += weight;
		if (is_unread(&p->modules[insn->module]))
			doubts_add(&unread, p->modules[insn->module].trouble, weight);
		/* Without draws in a region that has some: left raw, as if it were outside, but where the region is no better. */
		left_raw = r && r->n_draws && insn->block == UINT32_MAX && r->status != PROFILE_UNRELIABLE;
		shared = left_raw && shares_open_part(whole, insn);
		if (!r || (left_raw && !shared)) {
			doubts_add(&outside, insn->why_raw ? insn->why_raw : reason_text_outside, weight);
			continue;
		}
		in_region += weight;
		if (shared) {
			doubts_add(&unreliable, insn->why_raw ? insn->why_raw : r->why, weight);
			continue;
		}
		misled += r->misled ? weight : 0;
		*evidence |= r->evidence;
		doubts_add(&unreliable, r->why,
		           r->status == PROFILE_UNRELIABLE ? weight : profile_doubt(p, insn));
		doubts_add(&averaged, r->why, r->averaged ? weight : 0);
		doubts_add(&contradicted, r->why, r->contradicted ? weight : 0);
	}
	if (unread.all > reason_limit_unread * all) {
		*why = doubts_why(&unread);
		return reason_status_unread;
	}
	if (p->meta.as_sampled && all > 0 && unreliable.all <= reason_limit_in_unreliable * all) {
		*evidence |= PROFILE_BY_PRECISE;
		*why = reason_text_precise;
		return reason_status_precise;
	}
	if (in_region < reason_limit_outside * all || in_region == 0) {
		if (n && runs_again(p, &p->insns[*insns], count, whole, doubts_why(&outside))) {
			*why = reason_text_loop_unknown;
			return reason_status_loop_unknown;
		}
		*why = p->n_regions ? doubts_why(&outside) : all > 0 ? reason_text_no_region : "";
		return reason_status_outside;
	}
	/* A count is the sum of all its parts; a share is of one region, and that is the one of most of it. */
	if (unreliable.all >
	    (p->meta.relative ? reason_limit_in_unreliable_share : reason_limit_in_unreliable) * all) {
		*why = *doubts_why(&unreliable) ? doubts_why(&unreliable) : reason_text_in_unreliable;
		return reason_status_in_unreliable;
	}
	if (unreliable.all > reason_limit_partly_unreliable * all) {
		*why = reason_text_partly_unreliable;
		return reason_status_partly_unreliable;
	}
	if (all - in_region > reason_limit_partly_outside * all) {
		*why = reason_text_partly_outside;
		return reason_status_partly_outside;
	}
	if (averaged.all > reason_limit_in_averaged * all) {
		*why = doubts_why(&averaged);
		return reason_status_in_averaged;
	}
	if (contradicted.all > reason_limit_in_contradicted * all) {
		*why = doubts_why(&contradicted);
		return reason_status_in_contradicted;
	}
	if (whole->is_off) {
		*why = reason_text_total_off;
		return reason_status_total_off;
	}
	if (p->meta.shadowed && !(*evidence & PROFILE_BY_PATH)) {
		*why = reason_text_shadowed;
		return reason_status_shadowed;
	}
	if (is_guessed(p, *evidence)) {
		*why = reason_text_skid_guessed;
		return reason_status_skid_guessed;
	}
	if (!isnan(count->hi) && profile_judge(PROFILE_FIXED, count) == PROFILE_FIXED) {
		if (count->insn >= reason_limit_too_small * whole->a_sample)
			return PROFILE_FIXED;
		*why = reason_text_too_small;
		return reason_status_too_small;
	}
	if (misled > reason_limit_misled * all) {
		*why = reason_text_misled;
		return reason_status_misled;
	}
	*why = isnan(count->hi) ? reason_text_no_interval : reason_text_wide;
	return isnan(count->hi) ? reason_status_no_interval : reason_status_wide;
}

/* Of a function that ran elsewhere too, the share of this region may be known nevertheless. */
static bool is_told(const struct profile_func *f, int32_t region)
{
	const struct profile_count share = { .insn = f->part.share, .lo = f->part.lo, .hi = f->part.hi };

	return f->status == PROFILE_FIXED || (f->part.region == region && isfinite(f->part.lo) &&
	                                      profile_judge(PROFILE_FIXED, &share) == PROFILE_FIXED);
}

/*
 * The total of a region is always known; whether the region is depends on where in it the total went: it is weak where
 * fixed functions hold less than half of it.
 */
static void judge_regions(struct profile *p)
{
	double *fixed = mem_calloc(2 * p->n_regions + 1, sizeof(*fixed)), *all;

	all = fixed + p->n_regions;
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];
		double weight = profile_weight(p, &insn->count);

		if (insn->region < 0)
			continue;
		all[insn->region] += weight;
		fixed[insn->region] += is_told(&p->funcs[insn->func], insn->region) ? weight : 0;
	}
	for (size_t r = 0; r < p->n_regions; r++)
		/* Of one flow all shares are known. */
		if (p->regions[r].status == PROFILE_FIXED &&
		    !(p->meta.relative && p->regions[r].n_free == 1) &&
		    fixed[r] < reason_limit_functions_open * all[r]) {
			p->regions[r].status = reason_status_functions_open;
			p->regions[r].why = reason_text_functions_open;
		}
	free(fixed);
}

/*
 * Where instructions were not sampled they lie where cycles do.  Shares of a region say nothing of what ran elsewhere, nor of a
 * total.  A skid takes samples from function to function, but none away: the sums of raw and corrected counts differ by chance.
 */
static struct whole whole_of(const struct work *w, const struct profile *p)
{
	const struct event_sum *events = w->sums.events;
	double n = w->rec->insn_event >= 0 ? (double)events[w->rec->insn_event].n_samples : 0;
	double insn = 0, raw = 0;

	if (p->meta.relative)
		return (struct whole){ 0 };
	if (n == 0 && w->rec->cyc_event >= 0)
		n = (double)events[w->rec->cyc_event].n_samples;
	for (size_t f = 0; f < p->n_funcs; f++) {
		insn += p->funcs[f].count.insn;
		raw += p->funcs[f].count.raw_insn;
	}
	/* Of the user's code, though they stand in the kernel's. */
	insn -= w->rec->lost_insn;
	return (struct whole){ .a_sample = n > 0 ? insn / n : 0,
		               .is_off = n > 0 && raw > 0 &&
		                         fabs(insn / raw - 1) > reason_limit_total_off + 3 / sqrt(n) };
}

static uint8_t judge_with_parts(const struct profile *p, const uint32_t *insns, size_t n,
                                const struct profile_count *count, const struct whole *whole,
                                uint8_t *evidence, const char **why)
{
	uint8_t status;

	add_open_parts(p, insns, n, 1, whole->open_here);
	status = judge(p, insns, n, count, whole, evidence, why);
	add_open_parts(p, insns, n, -1, whole->open_here);
	return status;
}

static void judge_funcs(struct profile *p, const struct groups *own, const struct groups *rolled,
                        const struct whole *whole)
{
	double total = 0;

	for (size_t f = 0; f < p->n_funcs; f++)
		total += profile_weight(p, &p->funcs[f].count);
	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];
		size_t at = own->first[f], at_rolled = rolled->first[f];

		func->status = judge_with_parts(p, own->of + at, own->first[f + 1] - at, &func->count, whole,
		                                &func->evidence, &func->why);
		func->rolled_status =
		        judge_with_parts(p, rolled->of + at_rolled, rolled->first[f + 1] - at_rolled,
		                         &func->rolled, whole, &func->rolled_evidence, &func->rolled_why);
		for (size_t k = at; k < own->first[f + 1] && func->status == PROFILE_UNRELIABLE; k++)
			if (p->insns[own->of[k]].open_part)
				p->insns[own->of[k]].status = PROFILE_UNRELIABLE;
		if (profile_matters(p, &func->count, total) && func->status > p->worst)
			p->worst = func->status;
	}
}

void assemble_funcs(struct assembly *a)
{
	struct profile *p = a->p;
	struct groups own, rolled;
	struct whole whole;
	double period = 1;

	groups_make(&own, p->n_insns, p->n_funcs, i, p->insns[i].func);
	groups_make(&rolled, p->n_insns, p->n_funcs, i, p->insns[i].phys_func);
	if (a->w->rec->insn_event >= 0 && a->w->sums.events[a->w->rec->insn_event].n_samples)
		period = a->w->sums.events[a->w->rec->insn_event].period_sum /
		         (double)a->w->sums.events[a->w->rec->insn_event].n_samples;
	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];

		sp_progress("adding up functions", f, p->n_funcs);
		const uint32_t *in_own = own.of + own.first[f], *in_rolled = rolled.of + rolled.first[f];
		size_t n_own = own.first[f + 1] - own.first[f],
		       n_rolled = rolled.first[f + 1] - rolled.first[f];

		sum_insns(p, in_own, n_own, &func->count);
		sum_insns(p, in_rolled, n_rolled, &func->rolled);
		func->n_samples = func->count.raw_insn / period;
		assemble_part(a, in_own, n_own, &func->part);
		assemble_part(a, in_rolled, n_rolled, &func->rolled_part);
	}
	sp_progress_end();
	whole = whole_of(a->w, p);
	whole.open_parts = mem_calloc(2 * (a->w->scopes.n + 1), sizeof(*whole.open_parts));
	whole.open_here = whole.open_parts + a->w->scopes.n + 1;
	add_open_parts(p, own.of, p->n_insns, 1, whole.open_parts);
	judge_funcs(p, &own, &rolled, &whole);
	free(whole.open_parts);
	judge_regions(p);
	groups_fini(&own);
	groups_fini(&rolled);
}
