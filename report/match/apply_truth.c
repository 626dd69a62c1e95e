/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact instructions of one run beside the cycles of another. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/assemble/calls.h"
#include "report/assemble/own_noise.h"
#include "report/match/names.h"
#include "report/match/place.h"
#include "report/match/same_run.h"

/*
 * A function speaks against the truth when its share of its region is off by more than this of the
 * region, and by so many of its own half intervals (1.6 standard deviations each): bursts are right to about 1%, and a run
 * must not be doubted by chance.
 */
static const double max_off = 0.03, max_intervals = 3;

/* Shares smaller than this, of a region or of a region in all, are too few samples to argue with. */
static const double min_share = 0.02;

/* Instructions of a function in one region, by the truth and by this profile. */
struct share {
	double truth, ours;
};

/* What can't be compared keeps the recording's own counts. */
static bool incomparable(const struct profile *p, const struct truth_join *j, uint32_t module)
{
	return module < p->n_modules && j->incomparable[module];
}

static void add_up(const struct profile *p, const double *exact, int32_t region, struct share *of_func,
                   struct share *all)
{
	memset(of_func, 0, p->n_funcs * sizeof(*of_func));
	*all = (struct share){ 0 };
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (insn->region != region || insn->block == UINT32_MAX)
			continue;
		of_func[insn->func].truth += exact[i];
		of_func[insn->func].ours += insn->count.insn;
		all->truth += exact[i];
		all->ours += insn->count.insn;
	}
}

/* Half of the 90% interval of a function, as a share of its region: one that is not known to run may have some, too. */
static double half_interval(const struct profile_func *f, const struct share *region)
{
	return (f->count.hi - f->count.lo) / 2 / region->ours;
}

/* The function of a region that contradicts the truth most. */
static void judge_region(struct profile *p, int32_t region, const struct share *of_func,
                         const struct share *all, double *worst, char *why, size_t size)
{
	for (size_t f = 0; f < p->n_funcs; f++) {
		double ours = of_func[f].ours / all->ours, truth = of_func[f].truth / all->truth;
		double off = fabs(ours - truth);

		if (fmax(ours, truth) < min_share || off < max_off || off <= *worst ||
		    !(off > max_intervals * half_interval(&p->funcs[f], all)))
			continue;
		*worst = off;
		snprintf(why, size,
		         "%.100s has %.1f%% of the instructions of %.60s in this recording, %.1f%% in the "
		         "truth: "
		         "another input, a library that chose another variant under the emulator, or a "
		         "program "
		         "that doesn't do the same twice",
		         p->funcs[f].name, 100 * ours, p->regions[region].name, 100 * truth);
	}
}

/* A region that has far more of the program's instructions in one than in the other. */
static void judge_whole(struct profile *p, int32_t region, const struct share *of_region,
                        const struct share *whole, double *worst, char *why, size_t size)
{
	const struct profile_region *r = &p->regions[region];
	double ours = of_region->ours / whole->ours, truth = of_region->truth / whole->truth;
	double off = fabs(ours - truth);

	if (p->meta.relative || off < same_run_most_off || off <= *worst ||
	    off < max_intervals * z_of_90 * r->total_sd * ours)
		return;
	*worst = off;
	snprintf(
	        why, size,
	        "region %.60s has %.1f%% of all instructions in this recording, %.1f%% in the truth: another "
	        "input, or a program that doesn't do the same twice",
	        r->name, 100 * ours, 100 * truth);
}

/* Of what both sides have. */
static struct share add_whole(const struct profile *p, const struct truth_join *j)
{
	struct share all = { 0 };

	for (size_t f = 0; f < p->n_funcs; f++) {
		if (incomparable(p, j, p->funcs[f].module) || j->gap[f])
			continue;
		all.ours += p->funcs[f].count.insn;
		all.truth += j->own[f];
	}
	return all;
}

/* What the recording itself knows of the flow, against the truth's. */
static int judge(struct profile *p, const struct truth_join *j, const char **out)
{
	const double *exact = j->per_insn;
	struct share *of_func = mem_calloc(p->n_funcs + 1, sizeof(*of_func)), all, whole = add_whole(p, j);
	char why[512] = "";
	double worst = 0;

	for (size_t r = 0; r < p->n_regions; r++) {
		if (p->regions[r].status == PROFILE_UNRELIABLE || !p->regions[r].n_draws ||
		    incomparable(p, j, p->regions[r].module))
			continue;
		add_up(p, exact, (int32_t)r, of_func, &all);
		if (all.ours > 0 && all.ours < min_share * whole.ours)
			continue;
		if (all.ours > 0 && all.truth > 0)
			judge_region(p, (int32_t)r, of_func, &all, &worst, why, sizeof(why));
		else if (all.ours > 0)
			snprintf(why, sizeof(why),
			         "region %.60s never ran in the truth: another input, or another variant of "
			         "a library under the emulator?",
			         p->regions[r].name);
		if (all.ours > 0)
			judge_whole(p, (int32_t)r, &all, &whole, &worst, why, sizeof(why));
	}
	free(of_func);
	*out = profile_string(p, why);
	return 0;
}

static void set(struct profile_count *c, double exact)
{
	c->insn = c->lo = c->hi = exact;
}

