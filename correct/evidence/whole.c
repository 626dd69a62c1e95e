/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/whole.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/path_impl.h"
#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"

enum {
	GROUPS = 64, /* of stacks one after the other: what is resampled together */
	NO_COLUMN = -1,
	OTHER = 0,
	FIRST = 1, /* tallies */
};

/* What runs between a branch's target and the next branch, in blocks of the graph; none: n_blocks = 0. */
struct run {
	uint32_t block0, n_blocks;
	double n_insn;
};

struct whole {
	struct path path; /* of one scope, whose pieces have one edge each: the branch that ended them */
	struct scope_stacks stacks;
	VEC(struct run) runs; /* [path.all.n] */
	struct pairs branches, places;
	int32_t *column; /* [graph's n_blocks] where a block's executions are added up */
	uint32_t *func;  /* [n_columns] */
	size_t n_columns;
	float *weight; /* [stacks.pieces.n] by tally_stacks() */
};

/* Weighed sums over some stacks. */
struct whole_tally {
	double *n; /* [n_columns] executions */
	double insn, unplaced_insn;
};

void whole_end(struct whole *w)
{
	if (!w)
		return;
	path_stacks_fini(&w->stacks);
	path_fini(&w->path);
	vec_fini(&w->runs);
	pairs_fini(&w->branches);
	pairs_fini(&w->places);
	free(w->column);
	free(w->func);
	free(w->weight);
	free(w);
}

struct whole *whole_begin(const struct recording *rec, const struct flow_graph *g, const uint8_t *wanted)
{
	struct whole *w = mem_calloc(1, sizeof(*w));

	w->path.in = (struct evidence_input){ .rec = rec, .graph = g };
	w->path.scopes = &w->stacks;
	w->stacks.stride = 1;
	w->column = mem_calloc(g->n_blocks + 1, sizeof(*w->column));
	w->func = mem_calloc(g->n_blocks + 1, sizeof(*w->func));
	path_init(&w->path);
	for (size_t b = 0; b < g->n_blocks; b++) {
		w->column[b] = wanted[b] ? (int32_t)w->n_columns : NO_COLUMN;
		if (wanted[b])
			w->func[w->n_columns++] = g->blocks[b].func;
	}
	return w;
}

size_t whole_column(const struct whole *w, uint32_t block)
{
	return (size_t)w->column[block];
}

/* ---- stacks ---- */

/* The blocks from `start` to the branch at `from`: neighbours, as the code ran straight on. */
static struct run find_run(const struct flow_graph *g, struct place start, struct place from)
{
	struct run run = { .n_insn = path_insns_of(from.vaddr - start.vaddr) };
	long first = flow_block_at(g, (uint32_t)start.module, start.vaddr);
	long last = flow_block_at(g, (uint32_t)from.module, from.vaddr);
	double n_insn = 0;

	for (long b = first; first >= 0 && b <= last; b++) {
		if (b > first && g->blocks[b].vaddr != g->blocks[b - 1].end_vaddr)
			return run;
		n_insn += g->blocks[b].n_insn;
	}
	if (first < 0 || last < first)
		return run;
	return (struct run){ (uint32_t)first, (uint32_t)(last - first + 1), n_insn };
}

static uint32_t number_of(struct whole *w, struct place a, struct place b)
{
	size_t from = pairs_must(&w->places, (uint64_t)a.module + 1, a.vaddr),
	       to = pairs_must(&w->places, (uint64_t)b.module + 1, b.vaddr);

	return (uint32_t)pairs_must(&w->branches, from + 1, to + 1);
}

/* Memory without a file, such as a just-in-time compiler's, is one place: stacks lead through it and come back. */
static struct place place_of(const struct whole *w, uint32_t pid, uint64_t ip)
{
	struct place at = recording_place(w->path.in.rec, pid, ip);

	if (at.module < 0)
		at.vaddr = 0;
	return at;
}

/* A piece that is no path has scope -1. */
static void add_piece(struct whole *w, uint32_t pid, const struct pd_branch *older,
                      const struct pd_branch *newer)
{
	struct place start = place_of(w, pid, older->to_ip), from = place_of(w, pid, newer->from_ip),
	             to = place_of(w, pid, newer->to_ip);
	struct piece piece = { .scope = -1, .edge0 = (uint32_t)w->path.pool.n, .n_edges = 1 };
	struct run run = { 0 };
	uint64_t n_bytes = newer->from_ip - older->to_ip;

	if (from.module == start.module && newer->from_ip >= older->to_ip &&
	    (from.module >= 0 || n_bytes < PATH_MOST_BYTES)) {
		vec_add(&w->path.pool, number_of(w, from, to));
		piece.scope = 0;
		if (start.module < 0)
			run.n_insn = path_insns_of(n_bytes);
		else
			run = find_run(w->path.in.graph, start, from);
	}
	/* In a damaged file one may be as long as the address space. */
	piece.n_insn = (uint32_t)fmin(run.n_insn + 0.5, UINT32_MAX);
	vec_add(&w->runs, run);
	vec_add(&w->path.all, piece);
}

