/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From evidence to solutions: one scope at a time, on all cores, then added up by region. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "correct/budget.h"
#include "correct/cold.h"
#include "correct/evidence/evidence.h"
#include "correct/infer/full.h"
#include "correct/infer/space.h"
#include "correct/keep_raw.h"
#include "correct/work.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"

/* Foreign code in a scope's intervals past which its totals can't be trusted. */
static const double max_unseen_share = 0.02;
/* Share of its samples in functions that go where we don't know, past which a scope's flow is a guess. */
static const double max_unknown = 0.01;
/* Share of its instructions that ran, at the least, in large functions without samples, past which a scope is not known. */
static const double max_left_out = 0.02;

/*
 * Samples that its skid hides (eq. 52), for one that there is, past which a scope without stacks is not solved: from there on
 * their number differs from block to block by more than the tenth that eq. 15 takes skids for.
 */
static const double max_hidden = 0.1;

/* Share of its stacks that lead out of its flow, past which a scope is weak. */
static const double max_broken_share = 0.1;
/* The same, past which jumps and calls of unknown targets are not those that stacks lead back from. */
static const double max_unexplained = 0.005;

/* Share of a scope's bursts that may stay in one of its loops, where nothing else tells how much each of these runs. */
static const double most_staying = 0.5;

/* What the draws may not miss a counted total by: a share of the region's instructions that is so many times the total's noise, too. */
static const double max_total_miss = 0.02, max_total_miss_sd = 10;

/*
 * The same, past which no count of the scope is fixed: that share can put a function with a twentieth of the scope's
 * instructions off by the 5% that fixed counts keep (profile_judge), and by chance it is missed once in two million times.
 */
static const double doubtful_miss = 0.0025, doubtful_miss_sd = 5;

/*
 * The same, past which none of its counts is to be used: an instruction is at most one of each event, so at least that share of
 * the instructions stands at the wrong ones, and fixed counts are within 5%.
 */
static const double wrong_miss = 0.05;

/*
 * Free flows and edges that carry any that a region may have, and all its edges times those flows: 160 MB.  With
 * stacks there are as many equations as flows.
 */
enum { MAX_FREE = 1300, MAX_FREE_STACKS = 800, MAX_EDGES = 10000, MAX_CELLS = 20000000 };

enum { MAX_WORKERS = 64, MIN_SCOPE_SAMPLES = 30, MIN_TOTAL_SAMPLES = 5 };

/* Keep what the mix equations said, and how well they came out. */
static int keep_equations(struct work *w, size_t scope, const struct equations *eqs)
{
	const struct solution *sol = &w->scope_solutions[scope];
	struct equations_shown *shown = &w->equations[scope];

	shown->v = calloc(eqs->n + 1, sizeof(*shown->v));
	if (!shown->v)
		return sp_fail(SP_ENOMEM, "out of memory");
	for (size_t i = 0; i < eqs->n; i++) {
		const struct equation *eq = &eqs->v[i];
		double fitted = 0;

		if (eq->kind & (PROFILE_BY_PATH | PROFILE_BY_FLOW | PROFILE_BY_TRIPS | PROFILE_BY_PRECISE))
			continue;
		for (size_t e = 0; e < w->scope_problems[scope]->n_edges; e++)
			fitted += eq->w[e] * sol->edge_flow[e];
		shown->v[shown->n++] = (struct profile_equation){ eq->name, eq->value + eq->shown,
			                                          fitted + eq->shown, eq->sd };
	}
	return 0;
}

int solve_judge_totals(const struct equations_shown *shown, double total)
{
	for (size_t i = 0; i < shown->n; i++) {
		double miss = fabs(shown->v[i].fitted - shown->v[i].measured);

		if (miss > max_total_miss * total && miss > max_total_miss_sd * shown->v[i].sd)
			return sp_fail(
			        SP_EDOMAIN,
			        "the draws miss the %s counted by %.1f%% of its instructions: raw counts",
			        shown->v[i].event, 100 * miss / total);
	}
	return 0;
}

