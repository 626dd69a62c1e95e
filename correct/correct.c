/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/correct.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/divide/phase_scopes.h"
#include "correct/divide/regions.h"
#include "correct/divide/stages.h"
#include "correct/evidence/evidence.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/entry.h"
#include "correct/recording/mux_slots.h"
#include "correct/solve/budget.h"
#include "correct/solve/solve.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

/* Parts of what may be spent on telling regions apart, up to the end of the first and the second step: none takes it all. */
static const double ran_part = 0.5, scopes_part = 0.75;

static const char *const method_words[] = {
	[METHOD_FULL] = "full",
	[METHOD_RAW] = "raw",
	NULL,
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
		sp_fail(SP_EUSAGE, "'%s' is no method of correction; there are full and raw", word);
	return -1;
}

const char *correct_method_word(enum correct_method m)
{
	return method_words[m];
}

/* S: none where samples are precise, else what the file measured, what was given, or a default by CPU. */
static int choose_skid(struct work *w)
{
	bool precise = w->rec->insn_event >= 0 ? w->rec->insn_precise : w->rec->cyc_precise;
	int err = 0;

	if (precise && isnan(w->opts->skid_cyc)) {
		w->skid_source = SKID_PRECISE;
		w->skid_basis = "precise samples";
		skid_dist_constant(&w->skid, 0);
	} else if (w->sums.n_skid >= model->some && isnan(w->opts->skid_cyc)) {
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

/*
 * Precise samples of instructions that have no shadow are wrong by chance alone: by a flow 22 recordings came out worse by up to
 * .36 points, and better by .05 in the mean.  Stacks tell the way itself.
 */
static bool as_sampled(const struct work *w)
{
	bool precise = w->skid_source == SKID_PRECISE && w->rec->insn_precise == SEEN_THERE;

	return w->opts->method == METHOD_RAW || (precise && !w->sums.paths);
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
	uint32_t *local = mem_calloc(w->graph->n_blocks + 1, sizeof(*local));

	for (size_t r = 0; r < w->regions->n; r++)
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

static struct problem *new_problem(const struct work *w, const struct flow_region *region)
{
	struct problem *p = problem_new(w->graph, region);

	p->insn_per_sample = period_of(w, w->rec->insn_event);
	p->cyc_per_sample = period_of(w, w->rec->cyc_event);
	p->relative = w->rec->relative;
	p->insn_counted = w->rec->insn_counted;
	if (p->relative)
		p->insn_per_sample = p->cyc_per_sample;
	p->skid = w->skid;
	p->skid_known = w->skid_source != SKID_DEFAULT;
	return p;
}

static void build_problems(struct work *w)
{
	size_t n = w->regions->n;
	uint32_t *local;

	w->problems = mem_calloc(n + 1, sizeof(struct problem *));
	w->solutions = mem_calloc(n + 1, sizeof(*w->solutions));
	for (size_t r = 0; r < n; r++)
		w->problems[r] = new_problem(w, &w->regions->v[r]);
	local = number_blocks(w);
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
		p->total_cyc += s->cyc;
		p->total_insn += p->relative ? s->cyc : s->insn;
	}
	free(local);
}

/* The second pass: which block each sample is in, in order. */
struct placing {
	struct work *w;
	struct pairs tasks;
	VEC(struct scope_sample) samples;
	VEC(int32_t) way;
	bool too_many;
};

/* The blocks that its record's newest branches were in, or its callers: where it came from; a block once in a row. */
static void note_way(struct placing *placing, const struct recording *r, const struct pd_record *rec,
                     struct scope_sample *out)
{
	const struct pd_branch *branches = r->n_apart ? r->apart : rec->sample.branches;
	const size_t n = r->n_apart ? r->n_apart : rec->sample.n_branches;

	out->way0 = (uint32_t)placing->way.n;
	/* A burst lies ahead of its moment. */
	if (rec->event == r->burst_event || placing->way.n >= EFFORT_WAYS)
		return;
	for (size_t i = 0; i < n && i < EFFORT_WAY; i++) {
		long b =
		        recording_block(placing->w->graph, recording_place(r, rec->pid, branches[i].from_ip));

		if (out->n_way && placing->way.v[placing->way.n - 1] == b)
			continue;
		vec_add(&placing->way, (int32_t)b);
		out->n_way++;
	}
}

static void place_sample(void *arg, const struct recording *r, const struct pd_record *rec,
                         struct place place)
{
	struct placing *placing = arg;
	const struct work *w = placing->w;
	long task = pairs_must(&placing->tasks, rec->pid, rec->tid);
	long b = recording_block(w->graph, place);
	struct scope_sample sample = { .thread = (uint32_t)task };

	if (placing->samples.n >= EFFORT_PLACED) {
		placing->too_many = true;
		return;
	}
	if (b >= 0 && w->regions->of_block[b] < 0)
		b = -1;
	sample.block = (int32_t)b;
	if (b >= 0)
		note_way(placing, r, rec, &sample);
	vec_add(&placing->samples, sample);
}

static int find_scopes(struct work *w)
{
	struct placing placing = { .w = w };
	/* Samples that follow one another tell apart what was counted between them. */
	bool place = w->regions->n && !apart_unpaced(w);
	int err = place ? recording_each(w->rec, "placing samples", place_sample, &placing) : 0;

	w->effort.most = budget_blocks(w->opts->budget_s * scopes_part);

	if (err == 0 && placing.too_many)
		sp_warn("%s: more than %d samples: loops of one region are not told apart by time",
		        w->opts->input, EFFORT_PLACED);
	if (err == 0)
		scopes_find(w->graph, w->regions,
		            &(struct scope_samples){ !place || placing.too_many ? NULL : placing.samples.v,
		                                     placing.samples.n, placing.way.v },
		            &w->effort, &w->scopes);
	w->effort.most = budget_blocks(w->opts->budget_s);
	if (err == 0 && w->scopes.of_sample && !w->rec->relative)
		err = phase_scopes_split(w, placing.samples.v, placing.samples.n);
	sp_progress_end();
	sp_debug("finding regions: %ju blocks looked at of %ju", (uintmax_t)w->effort.used,
	         (uintmax_t)w->effort.most);
	if (err == 0 && flow_effort_spent(&w->effort))
		sp_note("%s: loops that run one after another were not all told apart within --budget %g",
		        w->opts->input, w->opts->budget_s);
	pairs_fini(&placing.tasks);
	vec_fini(&placing.samples);
	vec_fini(&placing.way);
	return err;
}

static void build_scope_problems(struct work *w)
{
	w->scope_problems = mem_calloc(w->scopes.n + 1, sizeof(struct problem *));
	w->scope_solutions = mem_calloc(w->scopes.n + 1, sizeof(*w->scope_solutions));
	w->equations = mem_calloc(w->scopes.n + 1, sizeof(*w->equations));
	for (size_t s = 0; s < w->scopes.n; s++) {
		const struct scope *scope = &w->scopes.v[s];

		w->scope_problems[s] = new_problem(w, scope->region);
		if (scope->n_samples)
			w->scope_problems[s]->border_share = (double)scope->n_border / scope->n_samples;
	}
}

/* The third pass: every sample is shown to the evidence. */
struct showing {
	const struct work *w;
	struct evidence *ev;
	struct stages *stages; /* NULL where instructions were counted */
	struct young *young;   /* the same, and where there are no bursts */
	struct pairs tasks, counters;
	struct mux_slots *slots;
	size_t i; /* number of the sample */
};

static int32_t scope_of(const struct work *w, size_t i, long b)
{
	if (w->scopes.of_sample)
		return w->scopes.of_sample[i];
	return b >= 0 ? w->regions->of_block[b] : -1;
}

/* What was seen where, within the scope. */
static void add_seen(const struct recording *r, const struct pd_record *rec, struct problem *p, uint32_t insn)
{
	double weight = recording_weight(r, rec);

	if (rec->event == r->insn_event) {
		p->seen_insn[insn] += weight;
		p->total_insn += weight;
	} else if (rec->event == r->cyc_event) {
		p->seen_cyc[insn] += weight;
		p->total_cyc += weight;
		p->entry_cyc += r->at_entry ? weight : 0;
		if (p->relative)
			p->total_insn += weight;
	}
}

static void show_sample(void *arg, const struct recording *r, const struct pd_record *rec, struct place place)
{
	struct showing *show = arg;
	const struct work *w = show->w;
	struct sample_seen s = { .rec = r, .record = rec, .scope = -1 };
	long task = pairs_must(&show->tasks, rec->pid, rec->tid);
	long b = recording_block(w->graph, place);
	size_t number = show->i++;
	int32_t scope = scope_of(w, number, b);

	s.thread = (uint32_t)task;
	s.counters = (uint32_t)recording_counters(r, rec, &show->counters);
	mux_slots_sample(show->slots, r, rec, s.thread, scope);
	if (scope >= 0) {
		struct problem *p = w->scope_problems[scope];
		long local = b < 0 ? -1 : problem_block_at(p, (uint32_t)b);
		long insn = local < 0 ? -1 : insn_in(p, (size_t)local, place.vaddr);

		if (insn >= 0) {
			s.scope = scope;
			s.insn = (uint32_t)insn;
			add_seen(r, rec, p, s.insn);
			if (rec->event == r->burst_event) {
				p->n_bursts++;
				p->n_cut += entry_cuts(w->rec, rec);
			}
		}
	}
	if (show->stages)
		s.stage = stages_sample(show->stages, r, rec, scope);
	if (show->young && (rec->event == r->burst_event || rec->event == r->cyc_event))
		young_sample(show->young, s.thread, s.scope, rec->event == r->burst_event);
	evidence_sample(show->ev, &s);
}

/* What ran in slots that were not counted is not in the noise that samples have by themselves. */
static void add_slots(struct work *w, struct mux_slots *slots)
{
	const struct event_sum *sum = w->rec->insn_event >= 0 ? &w->sums.events[w->rec->insn_event] : NULL;

	for (size_t s = 0; sum && s < w->scopes.n; s++) {
		struct problem *p = w->scope_problems[s];

		/*
		 * Fast code has its samples stopped, and short tasks end before their next: what ran then is not known better than
		 * to all of that.
		 */
		p->total_sd = hypot(p->total_sd, hypot(sum->throttled, sum->ended) * p->total_insn);
		/* In turns that nothing tells of it may have had a counter for as long as not. */
		p->total_sd = hypot(p->total_sd, model->guess * sum->untold * p->total_insn);
		p->total_sd = hypot(p->total_sd, mux_slots_sd(slots, s));
	}
}

static int collect_evidence(struct work *w, struct evidence **out)
{
	struct evidence_input in = { w->rec, w->graph, w->scope_problems, w->scopes.n };
	struct showing show = { .w = w };
	int err = evidence_begin(&in, out);

	if (err < 0)
		return err;
	show.ev = *out;
	show.slots = mux_slots_new(w->rec, w->rec->insn_event, w->scopes.n);
	if (w->rec->relative)
		show.stages = stages_begin(w);
	if (w->rec->relative && w->rec->burst_event >= 0)
		show.young = young_begin(w->scopes.n);
	if (err == 0)
		err = recording_each(w->rec, "collecting evidence", show_sample, &show);
	if (err == 0 && show.stages)
		stages_end(show.stages, w->scope_problems);
	stages_free(show.stages);
	if (err == 0 && show.young)
		young_end(show.young, w->scope_problems);
	young_free(show.young);
	pairs_fini(&show.tasks);
	pairs_fini(&show.counters);
	if (err == 0) {
		evidence_finish(*out);
		add_slots(w, show.slots);
	}
	mux_slots_free(show.slots);
	return err;
}

static void drop_regions(struct work *w)
{
	for (size_t r = 0; w->regions && r < w->regions->n; r++) {
		if (w->problems)
			problem_free(w->problems[r]);
		if (w->solutions)
			solution_fini(&w->solutions[r]);
	}
	free(w->problems);
	free(w->solutions);
	flow_regions_free(w->regions);
	w->problems = NULL;
	w->solutions = NULL;
	w->regions = NULL;
}

void correct_end(struct work *w)
{
	drop_regions(w);
	for (size_t s = 0; s < w->scopes.n; s++) {
		if (w->scope_problems)
			problem_free(w->scope_problems[s]);
		if (w->scope_solutions)
			solution_fini(&w->scope_solutions[s]);
		if (w->equations)
			free(w->equations[s].v);
	}
	free(w->scope_problems);
	free(w->scope_solutions);
	scopes_fini(&w->scopes);
	free(w->equations);
	flow_ran_fini(&w->ran);
	flow_free(w->graph);
	sums_fini(&w->sums);
	recording_close(w->rec);
}

/*
 * What samples of a precise distribution are wrong by beside chance: regions where a period that stays keeps step with a loop.  Without
 * such a one none is kept.
 */
static int doubt_steps(struct work *w)
{
	const struct perf_event_attr *attr =
	        w->rec->insn_event < 0 ? NULL : &pd_event(w->rec->reader, (size_t)w->rec->insn_event)->attr;
	size_t n_doubted = 0;
	int err;

	if (w->skid_source != SKID_PRECISE || !attr || attr->precise_ip != 3 || attr->freq)
		return 0;
	w->effort.most = budget_blocks(w->opts->budget_s * ran_part);
	err = regions_build(w);
	if (err < 0)
		return err;
	build_problems(w);
	for (size_t r = 0; r < w->regions->n; r++) {
		const struct flow_region *region = &w->regions->v[r];

		solution_doubt(&w->solutions[r], REASON_OF(precise));
		/* Where code jumps to may be within what is taken for a block. */
		if (region->unknown_weight > reason_limit_unknown_target * region->weight ||
		    !solve_keeps_step(w->problems[r]))
			continue;
		solution_doubt(&w->solutions[r], REASON_OF(in_step));
		n_doubted++;
	}
	if (!n_doubted)
		drop_regions(w);
	return 0;
}

int correct_run(const struct correct_opts *opts, struct work *w)
{
	struct evidence *ev = NULL;
	int err;

	*w = (struct work){ .opts = opts };
	/* A singular matrix or a bad argument is ours to report, not a reason to abort(). */
	gsl_set_error_handler_off();
	err = recording_open(opts, &w->rec);
	if (err == 0)
		err = sums_collect(w->rec, &w->sums);
	if (err == 0)
		err = choose_skid(w);
	/* So few bursts, or branch records, tell no shares, whatever is made of them: what is left is where time went. */
	if (err == 0 && w->rec->relative && w->sums.n_stacks < PROFILE_MIN_BURSTS)
		w->rec->relative = false;
	if (err == 0)
		w->as_sampled = as_sampled(w);
	/* Without an instructions event there is nothing to correct, and without bursts no share to tell. */
	if (err == 0 && !w->as_sampled && (w->rec->insn_event >= 0 || w->rec->relative)) {
		w->effort.most = budget_blocks(opts->budget_s * ran_part);
		err = regions_build(w);
		if (err == 0)
			err = find_scopes(w);
		if (err == 0) {
			trim_hopeless(w);
			build_problems(w);
			build_scope_problems(w);
			err = collect_evidence(w, &ev);
		}
		if (err == 0) {
			timed_pace_set(w, ev);
			if (w->rec->relative)
				pace_set(w);
			solve_scopes(w, ev);
			combine_scopes(w);
			err = average_unsolved(w);
			solve_doubt_behind_calls(w);
		}
	} else if (err == 0) {
		err = doubt_steps(w);
		timed_pace_set(w, NULL);
	}
	evidence_end(ev);
	return err;
}
