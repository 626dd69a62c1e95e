/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From evidence to solutions: one scope at a time, on all cores, then added up by region. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "correct/evidence/evidence.h"
#include "correct/infer/full.h"
#include "correct/infer/space.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/solve/budget.h"
#include "correct/solve/solve.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"

/* Keep what the mix equations said, and how well they came out. */
static void keep_equations(struct work *w, size_t scope, const struct equations *eqs)
{
	const struct solution *sol = &w->scope_solutions[scope];
	struct equations_shown *shown = &w->equations[scope];

	shown->v = mem_calloc(eqs->n + 1, sizeof(*shown->v));
	for (size_t i = 0; i < eqs->n; i++) {
		const struct equation *eq = &eqs->v[i];
		double fitted = 0;

		if (eq->kind & (PROFILE_BY_PATH | PROFILE_BY_FLOW | PROFILE_BY_TRIPS | PROFILE_BY_BORDER))
			continue;
		for (size_t e = 0; e < w->scope_problems[scope]->n_edges; e++)
			fitted += eq->w[e] * sol->edge_flow[e];
		shown->v[shown->n++] = (struct profile_equation){ .event = eq->name,
			                                          .measured = eq->value + eq->shown,
			                                          .fitted = fitted + eq->shown,
			                                          .sd = eq->sd };
	}
}

struct missed {
	double squares; /* of all totals, in units of their noise */
	double most;    /* instructions that one is missed by, and ... */
	const char *event;
};

/* called: of other code that it calls, whose instructions are taken off (eq. 3); which events these caused nobody knows. */
static struct missed missed_of(const struct equations_shown *shown, double called)
{
	struct missed m = { 0 };

	for (size_t i = 0; i < shown->n; i++) {
		const struct profile_equation *eq = &shown->v[i];
		double miss = fmax(fabs(eq->fitted - eq->measured) - called, 0);

		if (eq->sd > 0)
			m.squares += miss * miss / (eq->sd * eq->sd);
		if (miss > m.most) {
			m.most = miss;
			m.event = eq->event;
		}
	}
	return m;
}

/* Chi-square.  What the totals settled themselves is missed by less: as many degrees of freedom as totals are the most there are. */
static bool by_chance(const struct missed *m, size_t n_totals)
{
	return !n_totals || gsl_cdf_chisq_Q(m->squares, (double)n_totals) >= reason_limit_total_missed_chance;
}

int solve_judge_totals(const struct equations_shown *shown, double total, double called)
{
	struct missed m = missed_of(shown, called);

	if (!(m.most > reason_limit_total_missed_much * total) || by_chance(&m, shown->n))
		return 0;
	return sp_fail(SP_EDOMAIN, reason_text_total_missed_much, m.event, 100 * m.most / total);
}

void solve_doubt_totals(const struct equations_shown *shown, double total, struct solution *sol)
{
	struct missed m = missed_of(shown, sol->called_insn);

	if (sol->verdict == VERDICT_UNRELIABLE || !(m.most > reason_limit_total_missed * total) ||
	    by_chance(&m, shown->n))
		return;
	/* It says more than what made it weak before: no function of it is fixed. */
	solution_doubt(sol, REASON_OF(total_missed), shown->n, m.event, 100 * m.most / total);
	sol->contradicted = true;
}

static const char would_show[] = "; branch records (-b) or bursts (--bursts) would show what of it ran";

int solve_judge_size(const struct problem *p, const bool *usable, bool stacks)
{
	size_t n_free, n_edges = 0, max = stacks ? EFFORT_FREE_STACKS : EFFORT_FREE;
	double n = p->insn_per_sample > 0 ? p->total_insn / p->insn_per_sample : 0;

	space_size(p, usable, &n_free);
	for (size_t e = 0; e < p->n_edges; e++)
		n_edges += !usable || usable[e];
	if (n_free > max || n_edges > EFFORT_SOLVED_EDGES || p->n_edges * n_free > EFFORT_FREE_EDGES)
		return sp_fail(SP_EDOMAIN, reason_text_too_large, p->n_blocks, n_free,
		               stacks ? "" : would_show);
	/* With more free flows than samples it is not worth the time. */
	if (n < reason_limit_few_for_flows * (double)n_free)
		return sp_fail(SP_EDOMAIN, reason_text_few_for_flows, n, p->n_blocks, n_free);
	return 0;
}

