/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/inclusive/inclusive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "profiler/base/mem.h"
#include "report/inclusive/cut_stacks.h"
#include "report/inclusive/impl.h"
#include "report/inclusive/stack_bounds.h"

/* By Laplace's rule of succession; without a test nothing speaks for what is found. */
static double lost_wrongly(const struct profile_meta *m)
{
	return m->n_lost_tested ? ((double)m->n_lost_wrong + 1) / ((double)m->n_lost_tested + 2) : 1;
}

double inclusive_doubted_stacks(const struct profile *p)
{
	bool by_branches = p->meta.chains && strcmp(p->meta.chains, "branch records") == 0;
	double all = fmax((double)p->meta.n_chains, 1),
	       lost = lost_wrongly(&p->meta) * (double)p->meta.n_chains_lost / all,
	       doubted = cut_stacks_share(p) + cut_stacks_open_share(p) + (by_branches ? lost : 0);

	return fmin(doubted, 1);
}

/* Bursts' stacks are whole, and few: they tell more where others lack callers more often than that leaves open. */
static bool bursts_tell_more(const struct profile *p)
{
	return p->n_context_stacks && inclusive_doubted_stacks(p) > 1 / sqrt((double)p->n_context_stacks);
}

enum inclusive_source inclusive_source(const struct profile *p)
{
	if (p->n_counted)
		return INCLUSIVE_COUNTED;
	if (p->n_frames && !bursts_tell_more(p))
		return INCLUSIVE_STACKS;
	return p->n_calls ? INCLUSIVE_FLOW : INCLUSIVE_NONE;
}

/* Instructions that were not counted are known within a region only: time is what adds up then. */
bool inclusive_is_of_insn(const struct profile *p)
{
	return p->meta.truth || (!p->meta.relative && (p->meta.insn_event >= 0 || p->meta.pace > 0));
}

double inclusive_weight(const struct profile *p, const struct inclusive *c)
{
	return inclusive_is_of_insn(p) ? c->insn : c->cyc;
}

/*
 * Functions that no sample fell in, for they are short, are on no stack: what the flow knows that they ran is their callers', and
 * so on that of a caller that has samples.  more, [n_funcs]: so much for each instruction of that.  Returns what is nobody's.
 */
static double spread_unsampled(const struct profile *p, const double *insn, double *more)
{
	double *sampled = more + p->n_funcs + 1, *left = sampled + p->n_funcs + 1, rest = 0;

	for (size_t i = 1; i < p->n_frames; i++)
		sampled[p->frames[i].phys_func] += insn[i];
	for (size_t g = 0; g < p->n_funcs; g++)
		left[g] = sampled[g] > 0 ? 0 : p->funcs[g].rolled.insn;
	for (int round = 0; round < EFFORT_SPREAD_ROUNDS; round++)
		for (size_t i = 0, j; i < p->n_calls; i = j) {
			uint32_t g = p->calls[i].callee;
			double had = left[g];

			for (j = i; j < p->n_calls && p->calls[j].callee == g; j++) {
				const struct profile_call *c = &p->calls[j];
				double part = c->caller == g ? 0 : had * fmax(c->share, 0);

				left[g] -= part;
				*(sampled[c->caller] > 0 ? &more[c->caller] : &left[c->caller]) += part;
			}
		}
	for (size_t g = 0; g < p->n_funcs; g++) {
		more[g] = inclusive_ratio(more[g], sampled[g]);
		rest += fmax(left[g], 0);
	}
	return rest;
}

static void count_stacks(const struct profile *all, const struct own_noise *noise, struct inclusive *out)
{
	struct profile calls = *all, *p = &calls;
	/* Frame + 1 that counted for a function last. */
	uint32_t *last = mem_calloc(p->n_funcs + 1, sizeof(*last));
	double *insn = inclusive_frames(all, NULL), *more = mem_calloc(3 * (p->n_funcs + 1), sizeof(*more)),
	       rest = spread_unsampled(p, insn, more);

	calls.frames = inclusive_merge_inlined(all);
	for (size_t i = 1; i < p->n_frames; i++)
		insn[i] *= 1 + more[p->frames[i].phys_func];
	for (size_t i = 1; i < p->n_frames; i++) {
		if (inclusive_frame_is_empty(&p->frames[i]))
			continue;
		for (uint32_t at = (uint32_t)i; at; at = p->frames[at].parent) {
			uint32_t func = p->frames[at].func;

			if (last[func] == i + 1)
				continue;
			last[func] = (uint32_t)i + 1;
			inclusive_add_frame(&out[func], &p->frames[i], insn[i]);
			out[func].by_status[p->funcs[p->frames[i].phys_func].rolled_status] += insn[i];
		}
	}
	stack_bounds(p, insn, rest, noise, out);
	cut_stacks_bounds(p, insn, out);
	if (p->n_contexts)
		inclusive_ask_paths(p, noise, out);
	cut_stacks_judge(p, out);
	free(calls.frames);
	free(last);
	free(insn);
	free(more);
}

/* As a function's (assemble_funcs.c), by the statuses of the functions that are summed. */
static uint8_t judge(const struct profile *p, const struct inclusive *c)
{
	const double *s = c->by_status,
	             all = s[PROFILE_FIXED] + s[PROFILE_RAW] + s[PROFILE_WEAK] + s[PROFILE_UNRELIABLE];
	const struct profile_count count = { .insn = c->insn, .lo = c->lo, .hi = c->hi };

	if (p->meta.truth)
		return c->hi - c->lo > 2 * reason_limit_wide * c->insn || isnan(c->insn) ? PROFILE_WEAK
		                                                                         : PROFILE_FIXED;
	if (s[PROFILE_UNRELIABLE] > reason_limit_in_unreliable * all)
		return PROFILE_UNRELIABLE;
	/* What may be twice as much, or next to nothing, is not known at all. */
	if (c->hi - c->lo > (isnan(c->insn) ? c->lo : c->insn))
		return PROFILE_UNRELIABLE;
	if (s[PROFILE_RAW] > reason_limit_outside * all || all == 0)
		return profile_judge(PROFILE_FIXED, &count) == PROFILE_FIXED ? PROFILE_RAW : PROFILE_WEAK;
	if (isnan(c->insn) || s[PROFILE_RAW] > reason_limit_partly_outside * all ||
	    s[PROFILE_FIXED] < reason_limit_functions_open * all)
		return PROFILE_WEAK;
	return profile_judge(PROFILE_FIXED, &count);
}

struct inclusive *inclusive_count(const struct profile *p)
{
	struct own_noise noise;
	struct inclusive *out = mem_calloc(p->n_funcs + 1, sizeof(*out));

	if (inclusive_source(p) == INCLUSIVE_COUNTED) {
		inclusive_counted(p, out);
	} else {
		own_noise_new(p, &noise);
		if (inclusive_source(p) == INCLUSIVE_STACKS)
			count_stacks(p, &noise, out);
		else
			inclusive_by_flow(p, &noise, out);
		own_noise_free(&noise);
	}
	for (size_t f = 0; f < p->n_funcs; f++)
		out[f].status = judge(p, &out[f]);
	return out;
}
