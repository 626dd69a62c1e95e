/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RESTED_TURNS_H
#define SKIDPROF_CORRECT_RESTED_TURNS_H

/*
 * How well totals are known that were scaled for the turns in which their event rested (eq. 50): from how much the turns in which it
 * counted differ.
 */
#include "correct/recording.h"

struct rested_turns;

/* For n scopes.  *out NULL where instructions never rested.  Returns 0 or -SP_ENOMEM. */
int rested_turns_new(const struct recording *r, size_t n, struct rested_turns **out);
void rested_turns_free(struct rested_turns *t);

/* A sample of a thread, in a scope (-1: in none); t NULL: nothing happens.  Returns 0 or -SP_ENOMEM. */
int rested_turns_sample(struct rested_turns *t, const struct recording *r, const struct pd_record *rec,
                        uint32_t thread, int32_t scope);

/* Standard deviation of a scope's instructions; 0 for NULL.  Once all samples were shown. */
double rested_turns_sd(struct rested_turns *t, size_t scope, double rested);

#endif