/* Told before anything is worked out of it. */
static int judge_trimmed(const struct flow_region *r, bool stacks)
{
	if (!r->n_untrimmed)
		return 0;
	return sp_fail(SP_EDOMAIN, reason_text_too_large_to_look, r->n_untrimmed, r->n_blocks,
	               stacks ? "" : would_show);
}

static int solve_full(struct work *w, struct evidence *ev, size_t s, struct budget_cut *cut,
                      unsigned long seed)
{
	struct problem *p = w->scope_problems[s];
	struct equations eqs = { 0 };
	struct space *space = NULL;
	int err = budget_cut(w, s, cut);
	const bool *usable = cut->usable;

	if (err == 0)
		err = solve_judge_size(p, usable, w->sums.paths);
	if (err == 0) {
		space = space_new(p, usable);
		err = evidence_equations(ev, s, space, &eqs);
	}
	if (err == 0)
		err = method_full(p, space, cut->flow, &eqs, seed, &w->scope_solutions[s]);
	if (err == 0) {
		w->scope_solutions[s].n_unseen = cut->n_unseen;
		w->scope_solutions[s].untaken_insn = p->untaken_insn;
		w->scope_solutions[s].called_insn = p->called_share / (1 - p->called_share) * p->total_insn;
		keep_equations(w, s, &eqs);
	}
	if (err == 0)
		err = solve_judge_totals(&w->equations[s], p->total_insn, w->scope_solutions[s].called_insn);
	if (err == 0 && p->total_insn > 0) {
		/* Some of the total may be of code that is not solved with it, or another scope's. */
		double foreign = p->unseen_share + model->guess * p->border_share,
		       sd = hypot(p->total_sd, foreign * p->total_insn);

		w->scope_solutions[s].total_sd = sd;
		solution_spread(&w->scope_solutions[s], p->n_blocks, sd / p->total_insn, seed);
	}
	if (err == 0)
		path_spread_paces(ev, s, seed, &w->scope_solutions[s]);
	equations_fini(&eqs);
	space_free(space);
	budget_cut_fini(cut);
	return err;
}

bool solve_doubt_few_bursts(const struct problem *p, struct solution *sol)
{
	size_t out = 0;

	if (p->n_bursts >= model->few || p->n_edges > p->n_blocks)
		return false;
	for (size_t b = 0; b < p->n_blocks; b++) {
		const struct flow_block *block = &p->graph->blocks[p->blocks[b].graph_block];

		for (uint32_t e = block->out0; e < block->out0 + block->n_out; e++)
			out += p->graph->edges[e].kind < FLOW_CALL;
	}
	for (size_t e = 0; e < p->n_edges; e++)
		out -= p->edges[e].kind < FLOW_CALL;
	if (out <= 1)
		return false;
	solution_doubt(sol, REASON_OF(few_bursts), p->n_bursts, out);
	return true;
}

/* A region that was hardly sampled can't be known better than its samples say. */
static bool worth_solving(const struct problem *p, struct solution *sol)
{
	double n = p->insn_per_sample > 0 ? p->total_insn / p->insn_per_sample : 0;
	size_t n_free = p->n_edges + 1 > p->n_blocks ? p->n_edges + 1 - p->n_blocks : 0;

	if (n >= (n_free <= 1 ? reason_limit_few_samples_of_one_flow : reason_limit_few_samples))
		return true;
	solution_doubt(sol, REASON_OF(few_samples), n, p->n_blocks);
	return false;
}

