/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_FLOW_PEEL_H
#define SKIDPROF_CORRECT_FLOW_PEEL_H

/*
 * The rounds in which a region loses what cannot circulate.  A call that lost its last way in or back loses the other, what is
 * not strongly connected any more goes, and with it ways of other calls: a long row of calls is peeled one a round.  A round
 * costs the components that lost an edge in it.
 */
#include "correct/flow/shape.h"

/*
 * s  with the blocks, edges and SKIP edges that are chosen; room->edge_in of its edges is 1, of its SKIP edges 0.
 *
 * What is left has its marks in the room, as if whole rounds had been made until nothing changed.
 */
void peel(struct shape *s);

#endif