static void put(struct profile *p, struct truth_join *j)
{
	free(p->counted);
	p->counted = j->calls;
	p->n_counted = j->n_calls;
	j->calls = NULL;
	for (size_t r = 0; r < p->n_regions; r++) {
		if (incomparable(p, j, p->regions[r].module))
			continue;
		p->regions[r].insn = 0;
		p->regions[r].evidence = PROFILE_BY_TRUTH;
		p->regions[r].status = PROFILE_FIXED;
		p->regions[r].why = "";
		/* Draws are of what is now known. */
		p->regions[r].n_draws = 0;
	}
	for (size_t i = 0; i < p->n_insns; i++) {
		struct profile_insn *insn = &p->insns[i];

		if (incomparable(p, j, insn->module) ||
		    (insn->phys_func < p->n_funcs && j->gap[insn->phys_func]))
			continue;
		set(&insn->count, j->per_insn[i]);
		insn->status = PROFILE_FIXED;
		if (insn->region >= 0 && !incomparable(p, j, p->regions[insn->region].module))
			p->regions[insn->region].insn += j->per_insn[i];
	}
	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];

		if (incomparable(p, j, func->module) || j->gap[f])
			continue;
		set(&func->count, j->own[f]);
		set(&func->rolled, j->rolled[f]);
		func->status = func->rolled_status = PROFILE_FIXED;
		func->evidence = func->rolled_evidence = PROFILE_BY_TRUTH;
		func->why = func->rolled_why = "";
	}
}

/* A tool that counts stubs where they are called has none of a stub's own, however often it ran. */
static bool is_moved(const struct profile_func *func, bool moves_plt)
{
	return moves_plt && !(func->rolled.insn > 0) && names_is_stub(func->linkage);
}

static void say_moved(struct profile_func *func)
{
	if (func->evidence == PROFILE_BY_TRUTH) {
		func->status = reason_status_moved_stub;
		func->why = reason_text_moved_stub;
	}
	func->rolled_status = reason_status_moved_stub;
	func->rolled_why = reason_text_moved_stub;
}

/* What has samples ran: a count of none is of another run, and so are the function's other numbers. */
static void doubt_unseen(struct profile *p, bool moves_plt)
{
	bool *own = mem_calloc(2 * p->n_funcs + 1, sizeof(*own)), *rolled = own + p->n_funcs;

	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];

		own[f] = func->evidence == PROFILE_BY_TRUTH && !(func->count.insn > 0);
		rolled[f] = func->rolled_evidence == PROFILE_BY_TRUTH && !(func->rolled.insn > 0);
		if (rolled[f] && is_moved(func, moves_plt)) {
			say_moved(func);
			own[f] = rolled[f] = false;
		}
	}
	/* Shares of regions are off because of it: this says more than judge(). */
	same_run_doubt_unseen(p, own, rolled);
	free(own);
}

static int apply_insns(struct profile *p, const struct truth *t, const char *path,
                       const struct module_options *opts)
{
	struct truth_join j;
	int err = match_join(p, t, path, opts, &j);

	if (err < 0)
		return err;
	err = judge(p, &j, &p->meta.truth_why);
	if (err == 0)
		put(p, &j);
	match_join_fini(&j);
	return err;
}

/* How many functions with samples each of the truth's names is of. */
static void count_owners(const struct profile *p, const struct names_join *j, uint32_t **out)
{
	uint32_t *n = mem_calloc(j->n + 1, sizeof(*n));

	for (size_t f = 0; f < p->n_funcs; f++)
		if (j->owner[f] != UINT32_MAX &&
		    (p->funcs[f].rolled.raw_insn > 0 || p->funcs[f].rolled.raw_cyc > 0))
			n[j->owner[f]]++;
	*out = n;
}

/* Physical functions get their counts; what has no name for a tool keeps the recording's own. */
static void put_names(struct profile *p, const struct names_join *j)
{
	uint32_t *n_owners = NULL;
	size_t n_shared = 0;

	count_owners(p, j, &n_owners);
	for (size_t f = 0; f < p->n_funcs; f++) {
		struct profile_func *func = &p->funcs[f];
		uint32_t name = j->owner[f];

		if ((func->module < p->n_modules && j->incomparable[func->module]) || func->name[0] == '[')
			continue;
		if (name != UINT32_MAX && n_owners[name] > 1) {
			n_shared++;
			continue;
		}
		set(&func->rolled, name == UINT32_MAX ? 0 : (double)j->funcs[name].n_insn);
		func->rolled_status = PROFILE_FIXED;
		func->rolled_evidence = PROFILE_BY_TRUTH;
		func->rolled_why = "";
	}
	if (n_shared)
		sp_note("%zu functions share their names with others: the exact counts don't tell them "
		        "apart, and "
		        "they keep the recording's own",
		        n_shared);
	free(n_owners);
}

static int apply_names(struct profile *p, const struct truth *t, const char *path,
                       const struct module_options *opts)
{
	struct names_join j;
	int err = match_names(p, t, path, opts, &j);

	if (err < 0)
		return err;
	put_names(p, &j);
	p->meta.truth_rolled = true;
	match_names_fini(&j);
	return err;
}

int match_apply(struct profile *p, struct truth *t, const char *path, const struct module_options *opts)
{
	int err;

	if (t->partial)
		return sp_fail(SP_ENOTSUP,
		               "%s: %s, which has not all counts; 'skidprof compare' compares what it has",
		               path, t->format);
	err = match_place(p, t, path, opts);
	if (err == 0)
		err = t->n_insns ? apply_insns(p, t, path, opts) : apply_names(p, t, path, opts);
	if (err == 0 && !*p->meta.truth_why)
		same_run_doubt(p);
	if (err < 0)
		return err;
	doubt_unseen(p, t->moves_plt);
	p->meta.truth = profile_string(p, path);
	p->meta.relative = false;
	p->worst = *p->meta.truth_why ? PROFILE_UNRELIABLE : PROFILE_FIXED;
	if (t->n_insns)
		calls_count(p);
	return 0;
}