/*
 * Samples that come about as fast as they skid: how many are missing hangs on the pace of the code they should have come from,
 * which is what they were to tell.
 */
static bool comes_too_fast(const struct problem *p, struct solution *sol)
{
	if (p->hidden <= reason_limit_too_fast)
		return false;
	solution_doubt(sol, REASON_OF(too_fast), 1 + 1 / p->hidden);
	return true;
}

static int solve_one(struct work *w, struct evidence *ev, size_t s, struct budget_cut *cut)
{
	struct solution *sol = &w->scope_solutions[s];
	const bool by_bursts = w->regions_ran && w->sums.n_bursts == w->sums.n_stacks;
	int err;

	err = judge_trimmed(w->scopes.v[s].region, w->sums.paths);
	if (err < 0)
		return err;
	if (!worth_solving(w->scope_problems[s], sol) ||
	    (by_bursts && solve_doubt_few_bursts(w->scope_problems[s], sol)) ||
	    (!w->sums.paths && comes_too_fast(w->scope_problems[s], sol)))
		return 0;
	sp_debug("scope %zu: %zu blocks, %zu edges, %.3g instructions", s, w->scope_problems[s]->n_blocks,
	         w->scope_problems[s]->n_edges, w->scope_problems[s]->total_insn);
	return solve_full(w, ev, s, cut, w->opts->seed + s);
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

void solve_doubt_leak(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (p->unseen_share <= reason_limit_leak || sol->verdict > VERDICT_WEAK)
		return;
	solution_doubt(sol, REASON_OF(leak), 100 * p->unseen_share, more_paths(w));
	sol->contradicted = true;
}

void solve_doubt_off_the_flow(const struct problem *p, struct solution *sol)
{
	double all = 0, off = 0;

	for (size_t b = 0; b < p->n_blocks; b++) {
		const double heat = problem_heat(p, &p->blocks[b]);

		all += heat;
		off += sol->n_draws && !(solution_mean(sol, p->n_blocks, b) > 0) ? heat : 0;
	}
	if (off > reason_limit_off_the_flow * all && sol->verdict != VERDICT_UNRELIABLE)
		solution_doubt(sol, REASON_OF(off_the_flow), 100 * off / all);
}

/* Calls and returns of a library that several programs use make one flow of theirs, which is none. */
static void judge_programs(const struct work *w, const struct problem *p, struct solution *sol)
{
	struct solution doubted = { 0 };

	if (sol->verdict == VERDICT_UNRELIABLE || !solve_doubt_programs(w, p, &doubted))
		return;
	solution_fini(sol);
	solution_doubt(sol, doubted.verdict, "%s", doubted.why);
}

/*
 * A flow that was found within code that is not all known.  Stacks that hardly ever lead out of it, but over calls, know where
 * it goes.
 */
static void judge_flow(const struct work *w, const struct flow_region *reg, const struct problem *p,
                       struct solution *sol)
{
	bool explained = p->called_share > 0 && p->broken_share <= reason_limit_unexplained;

	if (sol->verdict == VERDICT_UNRELIABLE)
		return;
	if (reg->unknown_target && reg->unknown_weight > reason_limit_unknown_target * reg->weight &&
	    !explained) {
		if (w->sums.paths)
			solution_doubt(sol, REASON_OF(unknown_target_on_record));
		else
			solution_doubt(sol, REASON_OF(unknown_target));
		sol->contradicted = true;
	} else if (reg->undecoded && reg->undecoded_weight > reason_limit_undecoded * reg->weight) {
		solution_doubt(sol, REASON_OF(undecoded));
	}
}

/* What was taken for cold has too large a part in the flow that was found without it. */
static void judge_cold_calls(const struct work *w, const struct problem *p, struct solution *sol)
{
	double insn = 0;

	for (size_t e = 0; sol->verdict == VERDICT_OK && e < p->n_edges; e++)
		insn += sol->edge_flow[e] * p->graph->edges[p->edges[e].graph_edge].cut_insn;
	if (insn <= reason_limit_cold_calls * p->total_insn)
		return;
	solution_doubt(sol, REASON_OF(cold_calls), insn, p->total_insn, more_paths(w));
}

void solve_doubt_stacks(const struct problem *p, struct solution *sol)
{
	if (p->broken_share <= reason_limit_broken_stacks || sol->verdict > VERDICT_WEAK)
		return;
	/*
	 * Averages follow a stack through any code, and are better where most do not go on in the scope's, but not than totals that
	 * were counted, or that cycles between branches tell.
	 */
	if (p->relative && !(p->pace > 0) && p->broken_share > reason_limit_mostly_broken) {
		solution_doubt(sol, VERDICT_UNRELIABLE, reason_text_broken_stacks, 100 * p->broken_share);
		return;
	}
	solution_doubt(sol, REASON_OF(broken_stacks), 100 * p->broken_share);
	sol->contradicted = true;
}

/* Regions of what bursts show: the rest of the program may be called from them, and no function is fixed. */
static void judge_shown(const struct work *w, struct solution *sol)
{
	if (!w->regions_ran || w->ran_share >= 1 - reason_limit_unshown || sol->verdict > VERDICT_WEAK)
		return;
	solution_doubt(sol, REASON_OF(unshown), 100 * w->ran_share);
	sol->contradicted = true;
}

/* Precise samples are seen where they were caused, whatever is not known of the flow: but for a shadow nothing is better. */
static void stay_precise(const struct work *w, const struct problem *p, struct solution *sol)
{
	char why[sizeof(sol->why)];
	bool solved = sol->verdict != VERDICT_UNRELIABLE && sol->n_draws;

	if (w->skid_source != SKID_PRECISE || !w->rec->insn_precise || w->sums.paths ||
	    (solved && (sol->n_rank >= sol->n_free || solve_is_shadowed(p, sol))))
		return;
	memcpy(why, sol->why, sizeof(why));
	solution_fini(sol);
	if (solved)
		solution_doubt(sol, REASON_OF(no_shadow));
	else
		solution_doubt(sol, VERDICT_RAW, "%s", why);
}

/*
 * Where time goes tells flows as far as blocks cost alike (eq. 16): a skid spreads it over neighbours, and precise samples put all
 * of a wait on one block.
 */
static void judge_time(const struct work *w, struct solution *sol)
{
	const uint8_t others = PROFILE_BY_MIX | PROFILE_BY_PATH;

	if (w->rec->cyc_precise == SEEN_LATER || w->rec->insn_precise != SEEN_LATER || w->sums.paths ||
	    (sol->evidence & others) || sol->n_rank >= sol->n_free)
		return;
	solution_fini(sol);
	solution_doubt(sol, REASON_OF(time_alone_precise));
}

/* Stacks that are there, and of which nothing is left: they were believed less and less, for they contradict the totals. */
static void judge_stacks(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (!w->sums.paths || sol->verdict != VERDICT_OK || (sol->evidence & PROFILE_BY_PATH) ||
	    sol->n_rank >= sol->n_free)
		return;
	solution_doubt(sol, REASON_OF(unheard_stacks), sol->n_free - sol->n_rank, sol->n_free);
	/* Where nothing was counted either, all that is left is a guess. */
	sol->contradicted |= p->relative;
}

/* Where nothing was counted, code that threads begin with is told by bursts of it, or not at all. */
static void judge_young(const struct problem *p, struct solution *sol)
{
	if (!(p->young_share > reason_limit_young) || sol->verdict > VERDICT_WEAK)
		return;
	solution_doubt(sol, REASON_OF(young), 100 * p->young_share);
}

void solve_doubt_once(struct solution *sol)
{
	if (sol->once_share > reason_limit_run_once && sol->verdict <= VERDICT_WEAK)
		solution_doubt(sol, REASON_OF(run_once), 100 * sol->once_share);
}

/* Where time is all that was sampled, what is missed of it may be of any code. */
static void judge_ended(const struct work *w, struct solution *sol)
{
	double share = w->rec->relative ? w->sums.events[w->rec->cyc_event].ended : 0;

	if (sol->verdict > VERDICT_WEAK)
		return;
	if (share > reason_limit_ended_much) {
		solution_doubt(sol, REASON_OF(ended_much), 100 * share);
	} else if (share > reason_limit_ended) {
		solution_doubt(sol, REASON_OF(ended), 100 * share);
		sol->contradicted = true;
	}
}

/* Records whose moments lean to slow code, and nothing that holds against them: they may be further off than their scatter says. */
static void judge_moments(const struct work *w, struct solution *sol)
{
	if (!(sol->evidence & PROFILE_BY_PATH) || (sol->evidence & PROFILE_BY_MIX) || w->sums.branch_cycles ||
	    w->sums.n_bursts || sol->verdict > VERDICT_WEAK)
		return;
	solution_doubt(sol, REASON_OF(moments_lean));
	sol->contradicted = true;
}

static void judge_total(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (!p->relative || !(w->pace > 0) || w->pace_timed || sol->verdict > VERDICT_WEAK)
		return;
	solution_doubt(sol, REASON_OF(total_by_records));
	sol->contradicted = true;
}

/* Where no scope has a pace none is lent: shares are told, and no instructions. */
static void judge_lent(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (w->pace_timed && w->pace > 0 && p->relative && !(p->pace > 0) && sol->verdict <= VERDICT_WEAK)
		solution_doubt(sol, REASON_OF(pace_lent));
}

/* Bursts that begin where time is spent, and end before the program goes on to the next loop, tell time only. */
static void judge_stages(const struct work *w, const struct problem *p, struct solution *sol)
{
	if (!p->relative || (p->pace > 0 && !w->pace_timed) || p->stay_share <= reason_limit_apart_in_time ||
	    sol->verdict > VERDICT_WEAK)
		return;
	if (sol->told_share >= 1 - reason_limit_apart_told) {
		solution_doubt(sol, REASON_OF(apart_told));
		sol->contradicted = true;
	} else if (sol->open_share > reason_limit_apart_open || !sol->doubt) {
		solution_doubt(sol, REASON_OF(apart_in_time));
	} else if (sol->open_share > 0) {
		solution_doubt(sol, REASON_OF(apart_in_part));
	}
}

/*
 * Of code just behind system calls neither records nor bursts tell: an interrupt comes before the call or a skid behind it, and
 * bursts end there.  Events counted beside them do, of what they settle.  Averages hold what records do: they are judged alike.
 */
static void judge_behind_calls(const struct work *w, size_t r, struct solution *sol)
{
	double cyc = 0, entry_cyc = 0, unseen_cyc = 0, n_bursts = 0, n_cut = 0;

	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct problem *p = w->scope_problems[s];
		uint8_t told_by = w->scopes.v[s].whole || sol->averaged ? sol->evidence
		                                                        : w->scope_solutions[s].evidence;

		if (w->scopes.v[s].parent != r)
			continue;
		cyc += p->total_cyc;
		entry_cyc += p->entry_cyc;
		n_bursts += p->n_bursts;
		if (told_by & PROFILE_BY_MIX)
			continue;
		unseen_cyc += p->entry_cyc;
		n_cut += p->n_cut;
	}
	sol->misled = entry_cyc > reason_limit_behind_calls_much * cyc;
	if (sol->verdict <= VERDICT_WEAK && unseen_cyc > reason_limit_behind_calls_much * cyc) {
		solution_doubt(sol, REASON_OF(behind_calls_much), 100 * unseen_cyc / cyc);
	} else if (sol->verdict <= VERDICT_WEAK && unseen_cyc > reason_limit_behind_calls * cyc) {
		solution_doubt(sol, REASON_OF(behind_calls), 100 * unseen_cyc / cyc);
		sol->contradicted = true;
	}
	/*
	 * Of fewer bursts nothing is made, and averages are of records where there are any.  Beside counts a burst may end with its
	 * thread, behind which nothing runs.
	 */
	if (sol->verdict <= VERDICT_WEAK && !sol->averaged && n_bursts >= model->few &&
	    (w->rec->relative || unseen_cyc > reason_limit_behind_calls * cyc) &&
	    n_cut > reason_limit_cut_bursts * n_bursts)
		solution_doubt(sol, REASON_OF(cut_bursts), 100 * n_cut / n_bursts);
	if (sol->averaged)
		judge_ended(w, sol);
}

