/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_STACK_MIX_H
#define SKIDPROF_CORRECT_EVIDENCE_STACK_MIX_H

/*
 * What the code along a sample's branch records counts: some hundred instructions out of the thousands of an interval, but
 * of the same phase, and known of every interval, whichever events its group counted (eq. 47).
 */
#include "correct/evidence/evidence.h"

struct stack_mix;

/* Of n kinds of events (enum mix_kind, with their masks).  Returns 0, or -SP_ENOMEM with what is to be freed. */
int stack_mix_new(const struct evidence_input *in, const int *kinds, size_t n, struct stack_mix **out);
void stack_mix_free(struct stack_mix *m);

/*
 * Counts an instruction, out[n], over those straight runs of the sample's stack that lie in its scope; false where there
 * are none.  Cost: a look into a table for each branch, but for runs that are new.
 */
bool stack_mix_of(struct stack_mix *m, const struct sample_seen *seen, float *out);

#endif