static uint32_t piece_of(struct whole *w, uint32_t pid, const struct pd_branch *older,
                         const struct pd_branch *newer)
{
	uint32_t *known = path_known(&w->path, 0, pid,
	                             (uint64_t[]){ older->to_ip, newer->from_ip, newer->to_ip }, false);

	if (*known)
		return *known - 1;
	add_piece(w, pid, older, newer);
	*known = (uint32_t)w->path.all.n;
	return *known - 1;
}

/* The branch next to the stack's moment: the one that a burst's path begins behind. */
static void set_near(struct whole *w, const struct sample_seen *seen, struct stack *stack)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct pd_branch *first =
	        stack->burst ? &smp->branches[path_newer(smp, true, 0) + 1] : smp->branches;

	/* An entry that the processor did not fill. */
	if (!first->from_ip) {
		stack->newest = UINT32_MAX;
		stack->near = closing_edge(&w->path, w->stacks.pieces.v[stack->piece0]);
		stack->away = 1;
		return;
	}
	stack->near = stack->newest = number_of(w, place_of(w, seen->record->pid, first->from_ip),
	                                        place_of(w, seen->record->pid, first->to_ip));
	stack->lead = stack->burst ? 0 : first->cycles;
}

/* The pieces of a stack, from its moment on. */
static void add_pieces(struct whole *w, const struct sample_seen *seen, struct stack *stack)
{
	const struct pd_sample *smp = &seen->record->sample;
	struct scope_stacks *r = &w->stacks;

	for (size_t i = 0; i < path_n_pieces(smp, stack->burst); i++) {
		const struct pd_branch *newer = &smp->branches[path_newer(smp, stack->burst, i)];
		uint32_t piece = piece_of(w, seen->record->pid, newer + 1, newer);

		if (w->path.all.v[piece].scope < 0) {
			stack->broken = true;
			break;
		}
		vec_add(&r->pieces, piece);
		vec_add(&r->marks, stack->burst ? 0 : newer->cycles);
		stack->n_pieces++;
	}
}

void whole_sample(struct whole *w, const struct sample_seen *seen)
{
	const struct pd_sample *smp = &seen->record->sample;
	const struct recording *rec = w->path.in.rec;
	double weight = recording_weight(rec, seen->record);
	bool of_cycles = seen->record->event == rec->cyc_event,
	     burst = seen->record->event == rec->burst_event;
	struct scope_stacks *r = &w->stacks;
	struct stack stack = { .piece0 = (uint32_t)r->pieces.n, .burst = burst };

	stack.span = paces_sample(&w->path.paces, rec, seen);
	if (smp->n_branches < 2 || path_passes_over(r, burst))
		return;
	stack.cyc = of_cycles && !rec->cyc_is_other ? weight : 0;
	stack.insn = weight;
	if (!of_cycles && !burst)
		stack.span = 0;
	add_pieces(w, seen, &stack);
	if (!stack.n_pieces)
		return;
	set_near(w, seen, &stack);
	if (r->stacks.n >= EFFORT_STACKS)
		path_thin(r);
	vec_add(&r->stacks, stack);
}

/* ---- executions ---- */

static void add_stack(const struct whole *w, const struct stack *st, const float *weight,
                      struct whole_tally *t)
{
	for (uint32_t k = 0; k < st->n_pieces; k++) {
		const struct run *run = &w->runs.v[w->stacks.pieces.v[st->piece0 + k]];
		double times = (double)weight[st->piece0 + k];

		t->insn += times * run->n_insn;
		if (!run->n_blocks)
			t->unplaced_insn += times * run->n_insn;
		for (uint32_t b = run->block0; b < run->block0 + run->n_blocks; b++)
			if (w->column[b] != NO_COLUMN)
				t->n[w->column[b]] += times;
	}
}

/*
 * Samples of cycles come evenly in time: where their records tell cycles they are all that is used.  Those of
 * instructions have each long phase of a program by its instructions, before anything is weighed: without
 * cycles they are all that is used.  Bursts are few, and used where there is nothing else: are they?
 */
