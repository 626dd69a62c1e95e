/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_TRIPS_H
#define SKIDPROF_CORRECT_EVIDENCE_TRIPS_H

/* Trip counts of loops as equations of a scope's flow (eq. 8). */
#include "correct/flow/trips.h"
#include "correct/infer/equations.h"
#include "correct/infer/problem.h"
#include "correct/infer/space.h"

/*
 * Append what a loop's trip count says of f = Z t of `space`, with doubt where the loop has other exits.  Nothing is appended
 * where an entry has no known trip count, or the loop hardly any samples.
 */
void trips_equation(const struct problem *p, const struct flow_trip *t, const struct space *space,
                    struct equations *out);

#endif
