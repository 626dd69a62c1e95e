/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_MARKS_H
#define SKIDPROF_REPLAY_MARKS_H

/*
 * A replay to where the thread was seen later (RP_TO_MARKS): some million
 * instructions, at a few cycles a block.  Blocks lead on to each other; those
 * that a mark lies in end before it, and nothing leads there but C, which looks
 * whether the registers are those.
 */
struct rp_request;
struct rp_reply;

/* From r->at_ip, which moves on.  Returns enum rp_end. */
int rp_go_to_marks(const struct rp_request *q, struct rp_reply *r);

#endif
