/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/correct.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "correct/evidence/evidence.h"
#include "correct/infer/full.h"
#include "correct/work.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/pairs.h"

/* Foreign code in a region's intervals past which its totals can't be trusted. */
static const double max_unseen_share = 0.02;

enum {
	MIN_SKIDS = 50, /* overshoots that make a distribution */
	MAX_WORKERS = 64,
	MIN_REGION_SAMPLES = 30,
};

static const char *const method_words[] = {
	[METHOD_FULL] = "full", [METHOD_RAW] = "raw",   [METHOD_LOOPS] = "loops",
	[METHOD_PATH] = "path", [METHOD_FLOW] = "flow", NULL,
};

int correct_method_parse(const char *word)
{
	const char *near = cmd_suggest(word, method_words);

	for (int i = 0; method_words[i]; i++)
		if (strcmp(word, method_words[i]) == 0)
			return i;
	if (near)
		sp_fail(SP_EUSAGE, "'%s' is no method of correction; did you mean '%s'?", word, near);
	else
		sp_fail(SP_EUSAGE,
		        "'%s' is no method of correction; there are full, raw, loops, path and flow", word);
	return -1;
}

const char *correct_method_word(enum correct_method m)
{
	return method_words[m];
}

/* S: what the file measured, else what was given, else a default by CPU. */
static int choose_skid(struct work *w)
{
	int err = 0;

	if (w->sums.n_skid >= MIN_SKIDS && isnan(w->opts->skid_cyc)) {
		w->skid_source = SKID_MEASURED;
		w->skid_basis = "measured in this recording";
		err = skid_dist_fit(&w->skid, w->sums.skid_cyc, w->sums.n_skid);
	} else if (!isnan(w->opts->skid_cyc)) {
		w->skid_source = SKID_GIVEN;
		w->skid_basis = "given with --skid";
		skid_dist_constant(&w->skid, w->opts->skid_cyc);
	} else {
		w->skid_source = SKID_DEFAULT;
		skid_dist_default(pd_header(w->rec->reader)->cpudesc, &w->skid, &w->skid_basis);
	}
	return err;
}

static int build_flow(struct work *w)
{
	struct flow_input in = { .modules = w->rec->modules,
		                 .n_modules = w->rec->n_modules,
		                 .n_hot = w->sums.n,
		                 .seen = w->sums.seen,
		                 .n_seen = w->sums.n_seen };
	struct flow_hot *hot = calloc(w->sums.n + 1, sizeof(*hot));
	double *weight = NULL;
	int err;

	if (!hot)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];

		hot[i] = (struct flow_hot){ s->module, s->vaddr, s->n_insn + s->n_cyc };
	}
	in.hot = hot;
	err = flow_build(&in, &w->graph);
	if (err < 0)
		goto out;
	weight = calloc(w->graph->n_blocks + 1, sizeof(*weight));
	if (!weight) {
		err = sp_fail(SP_ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < w->sums.n; i++) {
		long b = flow_block_at(w->graph, hot[i].module, hot[i].vaddr);

		if (b >= 0)
			weight[b] += hot[i].weight;
	}
	err = flow_regions_find(w->graph, weight, w->opts->min_share, &w->regions);
out:
	free(hot);
	free(weight);
	return err;
}

/* The instruction of a problem at vaddr, -1 if none begins there. */
static long insn_in(const struct problem *p, size_t block, uint64_t vaddr)
{
	const struct problem_block *b = &p->blocks[block];

	for (uint32_t i = 0; i < b->n_insn; i++)
		if (p->insns[b->insn0 + i].vaddr == vaddr)
			return b->insn0 + i;
	return -1;
}

/* Number of each graph block in its region's problem. */
static uint32_t *number_blocks(const struct work *w)
{
	uint32_t *local = calloc(w->graph->n_blocks + 1, sizeof(*local));

	for (size_t r = 0; local && r < w->regions->n; r++)
		for (size_t b = 0; b < w->problems[r]->n_blocks; b++)
			local[w->problems[r]->blocks[b].graph_block] = (uint32_t)b;
	return local;
}

static double period_of(const struct work *w, int event)
{
	if (event < 0 || (size_t)event >= w->sums.n_events || !w->sums.events[event].n_samples)
		return 0;
	return w->sums.events[event].period_sum / (double)w->sums.events[event].n_samples;
}