static bool keep_event(struct scope_stacks *r, bool of_cycles)
{
	size_t kept = 0;
	bool bursts = true;

	for (size_t i = 0; i < r->stacks.n; i++)
		bursts &= r->stacks.v[i].burst;
	for (size_t i = 0; i < r->stacks.n; i++)
		if (r->stacks.v[i].burst ? bursts : (r->stacks.v[i].cyc > 0) == of_cycles)
			r->stacks.v[kept++] = r->stacks.v[i];
	r->stacks.n = kept;
	return bursts;
}

/*
 * A burst ends at a system call, and a stack where no path goes on: loops that this happens in would count for less than
 * others.  What is cut short goes on as it began.
 */
static void fill_short(const struct whole *w, float *weight)
{
	const struct scope_stacks *r = &w->stacks;
	uint32_t most = 0;

	for (size_t i = 0; i < r->stacks.n; i++)
		most = most > r->stacks.v[i].n_pieces ? most : r->stacks.v[i].n_pieces;
	for (size_t i = 0; i < r->stacks.n; i++) {
		const struct stack *st = &r->stacks.v[i];

		for (uint32_t k = 0; k < st->n_pieces; k++)
			weight[st->piece0 + k] *= (float)most / (float)st->n_pieces;
	}
}

/*
 * Two ways to weigh, of which the second has other errors: tallies[FIRST ..] by groups of stacks, and OTHER.  Of bursts,
 * which have no bias to be taken away, they are one.
 */
static int tally_stacks(struct whole *w, struct whole_tally *tallies)
{
	struct scope_stacks *r = &w->stacks;
	size_t n_branches = w->branches.n;
	bool has_cycles = path_has_cycles(r), bursts;
	float *weight;

	paces_apply(&w->path.paces, w->path.all.v, r);
	bursts = keep_event(r, has_cycles);
	if (r->stacks.n < model->many)
		return sp_fail(SP_EDOMAIN, "only %zu branch stacks", r->stacks.n);
	weight = mem_calloc(r->pieces.n + 1, sizeof(*weight));
	path_weigh_back(&w->path, r, n_branches, bursts ? 0 : PATH_FAR, weight);
	fill_short(w, weight);
	for (size_t i = 0; i < r->stacks.n; i++)
		add_stack(w, &r->stacks.v[i], weight, &tallies[OTHER]);
	if (has_cycles)
		path_weigh_by_cycles(&w->path, r, 1, weight);
	else
		path_weigh_back(&w->path, r, n_branches, bursts ? 0 : PATH_NEAR, weight);
	fill_short(w, weight);
	for (size_t i = 0; i < r->stacks.n; i++)
		add_stack(w, &r->stacks.v[i], weight, &tallies[FIRST + i * GROUPS / r->stacks.n]);
	w->weight = weight;
	return 0;
}

/* Nothing can be said of a program whose records are in code that we do not have. */
static int judge_tallies(const struct whole_tally *tallies)
{
	double insn = 0, unplaced_insn = 0;

	for (size_t g = 0; g < GROUPS; g++) {
		insn += tallies[FIRST + g].insn;
		unplaced_insn += tallies[FIRST + g].unplaced_insn;
	}
	if (insn > 0 && tallies[OTHER].insn > 0 && unplaced_insn <= reason_limit_broken_stacks * insn)
		return 0;
	return sp_fail(SP_EDOMAIN, "%.0f%% of its branch records are in code that was not found",
	               insn > 0 ? 100 * unplaced_insn / insn : 100);
}

/* What a draw of n executions is of its mean, by eq. 13: never negative, and 1 in the mean. */
static double spread(double n, double other, double z)
{
	double s2 = n > 0 ? log1p(model->biased * model->biased + (1 - other / n) * (1 - other / n)) : 0;

	return exp(sqrt(s2) * z - s2 / 2);
}

/* What the groups of stacks tell of one block, by group, where it is anything: of most blocks it is nothing. */
struct told {
	uint32_t column, from, end; /* group[from .. end] and n[from .. end] */
};

struct tellings {
	VEC(struct told) columns;
	VEC(uint8_t) group;
	VEC(double) n;
};

static void tellings_fini(struct tellings *t)
{
	vec_fini(&t->columns);
	vec_fini(&t->group);
	vec_fini(&t->n);
}

static void list_tellings(const struct whole *w, const struct whole_tally *tallies, struct tellings *t)
{
	for (uint32_t c = 0; c < w->n_columns; c++) {
		struct told told = { c, (uint32_t)t->n.n, (uint32_t)t->n.n };

		for (size_t g = 0; g < GROUPS; g++) {
			if (tallies[FIRST + g].n[c] == 0)
				continue;
			vec_add(&t->group, (uint8_t)g);
			vec_add(&t->n, tallies[FIRST + g].n[c]);
			told.end++;
		}
		if (told.end > told.from)
			vec_add(&t->columns, told);
	}
}