void solve_doubt_behind_calls(struct work *w)
{
	for (size_t r = 0; r < w->regions->n; r++)
		judge_behind_calls(w, r, &w->solutions[r]);
}

/* A region that can't be solved keeps its raw counts and says so; only lack of memory ends the run. */
static void solve_or_say(struct work *w, struct evidence *ev, size_t s, struct budget_cut *cut)
{
	struct solution *sol = &w->scope_solutions[s];
	int err = solve_one(w, ev, s, cut);

	if (err == 0) {
		judge_programs(w, w->scope_problems[s], sol);
		solve_doubt_leak(w, w->scope_problems[s], sol);
		solve_doubt_off_the_flow(w->scope_problems[s], sol);
		judge_flow(w, w->scopes.v[s].region, w->scope_problems[s], sol);
		judge_cold_calls(w, w->scope_problems[s], sol);
		solve_doubt_stacks(w->scope_problems[s], sol);
		judge_shown(w, sol);
		solve_doubt_totals(&w->equations[s], w->scope_problems[s]->total_insn, sol);
		judge_stacks(w, w->scope_problems[s], sol);
		judge_stages(w, w->scope_problems[s], sol);
		judge_lent(w, w->scope_problems[s], sol);
		solve_doubt_once(sol);
		judge_young(w->scope_problems[s], sol);
		judge_ended(w, sol);
		judge_moments(w, sol);
		judge_total(w, w->scope_problems[s], sol);
		judge_time(w, sol);
	}
	if (err == -SP_ENOMEM)
		mem_end(sp_error_text());
	if (err < 0) {
		solution_fini(sol);
		solution_doubt(sol, VERDICT_UNRELIABLE, "%s", sp_error_text());
	}
	stay_precise(w, w->scope_problems[s], sol);
}

