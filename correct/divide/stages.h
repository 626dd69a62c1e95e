/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_STAGES_H
#define SKIDPROF_CORRECT_DIVIDE_STAGES_H

/*
 * Do bursts stay in one of the loops that a scope is made of?  Where instructions are not counted, only bursts tell them, and
 * each burst begins where time is spent.  Bursts that go from loop to loop show how much each loop runs.  Bursts that each stay
 * in one say where time went, which is no share of instructions.
 */
#include "correct/recording/recording.h"
#include "correct/work.h"

struct stages;

/* For all scopes of w, whose regions' problems have their samples. */
struct stages *stages_begin(const struct work *w);

/* A sample of a scope (-1: of none) with its branches: returns its sample_seen.stage. */
uint32_t stages_sample(struct stages *st, const struct recording *r, const struct pd_record *rec,
                       int32_t scope);

/*
 * Sets stay_share of every scope's problem: the share of its bursts, or branch records, that stay in one part; 0 where all its time does.
 */
void stages_end(struct stages *st, struct problem *const *scope_problems);
void stages_free(struct stages *st);

/*
 * Do bursts come as early in the life of a thread as samples of time do?  A recorder needs a while until the first one, and where a
 * program is many short processes, all of these begin with code that no burst shows.
 */
struct young;

/* For n_scopes scopes. */
struct young *young_begin(size_t n_scopes);

/* A sample, or burst, of a thread, and the scope that it is in (-1: none). */
void young_sample(struct young *y, uint32_t thread, int32_t scope, bool burst);

/* Sets young_share of every scope's problem: of its time that of threads that had no burst yet, younger than at any of its own, where that
 * is no chance. */
void young_end(const struct young *y, struct problem *const *scope_problems);
void young_free(struct young *y);

#endif