/* One draw of eqs. 9 and 13, for total_insn instructions; z: a normal number for each function; out: zero before. */
static void draw(const struct whole *w, const struct whole_tally *tallies, const struct tellings *tellings,
                 const double *times, const double *z, double total_insn, float *out)
{
	double insn = 0;

	for (size_t g = 0; g < GROUPS; g++)
		insn += times[g] * tallies[FIRST + g].insn;
	for (size_t i = 0; i < tellings->columns.n; i++) {
		const struct told *told = &tellings->columns.v[i];
		uint32_t c = told->column;
		double n = 0, other = tallies[OTHER].n[c] / tallies[OTHER].insn * total_insn;

		for (uint32_t k = told->from; k < told->end; k++)
			n += times[tellings->group.v[k]] * tellings->n.v[k];
		n *= total_insn / insn;
		out[c] = (float)(n * spread(n, other, z[w->func[c]]));
	}
}

static void make_draws(const struct whole *w, const struct whole_tally *tallies, double total_insn,
                       gsl_rng *rng, double *z, size_t n_draws, float *draws)
{
	double times[GROUPS];
	struct tellings tellings = { 0 };

	list_tellings(w, tallies, &tellings);
	for (size_t i = 0; i < n_draws; i++) {
		for (size_t g = 0; g < GROUPS; g++)
			times[g] = gsl_ran_exponential(rng, 1);
		for (size_t f = 0; f < w->path.in.graph->n_funcs; f++)
			z[f] = gsl_ran_gaussian(rng, 1);
		draw(w, tallies, &tellings, times, z, total_insn, draws + i * w->n_columns);
	}
	tellings_fini(&tellings);
}

int whole_draws(struct whole *w, double total_insn, uint64_t seed, size_t n_draws, float *draws)
{
	struct whole_tally tallies[FIRST + GROUPS] = { 0 };
	double *n = mem_calloc((FIRST + GROUPS) * w->n_columns + 1, sizeof(*n));
	double *z = mem_calloc(w->path.in.graph->n_funcs + 1, sizeof(*z));
	gsl_rng *rng = mem_have(gsl_rng_alloc(gsl_rng_mt19937));
	int err;

	for (size_t t = 0; t < FIRST + GROUPS; t++)
		tallies[t].n = n + t * w->n_columns;
	err = tally_stacks(w, tallies);
	if (err == 0)
		err = judge_tallies(tallies);
	if (err == 0) {
		gsl_rng_set(rng, seed);
		make_draws(w, tallies, total_insn, rng, z, n_draws, draws);
	}
	gsl_rng_free(rng);
	free(n);
	free(z);
	return err;
}

/* Each stack once for a region, however often it comes there. */
static void count_stack(const struct whole *w, size_t i, const int32_t *region_of, size_t *last, double *n)
{
	const struct stack *st = &w->stacks.stacks.v[i];

	for (uint32_t k = st->piece0; k < st->piece0 + st->n_pieces; k++) {
		const struct run *run = &w->runs.v[w->stacks.pieces.v[k]];

		for (uint32_t b = run->block0; b < run->block0 + run->n_blocks; b++) {
			const int32_t r = region_of[b];

			if (r < 0 || last[r] == i + 1)
				continue;
			last[r] = i + 1;
			n[r]++;
		}
	}
}

void whole_count_stacks(const struct whole *w, const struct flow_regions *regions, double *n)
{
	size_t *last = mem_calloc(regions->n + 1, sizeof(*last));

	for (size_t i = 0; i < w->stacks.stacks.n; i++)
		count_stack(w, i, regions->of_block, last, n);
	free(last);
}

/* Runs are told by blocks of the graph. */
static void add_run(const struct path_moments *m, const struct problem *p, const struct stack *st, size_t k,
                    double *n)
{
	const struct whole *w = m->arg;
	const struct run *run = &w->runs.v[m->scope->pieces.v[k]];

	(void)st;
	for (uint32_t b = run->block0; b < run->block0 + run->n_blocks; b++) {
		const long at = problem_block_at(p, b);

		if (at >= 0)
			n[at] += (double)w->weight[k];
	}
}

void whole_spread_paces(const struct whole *w, const struct problem *p, uint64_t seed, struct solution *out)
{
	const struct path_moments m = { &w->path, &w->stacks, w, add_run };

	path_spread_moments(&m, p, seed, out);
}