void solve_doubt_totals(const struct equations_shown *shown, double total, struct solution *sol)
{
	for (size_t i = 0; i < shown->n && sol->verdict != VERDICT_UNRELIABLE; i++) {
		const struct profile_equation *eq = &shown->v[i];
		/* Which events other code caused, whose instructions are taken off (eq. 45), nobody knows. */
		double miss = fmax(fabs(eq->fitted - eq->measured) - sol->called_insn, 0);
		enum problem_verdict verdict = miss > wrong_miss * total ? VERDICT_UNRELIABLE : VERDICT_WEAK;

		if (!(miss > doubtful_miss * total) || !(miss > doubtful_miss_sd * eq->sd))
			continue;
		/* It says more than what made it weak before: no function of it is fixed. */
		if (!sol->contradicted || verdict == VERDICT_UNRELIABLE)
			solution_doubt(
			        sol, verdict,
			        "what is known together misses the %s counted by %.0f standard deviations, "
			        "%.1f%% of the instructions: some of it is wrong",
			        eq->event, miss / eq->sd, 100 * miss / total);
		sol->contradicted = true;
	}
}

int solve_judge_size(const struct problem *p, const bool *usable, bool stacks)
{
	size_t n_free, n_edges = 0, max = stacks ? MAX_FREE_STACKS : MAX_FREE;
	int err = space_size(p, usable, &n_free);

	for (size_t e = 0; e < p->n_edges; e++)
		n_edges += !usable || usable[e];
	if (err < 0 || (n_free <= max && n_edges <= MAX_EDGES && p->n_edges * n_free <= MAX_CELLS))
		return err;
	return sp_fail(SP_EDOMAIN, "too large to be solved: %zu blocks with %zu free flows%s", p->n_blocks,
	               n_free,
	               stacks ? "" : "; branch records (-b) or bursts (--bursts) would show what of it ran");
}

/* eq. 49.  What stacks say is of the way itself, not of where samples were seen. */
static int keep_raw(const struct problem *p, bool stacks, struct solution *sol)
{
	int raw = stacks || !p->precise || !sol->n_draws ? 0 : keep_raw_judge(p, sol);

	if (raw <= 0)
		return raw;
	solution_fini(sol);
	solution_doubt(sol, VERDICT_RAW,
	               "its precise samples by themselves tell more than what is known of its flow: "
	               "a longer recording, or branch records (-b), would settle that");
	return 0;
}

/* A region with more free flows than samples is not worth the time. */
static int judge_samples(const struct problem *p, const bool *usable)
{
	double n = p->insn_per_sample > 0 ? p->total_insn / p->insn_per_sample : 0;
	size_t n_free;
	int err = space_size(p, usable, &n_free);

	if (err < 0 || n >= (double)n_free / 2)
		return err;
	return sp_fail(
	        SP_EDOMAIN,
	        "too few samples (%.0f) for a region of %zu blocks with %zu free flows: record longer, "
	        "or with a smaller period",
	        n, p->n_blocks, n_free);
}

/* Told before anything is worked out of it. */
static int judge_trimmed(const struct flow_region *r)
{
	if (!r->n_untrimmed)
		return 0;
	return sp_fail(SP_EDOMAIN,
	               "too large to be solved: %zu blocks, of which %zu have samples or are on record",
	               r->n_untrimmed, r->n_blocks);
}

int solve_cut(const struct work *w, struct problem *p, bool *usable, double *flow, uint32_t *n_unseen)
{
	return cold_cut(p, w->regions_ran, w->ran.block, usable, flow, n_unseen);
}

