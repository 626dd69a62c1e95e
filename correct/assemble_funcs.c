/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of a profile: sums over their instructions, and whether they are to be trusted. */
#include <math.h>
#include <stdlib.h>

#include "correct/assemble_impl.h"
#include "profiler/base/err.h"

/*
 * A function is fixed when its count is known to 5% either way, nine times in ten.  A wider interval can't keep that: were
 * it right nine times in ten as well, each tenth function would be called fixed and be farther off.
 */
static const double weak_half_width = 0.05;

/* The instructions of each function (or physical function), as lists: of[first[f] .. first[f + 1]). */
struct grouping {
	uint32_t *of, *first;
};

static int group_insns(const struct profile *p, bool physical, struct grouping *g)
{
	g->first = calloc(p->n_funcs + 2, sizeof(*g->first));
	g->of = calloc(p->n_insns + 1, sizeof(*g->of));
	if (!g->first || !g->of)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_insns; i++)
		g->first[(physical ? p->insns[i].phys_func : p->insns[i].func) + 2]++;
	for (size_t f = 2; f < p->n_funcs + 2; f++)
		g->first[f] += g->first[f - 1];
	for (size_t i = 0; i < p->n_insns; i++)
		g->of[g->first[(physical ? p->insns[i].phys_func : p->insns[i].func) + 1]++] = (uint32_t)i;
	return 0;
}

static int sum_insns(const struct profile *p, const uint32_t *insns, size_t n, struct profile_count *out)
{
	bool corrected = false;

	*out = (struct profile_count){ .lo = NAN, .hi = NAN };
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];

		out->raw_insn += insn->count.raw_insn;
		out->raw_cyc += insn->count.raw_cyc;
		out->cyc += insn->count.cyc;
		out->insn += insn->count.insn;
		corrected = corrected || insn->block != UINT32_MAX;
	}
	return corrected ? profile_interval(p, insns, n, &out->insn, &out->lo, &out->hi) : 0;
}

/* What says how much an instruction matters: without counts of instructions, its time. */
static double weight_of(const struct profile *p, const struct profile_count *c)
{
	return p->meta.relative ? c->cyc : c->insn;
}

/* The status of a function: that of the regions that hold most of it, and its own interval. */
static void judge(struct profile *p, struct profile_func *f, const uint32_t *insns, size_t n)
{
	double in_region = 0, unreliable = 0, averaged = 0, all = 0;
	const char *why = "", *why_averaged = "";

	f->status = PROFILE_RAW;
	for (size_t k = 0; k < n; k++) {
		const struct profile_insn *insn = &p->insns[insns[k]];
		const struct profile_region *r = insn->region >= 0 ? &p->regions[insn->region] : NULL;
		double part;

		all += weight_of(p, &insn->count);
		/* Without draws in a region that has some: left raw, as if it were outside. */
		if (!r || (r->n_draws && insn->block == UINT32_MAX))
			continue;
		in_region += weight_of(p, &insn->count);
		f->evidence |= r->evidence;
		part = r->status == PROFILE_UNRELIABLE ? weight_of(p, &insn->count) : profile_doubt(p, insn);
		unreliable += part;
		why = part > 0 ? r->why : why;
		averaged += r->averaged ? weight_of(p, &insn->count) : 0;
		why_averaged = r->averaged ? r->why : why_averaged;
	}
	if (in_region < 0.5 * all || in_region == 0) {
		f->why = all > 0 ? "most of it ran outside the loops that were corrected" : "";
		return;
	}
	if (unreliable > 0.05 * all) {
		f->status = PROFILE_UNRELIABLE;
		f->why = why;
	} else if (averaged > 0.5 * all) {
		f->status = PROFILE_WEAK;
		f->why = why_averaged;
	} else if (!(f->count.hi - f->count.lo <= 2 * weak_half_width * f->count.insn)) {
		f->status = PROFILE_WEAK;
		f->why = "nothing measured settles it to 5%: the interval is wider";
	} else {
		f->status = PROFILE_FIXED;
		f->why = "";
	}
}

int assemble_funcs(struct assembly *a)
{
	struct profile *p = a->p;
	struct grouping own = { 0 }, rolled = { 0 };
	double period = 1, total = 0;
	int err = group_insns(p, false, &own);

	if (err == 0)
		err = group_insns(p, true, &rolled);
	if (a->w->rec->insn_event >= 0 && a->w->sums.events[a->w->rec->insn_event].n_samples)
		period = a->w->sums.events[a->w->rec->insn_event].period_sum /
		         (double)a->w->sums.events[a->w->rec->insn_event].n_samples;
	for (size_t f = 0; f < p->n_funcs && err == 0; f++) {
		struct profile_func *func = &p->funcs[f];
		size_t n = own.first[f + 1] - own.first[f];

		err = sum_insns(p, own.of + own.first[f], n, &func->count);
		if (err == 0)
			err = sum_insns(p, rolled.of + rolled.first[f], rolled.first[f + 1] - rolled.first[f],
			                &func->rolled);
		func->n_samples = func->count.raw_insn / period;
		total += weight_of(p, &func->count);
		if (err == 0)
			err = assemble_part(a, own.of + own.first[f], n, &func->part);
		if (err == 0)
			err = assemble_part(a, rolled.of + rolled.first[f],
			                    rolled.first[f + 1] - rolled.first[f], &func->rolled_part);
		judge(p, func, own.of + own.first[f], n);
	}
	for (size_t f = 0; f < p->n_funcs && err == 0; f++)
		if (weight_of(p, &p->funcs[f].count) >= 0.01 * total && p->funcs[f].status > p->worst)
			p->worst = p->funcs[f].status;
	free(own.of);
	free(own.first);
	free(rolled.of);
	free(rolled.first);
	return err;
}
