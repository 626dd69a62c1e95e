/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a correction has worked out becomes a profile. */
#include "report/assemble/assemble.h"
#include "profiler/base/mem.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/contexts.h"
#include "report/assemble/names.h"

static void scale(struct profile_count *c, double by)
{
	c->raw_cyc *= by;
	c->cyc *= by;
}

/* Samples of time become cycles.  Instructions that are shares only stay what they are. */
static void scale_cycles(struct profile *p)
{
	double by = p->meta.cyc_per_event;

	for (size_t i = 0; i < p->n_insns; i++)
		scale(&p->insns[i].count, by);
	for (size_t f = 0; f < p->n_funcs; f++) {
		scale(&p->funcs[f].count, by);
		scale(&p->funcs[f].rolled, by);
	}
	for (size_t r = 0; r < p->n_regions; r++)
		p->regions[r].cyc *= by;
	for (size_t f = 0; f < p->n_frames; f++)
		p->frames[f].raw_cyc *= by;
	for (size_t s = 0; s < p->n_steps; s++)
		p->steps[s].cyc *= by;
}

static int assemble(const struct work *w, struct profile **out)
{
	struct assembly a = { .w = w, .p = mem_calloc(1, sizeof(struct profile)) };
	size_t n_named;
	int err;

	func_index_new(a.p, &a.funcs);
	assemble_meta(&a);
	assemble_insns(&a);
	assemble_regions(&a);
	err = assemble_stacks(&a);
	if (err == 0)
		err = assemble_time(&a);
	if (err == 0) {
		/* All files are open now, and names were asked for, which tells what debug information lacks. */
		assemble_modules(&a);
		assemble_funcs(&a);
		assemble_names(&a);
		scale_cycles(a.p);
	}
	n_named = a.p->n_funcs;
	if (err == 0)
		err = assemble_flow(&a);
	if (err == 0)
		err = assemble_contexts(&a);
	/* What only calls is found by these two, and may be of files that have no sample. */
	if (err == 0) {
		assemble_late_modules(&a);
		names_tell_apart(a.p, n_named, NULL);
	}
	func_index_free(a.funcs);
	if (err < 0) {
		profile_free(a.p);
		return err;
	}
	*out = a.p;
	return 0;
}

/* A trace alone would be an empty table, which reads as if nothing had run. */
static int check_samples(const struct work *w)
{
	const struct pd_stats *stats = pd_stats(w->rec->reader);

	if (!stats->trace || stats->n_samples)
		return 0;
	return sp_fail(
	        SP_ENOTSUP,
	        "%s: holds a trace (%s) and no samples: 'perf inject --itrace=i100us' makes samples of it, "
	        "and 'perf record -e cycles,instructions' or 'skidprof record' takes them",
	        w->opts->input, stats->trace);
}

int assemble_profile(const struct correct_opts *opts, struct profile **out)
{
	struct work w;
	int err = correct_run(opts, &w);

	if (err == 0)
		err = check_samples(&w);
	if (err == 0)
		err = assemble(&w, out);
	correct_end(&w);
	return err;
}