static int build_problems(struct work *w)
{
	size_t n = w->regions->n;
	uint32_t *local;

	w->problems = calloc(n + 1, sizeof(struct problem *));
	w->solutions = calloc(n + 1, sizeof(*w->solutions));
	w->equations = calloc(n + 1, sizeof(*w->equations));
	if (!w->problems || !w->solutions || !w->equations)
		return sp_fail(SP_ENOMEM, "out of memory for %zu regions", n);
	for (size_t r = 0; r < n; r++) {
		int err = problem_new(w->graph, &w->regions->v[r], &w->problems[r]);

		if (err < 0)
			return err;
		w->problems[r]->insn_per_sample = period_of(w, w->rec->insn_event);
		w->problems[r]->cyc_per_sample = period_of(w, w->rec->cyc_event);
		w->problems[r]->skid = w->skid;
		w->problems[r]->skid_known = w->skid_source != SKID_DEFAULT;
	}
	local = number_blocks(w);
	if (!local)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < w->sums.n; i++) {
		const struct place_sum *s = &w->sums.v[i];
		long b = flow_block_at(w->graph, s->module, s->vaddr);
		struct problem *p;
		long insn;

		if (b < 0 || w->regions->of_block[b] < 0)
			continue;
		p = w->problems[w->regions->of_block[b]];
		insn = insn_in(p, local[b], s->vaddr);
		if (insn < 0)
			continue;
		p->seen_insn[insn] += s->insn;
		p->seen_cyc[insn] += s->cyc;
		p->total_insn += s->insn;
		p->total_cyc += s->cyc;
	}
	free(local);
	return 0;
}

/* The second pass: every sample is shown to the evidence. */
struct showing {
	const struct work *w;
	struct evidence *ev;
	struct pairs tasks;
	const uint32_t *local;
};

static int show_sample(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct showing *show = arg;
	const struct work *w = show->w;
	struct sample_seen s = { .rec = r, .record = rec, .region = -1 };
	long task = pairs_number(&show->tasks, rec->pid, rec->tid);
	long b = place.module < 0 ? -1 : flow_block_at(w->graph, (uint32_t)place.module, place.vaddr);

	if (task < 0)
		return (int)task;
	s.thread = (uint32_t)task;
	if (b >= 0)
		s.region = w->regions->of_block[b];
	if (s.region >= 0) {
		long insn = insn_in(w->problems[s.region], show->local[b], place.vaddr);

		if (insn >= 0)
			s.insn = (uint32_t)insn;
		else
			s.region = -1;
	}
	return evidence_sample(show->ev, &s);
}

static int collect_evidence(struct work *w, struct evidence **out)
{
	struct evidence_input in = { w->rec, w->graph, w->regions, w->problems };
	struct showing show = { .w = w };
	uint32_t *local = number_blocks(w);
	int err = local ? evidence_begin(&in, &show.ev) : sp_fail(SP_ENOMEM, "out of memory");

	if (err < 0)
		goto out;
	show.local = local;
	err = recording_each(w->rec, "collecting evidence", show_sample, &show);
	if (err == 0)
		err = evidence_finish(show.ev);
	*out = show.ev;
out:
	free(local);
	pairs_fini(&show.tasks);
	return err;
}

/* Keep what the mix equations said, and how well they came out. */
static int keep_equations(struct work *w, size_t region, const struct equations *eqs)
{
	const struct solution *sol = &w->solutions[region];
	struct equations_shown *shown = &w->equations[region];

	shown->v = calloc(eqs->n + 1, sizeof(*shown->v));
	if (!shown->v)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < eqs->n; i++) {
		const struct equation *eq = &eqs->v[i];
		double fitted = 0;

		if (eq->kind & PROFILE_BY_PATH)
			continue;
		for (size_t e = 0; e < w->problems[region]->n_edges; e++)
			fitted += eq->w[e] * sol->edge_flow[e];
		shown->v[shown->n++] = (struct profile_equation){ eq->name, eq->value, fitted, eq->sd };
	}
	return 0;
}

static int solve_full(struct work *w, struct evidence *ev, size_t r, const struct infer_opts *opts)
{
	struct problem *p = w->problems[r];
	bool *usable = calloc(p->n_edges + 1, sizeof(*usable));
	double *f = calloc(p->n_edges + 1, sizeof(*f));
	struct equations eqs = { 0 };
	struct space *space = NULL;
	int err = usable && f ? space_interior(p, usable, f) : sp_fail(SP_ENOMEM, "out of memory");

	if (err == 0)
		err = space_new(p, usable, &space);
	if (err == 0)
		err = evidence_equations(ev, r, space, &eqs);
	if (err == 0)
		err = method_full(p, space, f, &eqs, opts, &w->solutions[r]);
	if (err == 0)
		err = keep_equations(w, r, &eqs);
	equations_fini(&eqs);
	space_free(space);
	free(usable);
	free(f);
	return err;
}

/*
 * A region that was hardly sampled can't be known better than its samples
 * say, and one with more free flows than samples is not worth the time.
 */
static bool worth_solving(const struct work *w, size_t r, char *why, size_t size)
{
	const struct problem *p = w->problems[r];
	double n = p->insn_per_sample > 0 ? p->total_insn / p->insn_per_sample : 0;
	size_t n_free = p->n_edges + 1 > p->n_blocks ? p->n_edges + 1 - p->n_blocks : 0;

	if (n >= MIN_REGION_SAMPLES && n >= (double)n_free / 4)
		return true;
	snprintf(why, size,
	         "too few samples (%.0f) for a region of %zu blocks: record longer, or with a smaller period",
	         n, p->n_blocks);
	return false;
}

