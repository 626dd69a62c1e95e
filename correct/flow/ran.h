/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_RAN_H
#define SKIDPROF_CORRECT_FLOW_RAN_H

/*
 * What branch records say ran.  Between one taken branch's target and the next one's source the code ran straight on; with tens
 * of thousands of branches on record, code that is in none of these runs hardly ran.
 */
#include "correct/flow/region.h"

/*
 * What ran, for flow_regions_find().
 *
 * seen[n_seen]  taken branches, from a branch to its target. runs[n_runs]  straight runs, from a branch's target to the next
 * branch's source. out           blocks and edges that ran are 1, all others 0.
 *
 * flow_ran_fini frees it, after errors too.
 */
void flow_ran_find(const struct flow_graph *g, const struct flow_seen *seen, size_t n_seen,
                   const struct flow_seen *runs, size_t n_runs, struct flow_ran *out);
void flow_ran_fini(struct flow_ran *ran);

#endif
