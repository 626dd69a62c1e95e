/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_PEEL_H
#define SKIDPROF_CORRECT_FLOW_PEEL_H

/*
 * The rounds in which a region loses what cannot circulate, after the first of
 * them.  A call that lost its last way in or back loses the other, what is not
 * strongly connected any more goes, and with it ways of other calls: a long
 * row of calls is peeled one a round.  A round here costs what goes in it.
 *
 * For that each strongly connected component has two trees: of ways from its
 * root to each block, and from each block to its root.  Where an edge goes
 * that is in neither, the component stays as it is; else the blocks behind it
 * are hung up elsewhere, or found not to belong to it any more.
 */
#include "correct/flow/shape.h"

/*
 * s    after a round: blocks, edges and skips in it, each edge between blocks of one component.
 * comp [s->blocks.n] the component of each block.
 *
 * Returns 0 or -SP_ENOMEM.  s is as if whole rounds had been made until nothing changed.
 */
int peel_rest(struct shape *s, const uint32_t *comp);

#endif
