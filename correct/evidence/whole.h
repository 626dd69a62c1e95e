/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_EVIDENCE_WHOLE_H
#define SKIDPROF_CORRECT_EVIDENCE_WHOLE_H

/*
 * Averages: executions from the branch records of the whole program (eq. 9), for regions whose flow can't be solved.  No flow has
 * to balance for that, and no total of the region has to be right.
 */
#include "correct/evidence/evidence.h"

struct whole;

/* Executions are wanted of the blocks with wanted[n_blocks of the graph] set. */
struct whole *whole_begin(const struct recording *rec, const struct flow_graph *g, const uint8_t *wanted);

/* Every sample of a pass, in its order, whatever its scope. */
void whole_sample(struct whole *w, const struct sample_seen *seen);

/*
 * draws[n_draws][n_blocks], zero before, row-major: executions of each block wanted, in the graph's order.  total_insn:
 * instructions of the whole program.
 * Returns 0; -SP_EDOMAIN when the records don't tell, for stacks are too few, or too many outside the graph's code.
 */
int whole_draws(struct whole *w, double total_insn, uint64_t seed, size_t n_draws, float *draws);

/* After whole_draws(): how many stacks lead through each region, added to n[regions->n]. */
void whole_count_stacks(const struct whole *w, const struct flow_regions *regions, double *n);

/*
 * After whole_draws(), where only time was sampled: out's draws of p's blocks, all of which are wanted, move by what paces of
 * moments may differ by (eq. 19).
 */
void whole_spread_paces(const struct whole *w, const struct problem *p, uint64_t seed, struct solution *out);

/* Where a block that is wanted stands in a row of draws. */
size_t whole_column(const struct whole *w, uint32_t block);

void whole_end(struct whole *w);

#endif
