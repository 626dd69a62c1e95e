/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_DIVIDE_YOUNG_H
#define SKIDPROF_CORRECT_DIVIDE_YOUNG_H

/*
 * Do bursts come as early in the life of a thread as samples of time do?  A recorder needs a while until the first one, and where a
 * program is many short processes, all of these begin with code that no burst shows.
 */
#include "correct/work.h"

struct young;

/* For n_scopes scopes. */
struct young *young_begin(size_t n_scopes);

/* A sample, or burst, of a thread, and the scope that it is in (-1: none). */
void young_sample(struct young *y, uint32_t thread, int32_t scope, bool burst);

/* Sets young_share of every scope's problem: of its time that of threads younger than at any burst, where that is no chance. */
void young_end(const struct young *y, struct problem *const *scope_problems);
void young_free(struct young *y);

#endif
