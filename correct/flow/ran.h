/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_RAN_H
#define SKIDPROF_CORRECT_FLOW_RAN_H

/*
 * What branch records say ran.  Between one taken branch's target and the
 * next one's source the code ran straight on; with tens of thousands of
 * branches on record, code that is in none of these runs hardly ran.
 */
#include "correct/flow/graph.h"

/* So many branches on record that what is in none of them is left out of regions. */
enum { FLOW_RAN_BRANCHES = 20000 };

/*
 * Mark what ran.
 *
 * seen[n_seen]  taken branches, from a branch to its target.
 * runs[n_runs]  straight runs, from a branch's target to the next branch's source.
 * block, edge   out: [n_blocks], [n_edges] 1 = ran; all others 0.
 */
void flow_mark_ran(const struct flow_graph *g, const struct flow_seen *seen, size_t n_seen,
                   const struct flow_seen *runs, size_t n_runs, uint8_t *block, uint8_t *edge);

#endif