static int solve_full(struct work *w, struct evidence *ev, size_t s, const struct infer_opts *opts)
{
	struct problem *p = w->scope_problems[s];
	bool *usable = calloc(p->n_edges + 1, sizeof(*usable));
	double *f = calloc(p->n_edges + 1, sizeof(*f));
	struct equations eqs = { 0 };
	struct space *space = NULL;
	uint32_t n_unseen = 0;
	int err = usable && f ? solve_cut(w, p, usable, f, &n_unseen) : sp_fail(SP_ENOMEM, "out of memory");

	if (err == 0)
		err = solve_judge_size(p, usable, w->sums.paths);
	if (err == 0)
		err = judge_samples(p, usable);
	if (err == 0)
		err = space_new(p, usable, &space);
	if (err == 0)
		err = evidence_equations(ev, s, space, &eqs);
	if (err == 0)
		err = method_full(p, space, f, &eqs, opts, &w->scope_solutions[s]);
	if (err == 0) {
		w->scope_solutions[s].n_unseen = n_unseen;
		w->scope_solutions[s].called_insn = p->called_share / (1 - p->called_share) * p->total_insn;
		err = keep_equations(w, s, &eqs);
	}
	if (err == 0)
		err = solve_judge_totals(&w->equations[s], p->total_insn);
	if (err == 0 && p->total_insn > 0) {
		/* Some of the total may be of code that is not solved with it. */
		double sd = hypot(p->total_sd, p->unseen_share * p->total_insn + p->left_out_insn);

		w->scope_solutions[s].total_sd = sd;
		err = solution_spread(&w->scope_solutions[s], p->n_blocks, sd / p->total_insn, opts->seed);
	}
	if (err == 0)
		err = keep_raw(p, w->sums.paths, &w->scope_solutions[s]);
	if (err == 0)
		err = cold_keep_raw(p, usable, &w->scope_solutions[s]);
	equations_fini(&eqs);
	space_free(space);
	free(usable);
	free(f);
	return err;
}

/* A region that was hardly sampled can't be known better than its samples say. */
static bool worth_solving(const struct problem *p, char *why, size_t size)
{
	double n = p->insn_per_sample > 0 ? p->total_insn / p->insn_per_sample : 0;
	size_t n_free = p->n_edges + 1 > p->n_blocks ? p->n_edges + 1 - p->n_blocks : 0;

	/* One free flow needs no more than the total. */
	if (n >= (n_free <= 1 ? MIN_TOTAL_SAMPLES : MIN_SCOPE_SAMPLES))
		return true;
	snprintf(why, size,
	         "too few samples (%.0f) for a region of %zu blocks: record longer, or with a smaller period",
	         n, p->n_blocks);
	return false;
}

/*
 * Samples that come about as fast as they skid: how many are missing hangs on the pace of the code they should have come from,
 * which is what they were to tell.
 */
static bool comes_too_fast(const struct problem *p, char *why, size_t size)
{
	if (p->hidden <= max_hidden)
		return false;
	snprintf(why, size,
	         "its samples come about as fast as they skid, so that one interrupt serves several: one in "
	         "%.0f or more is missing, most where code is fast: record with a larger period (-c)",
	         1 + 1 / p->hidden);
	return true;
}

static int solve_one(struct work *w, struct evidence *ev, size_t s)
{
	struct infer_opts opts = INFER_OPTS_DEFAULT;
	struct solution *sol = &w->scope_solutions[s];
	int err = 0;

	opts.seed = w->opts->seed + s;
	err = judge_trimmed(w->scopes.v[s].region);
	if (err < 0)
		return err;
	if (!worth_solving(w->scope_problems[s], sol->why, sizeof(sol->why)) ||
	    (!w->sums.paths && comes_too_fast(w->scope_problems[s], sol->why, sizeof(sol->why)))) {
		sol->verdict = VERDICT_UNRELIABLE;
		return 0;
	}
	sp_debug("scope %zu: %zu blocks, %zu edges, %.3g instructions", s, w->scope_problems[s]->n_blocks,
	         w->scope_problems[s]->n_edges, w->scope_problems[s]->total_insn);
	/* Only the full method leaves code out, and knows then what remains. */
	if (w->opts->method != METHOD_FULL)
		err = judge_samples(w->scope_problems[s], NULL);
	if (err < 0)
		return err;
	switch (w->opts->method) {
	case METHOD_LOOPS:
		return method_loops(w->scope_problems[s], &opts, sol);
	case METHOD_FLOW:
		return method_flow(w->scope_problems[s], &opts, sol);
	case METHOD_PATH:
		return method_path(ev, s, &opts, sol);
	default:
		return solve_full(w, ev, s, &opts);
	}
}

/* What would show more of the ways through the code: nothing that the recording has, or its source can't take. */
static const char *more_paths(const struct work *w)
{
	if (w->sums.branch_records)
		return "record longer, or with a smaller period (-c), for more branch records";
	if (w->rec->relative)
		return "record longer, or with a larger --burst-budget, for more bursts";
	return w->sums.n_bursts
	               ? "branch records (-b) or more bursts (--burst-budget) would show how it is called"
	               : "branch records (-b) or bursts (--bursts) would show how it is called";
}