/* Branch records still tell averages of it; without them raw counts are what there is. */
static void pass_over(struct work *w, size_t s)
{
	const struct problem *p = w->scope_problems[s];

	solution_doubt(&w->scope_solutions[s], REASON_OF(no_budget), w->opts->budget_s, p->n_blocks);
	if (!w->sums.paths)
		w->scope_solutions[s].verdict = VERDICT_RAW;
}

/* Regions are independent: as many workers as cores take the next one each. */
struct crew {
	struct work *w;
	struct evidence *ev;
	struct budget budget;
	atomic_size_t next, done;
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

		if (crew->budget.reached[s])
			solve_or_say(crew->w, crew->ev, s, &crew->budget.cuts[s]);
		else
			pass_over(crew->w, s);
		atomic_fetch_add(&crew->done, 1);
	}
	return NULL;
}

void solve_scopes(struct work *w, struct evidence *ev)
{
	struct crew crew = {
		.w = w, .ev = ev, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER
	};
	pthread_t threads[EFFORT_WORKERS], ticking;
	bool ticks;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0;

	budget_plan(w, &crew.budget);
	ticks = pthread_create(&ticking, NULL, ticker, &crew) == 0;
	while (n + 1 < (size_t)cores && n < EFFORT_WORKERS && n + 1 < w->scopes.n)
		if (pthread_create(&threads[n], NULL, worker, &crew) != 0)
			break;
		else
			n++;
	worker(&crew);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (ticks)
		stop_ticker(&crew, ticking);
	budget_fini(&crew.budget, w->scopes.n);
	sp_progress_end();
}
