/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regions that could not be solved are not left to their raw counts where the
 * recording has branch records: those tell executions without any flow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/whole.h"
#include "correct/work.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/pairs.h"

enum { N_DRAWS = 300 };

struct showing {
	struct whole *whole;
	struct pairs counters; /* see recording_counters */
};

static bool is_wanted(const struct work *w, size_t r)
{
	return w->solutions[r].verdict == VERDICT_UNRELIABLE;
}

/* Marks the blocks of such regions; returns how many there are. */
static size_t mark_wanted(const struct work *w, uint8_t *wanted)
{
	size_t n = 0;

	for (size_t r = 0; r < w->regions->n; r++)
		for (size_t b = 0; is_wanted(w, r) && b < w->problems[r]->n_blocks; b++) {
			uint8_t *at = &wanted[w->problems[r]->blocks[b].graph_block];

			n += !*at;
			*at = 1;
		}
	return n;
}

static int show(void *arg, const struct recording *rec, const struct pd_record *record, struct place place)
{
	struct showing *s = arg;
	struct sample_seen seen = { .rec = rec, .record = record, .scope = -1 };
	long counters = pairs_number(&s->counters, (uint64_t)rec->group << 32 | record->tid,
	                             recording_counters(record));

	(void)place;
	if (counters < 0)
		return -SP_ENOMEM;
	seen.counters = (uint32_t)counters;
	return whole_sample(s->whole, &seen);
}

/* A reason why counts are raw, without saying that they are. */
static int reason_length(const char *why)
{
	static const char raw[] = ": raw counts";
	size_t n = strlen(why);

	if (n >= sizeof(raw) && strcmp(why + n - (sizeof(raw) - 1), raw) == 0)
		n -= sizeof(raw) - 1;
	return (int)(n < 150 ? n : 150);
}

static int replace(struct work *w, size_t r, const struct whole *whole, const float *draws, size_t n_columns)
{
	struct problem *p = w->problems[r];
	struct solution *sol = &w->solutions[r];
	char why[sizeof(sol->why)];
	double insn = 0;
	int err;

	snprintf(why, sizeof(why), "averaged along branch records, not solved: %.*s", reason_length(sol->why),
	         sol->why);
	solution_fini(sol);
	err = solution_init(sol, p, N_DRAWS);
	if (err < 0)
		return err;
	for (size_t i = 0; i < N_DRAWS; i++)
		for (size_t b = 0; b < p->n_blocks; b++) {
			float n = draws[i * n_columns + whole_column(whole, p->blocks[b].graph_block)];

			sol->draws[i * p->n_blocks + b] = n;
			insn += (double)n * p->blocks[b].n_insn / N_DRAWS;
		}
	p->total_insn = insn;
	sol->evidence = PROFILE_BY_PATH;
	sol->verdict = VERDICT_WEAK;
	sol->averaged = true;
	sol->r_hat = sol->n_eff = NAN;
	memcpy(sol->why, why, sizeof(why));
	return 0;
}

/* Samples of instructions are right in sum, whatever they skid over. */
static double total_of(const struct work *w)
{
	return w->sums.events[w->rec->insn_event].period_sum;
}

static int average(struct work *w, const uint8_t *wanted, size_t n_columns)
{
	struct showing s = { 0 };
	float *draws = malloc((N_DRAWS * n_columns + 1) * sizeof(*draws));
	int err = draws ? whole_begin(w->rec, w->graph, wanted, &s.whole)
	                : sp_fail(SP_ENOMEM, "out of memory for %zu blocks", n_columns);

	if (err == 0)
		err = recording_each(w->rec, "averaging branch records", show, &s);
	if (err == 0)
		err = whole_draws(s.whole, total_of(w), w->opts->seed, N_DRAWS, draws);
	for (size_t r = 0; err == 0 && r < w->regions->n; r++)
		if (is_wanted(w, r))
			err = replace(w, r, s.whole, draws, n_columns);
	whole_end(s.whole);
	pairs_fini(&s.counters);
	free(draws);
	if (err == -SP_EDOMAIN) {
		sp_debug("no averages: %s", sp_error_text());
		return 0;
	}
	return err;
}

int average_unsolved(struct work *w)
{
	uint8_t *wanted;
	size_t n;
	int err = 0;

	if (!w->sums.branch_records || w->opts->method != METHOD_FULL || w->rec->insn_event < 0)
		return 0;
	wanted = calloc(w->graph->n_blocks + 1, 1);
	if (!wanted)
		return sp_fail(SP_ENOMEM, "out of memory for a graph of %zu blocks", w->graph->n_blocks);
	n = mark_wanted(w, wanted);
	if (n)
		err = average(w, wanted, n);
	free(wanted);
	return err;
}