/* Code outside that runs in between is in the region's totals: they are not its own. */
static void judge_leak(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (p->unseen_share <= max_unseen_share || sol->verdict == VERDICT_UNRELIABLE)
		return;
	/* Wrong totals make wrong counts: the raw ones are better than those. */
	solution_fini(sol);
	solution_doubt(sol, VERDICT_UNRELIABLE,
	               "about %.0f%% of the time between its samples went to code not known to belong to its "
	               "loop: %s",
	               100 * p->unseen_share, more_paths(w));
}

/*
 * A flow that was found within code that is not all known.  Stacks that hardly ever lead out of it, but over calls, know where
 * it goes.
 */
static void judge_flow(const struct work *w, const struct flow_region *reg, const struct problem *p,
                       struct solution *sol)
{
	const char *why = NULL;
	bool explained = p->called_share > 0 && p->broken_share <= max_unexplained;

	if (reg->unknown_target && reg->unknown_weight > max_unknown * reg->weight && !explained)
		why = w->sums.paths
		              ? "its region jumps or calls to where neither its code nor the branch records "
		                "tell: record longer"
		              : "its region jumps or calls to where we could not tell: branch records (-b) "
		                "or bursts (--bursts) "
		                "would show it";
	else if (reg->undecoded && reg->undecoded_weight > max_unknown * reg->weight)
		why = "its region holds instructions that could not be decoded";
	if (!why || sol->verdict == VERDICT_UNRELIABLE)
		return;
	solution_doubt(sol, VERDICT_UNRELIABLE, "%s", why);
}

/* What was taken for cold has too large a part in the flow that was found without it. */
static void judge_left_out(const struct problem *p, struct solution *sol)
{
	double insn = 0;

	for (size_t e = 0; sol->verdict == VERDICT_OK && e < p->n_edges; e++)
		insn += sol->edge_flow[e] * p->graph->edges[p->edges[e].graph_edge].left_out;
	if (insn <= max_left_out * p->total_insn)
		return;
	solution_doubt(
	        sol, VERDICT_UNRELIABLE,
	        "it calls large functions that have no samples, which were left out though they may run "
	        "%.3g instructions "
	        "of its %.3g: record with -b, or with --bursts where there are no branch records",
	        insn, p->total_insn);
}

/* Stacks end where they lead out of the flow: what they miss is what comes after that. */
static void judge_broken(const struct problem *p, struct solution *sol)
{
	if (p->broken_share <= max_broken_share || sol->verdict != VERDICT_OK)
		return;
	solution_doubt(sol, VERDICT_WEAK,
	               "%.0f%% of its branch records or bursts lead through code that is not part of it, and "
	               "say little "
	               "of what comes behind",
	               100 * p->broken_share);
}

/* Precise samples are seen where they were caused, whatever is not known of the flow: nothing is better than they are by themselves. */
static void stay_precise(const struct problem *p, bool stacks, struct solution *sol)
{
	char why[sizeof(sol->why)];

	if (!p->precise || stacks || sol->verdict != VERDICT_UNRELIABLE)
		return;
	memcpy(why, sol->why, sizeof(why));
	solution_fini(sol);
	solution_doubt(sol, VERDICT_RAW, "%.180s", why);
}

/* Stacks that are there, and of which nothing is left: they were believed less and less, for they contradict the totals. */
static void judge_stacks(const struct work *w, struct solution *sol)
{
	if (!w->sums.paths || sol->verdict != VERDICT_OK || (sol->evidence & PROFILE_BY_PATH) ||
	    sol->n_rank >= sol->n_free)
		return;
	solution_doubt(
	        sol, VERDICT_WEAK,
	        "nothing speaks for %u of its %u free flows: its branch records or bursts contradict the "
	        "totals counted, or are too few",
	        sol->n_free - sol->n_rank, sol->n_free);
}