static int solve_one(struct work *w, struct evidence *ev, size_t r)
{
	struct infer_opts opts = INFER_OPTS_DEFAULT;
	struct solution *sol = &w->solutions[r];

	opts.seed = w->opts->seed + r;
	if (!worth_solving(w, r, sol->why, sizeof(sol->why))) {
		sol->verdict = VERDICT_UNRELIABLE;
		return 0;
	}
	sp_debug("region %zu: %zu blocks, %zu edges, %.3g instructions", r, w->problems[r]->n_blocks,
	         w->problems[r]->n_edges, w->problems[r]->total_insn);
	switch (w->opts->method) {
	case METHOD_LOOPS:
		return method_loops(w->problems[r], &opts, sol);
	case METHOD_FLOW:
		return method_flow(w->problems[r], &opts, sol);
	case METHOD_PATH:
		return method_path(ev, r, &opts, sol);
	default:
		return solve_full(w, ev, r, &opts);
	}
}

/* Code outside that runs in between is in the region's totals: they are not its own. */
static void judge_leak(const struct problem *p, struct solution *sol)
{
	if (p->unseen_share <= max_unseen_share || sol->verdict == VERDICT_UNRELIABLE)
		return;
	sol->verdict = VERDICT_UNRELIABLE;
	snprintf(sol->why, sizeof(sol->why),
	         "about %.0f%% of the time between its samples went to code not known to belong to its loop: "
	         "branch records (-b) would show how it is called",
	         100 * p->unseen_share);
}

/* A region that can't be solved keeps its raw counts and says so; only lack of memory ends the run. */
static int solve_or_say(struct work *w, struct evidence *ev, size_t r)
{
	struct solution *sol = &w->solutions[r];
	int err = solve_one(w, ev, r);

	if (err == 0)
		judge_leak(w->problems[r], sol);
	if (err == 0 || err == -SP_ENOMEM)
		return err;
	solution_fini(sol);
	sol->verdict = VERDICT_UNRELIABLE;
	snprintf(sol->why, sizeof(sol->why), "%.190s", sp_error_text());
	return 0;
}

/* Regions are independent: as many workers as cores take the next one each. */
struct crew {
	struct work *w;
	struct evidence *ev;
	atomic_size_t next;
	atomic_int err;
};

static void *worker(void *arg)
{
	struct crew *crew = arg;
	size_t r;

	while ((r = atomic_fetch_add(&crew->next, 1)) < crew->w->regions->n) {
		int err = solve_or_say(crew->w, crew->ev, r);

		if (err < 0)
			atomic_store(&crew->err, err);
		sp_progress("correcting regions", r, crew->w->regions->n);
	}
	return NULL;
}

static int solve(struct work *w, struct evidence *ev)
{
	struct crew crew = { .w = w, .ev = ev };
	pthread_t threads[MAX_WORKERS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0;

	while (n + 1 < (size_t)cores && n < MAX_WORKERS && n + 1 < w->regions->n)
		if (pthread_create(&threads[n], NULL, worker, &crew) != 0)
			break;
		else
			n++;
	worker(&crew);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	sp_progress_end();
	/* The words were said in the worker's thread. */
	return crew.err ? sp_fail(SP_ENOMEM, "out of memory while correcting regions") : 0;
}

static void work_fini(struct work *w)
{
	for (size_t r = 0; w->regions && r < w->regions->n; r++) {
		if (w->problems)
			problem_free(w->problems[r]);
		if (w->solutions)
			solution_fini(&w->solutions[r]);
		if (w->equations)
			free(w->equations[r].v);
	}
	free(w->problems);
	free(w->solutions);
	free(w->equations);
	flow_regions_free(w->regions);
	flow_free(w->graph);
	sums_fini(&w->sums);
	recording_close(w->rec);
}

int correct_run(const struct correct_opts *opts, struct profile **out)
{
	struct work w = { .opts = opts };
	struct evidence *ev = NULL;
	int err;

	/* A singular matrix or a bad argument is ours to report, not a reason to abort(). */
	gsl_set_error_handler_off();
	err = recording_open(opts, &w.rec);
	if (err == 0)
		err = sums_collect(w.rec, &w.sums);
	if (err == 0)
		err = choose_skid(&w);
	/* Without an instructions event there is nothing to correct. */
	if (err == 0 && opts->method != METHOD_RAW && w.rec->insn_event >= 0) {
		err = build_flow(&w);
		if (err == 0)
			err = build_problems(&w);
		if (err == 0)
			err = collect_evidence(&w, &ev);
		if (err == 0)
			err = solve(&w, ev);
	}
	if (err == 0)
		err = assemble(&w, out);
	evidence_end(ev);
	work_fini(&w);
	return err;
}