/* Bursts that begin where time is spent, and end before the program goes on to the next loop, tell time only. */
static void judge_stages(const struct problem *p, struct solution *sol)
{
	if (!p->relative || p->pace > 0 || p->stay_share <= most_staying ||
	    sol->verdict == VERDICT_UNRELIABLE)
		return;
	solution_doubt(sol, VERDICT_UNRELIABLE, "%s", profile_apart_in_time);
}

/* A region that can't be solved keeps its raw counts and says so; only lack of memory ends the run. */
static int solve_or_say(struct work *w, struct evidence *ev, size_t s)
{
	struct solution *sol = &w->scope_solutions[s];
	int err = solve_one(w, ev, s);

	if (err == 0) {
		judge_leak(w, w->scope_problems[s], sol);
		judge_flow(w, w->scopes.v[s].region, w->scope_problems[s], sol);
		judge_left_out(w->scope_problems[s], sol);
		judge_broken(w->scope_problems[s], sol);
		solve_doubt_totals(&w->equations[s], w->scope_problems[s]->total_insn, sol);
		judge_stacks(w, sol);
		judge_stages(w->scope_problems[s], sol);
	}
	if (err < 0 && err != -SP_ENOMEM) {
		solution_fini(sol);
		solution_doubt(sol, VERDICT_UNRELIABLE, "%.190s", sp_error_text());
		err = 0;
	}
	if (err == 0)
		stay_precise(w->scope_problems[s], w->sums.paths, sol);
	return err;
}

/* Branch records still tell averages of it; without them raw counts are what there is. */
static void leave_out(struct work *w, size_t s)
{
	const struct problem *p = w->scope_problems[s];

	solution_doubt(&w->scope_solutions[s], w->sums.paths ? VERDICT_UNRELIABLE : VERDICT_RAW,
	               "not reached within --budget %g: a region of %zu blocks; a larger budget corrects it",
	               w->opts->budget_s, p->n_blocks);
}

/* Regions are independent: as many workers as cores take the next one each. */
struct crew {
	struct work *w;
	struct evidence *ev;
	struct budget budget;
	atomic_size_t next, done;
	atomic_int err;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over;
};

/* A large region takes minutes: progress is drawn by the clock, not only when one is done. */
static void *ticker(void *arg)
{
	struct crew *crew = arg;

	pthread_mutex_lock(&crew->lock);
	while (!crew->over) {
		struct timespec until;

		sp_progress("correcting regions", atomic_load(&crew->done), crew->w->scopes.n);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&crew->ended, &crew->lock, &until);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

static void stop_ticker(struct crew *crew, pthread_t thread)
{
	pthread_mutex_lock(&crew->lock);
	crew->over = true;
	pthread_cond_signal(&crew->ended);
	pthread_mutex_unlock(&crew->lock);
	pthread_join(thread, NULL);
}

static void *worker(void *arg)
{
	struct crew *crew = arg;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, 1)) < crew->w->scopes.n) {
		size_t s = crew->budget.order[i];
		bool reached = crew->budget.reached[s] || crew->w->opts->method != METHOD_FULL;
		int err = 0;

		if (reached)
			err = solve_or_say(crew->w, crew->ev, s);
		else
			leave_out(crew->w, s);
		if (err < 0)
			atomic_store(&crew->err, err);
		atomic_fetch_add(&crew->done, 1);
	}
	return NULL;
}

int solve_scopes(struct work *w, struct evidence *ev)
{
	struct crew crew = {
		.w = w, .ev = ev, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER
	};
	pthread_t threads[MAX_WORKERS], ticking;
	bool ticks;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0;
	int err = budget_plan(w, &crew.budget);

	if (err < 0) {
		budget_fini(&crew.budget);
		return err;
	}
	ticks = pthread_create(&ticking, NULL, ticker, &crew) == 0;
	while (n + 1 < (size_t)cores && n < MAX_WORKERS && n + 1 < w->scopes.n)
		if (pthread_create(&threads[n], NULL, worker, &crew) != 0)
			break;
		else
			n++;
	worker(&crew);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (ticks)
		stop_ticker(&crew, ticking);
	budget_fini(&crew.budget);
	sp_progress_end();
	/* The words were said in the worker's thread. */
	return crew.err ? sp_fail(SP_ENOMEM, "out of memory while correcting regions") : 0;
}
