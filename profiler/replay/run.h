/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_RUN_H
#define SKIDPROF_REPLAY_RUN_H

/* One replay: the request in the shared memory becomes the reply in it. */
#include <stdbool.h>
#include <stdint.h>

void rp_run_init(uint8_t *code);
void rp_run(void);

/* Is the time up that it may take? */
bool rp_is_late(void);

struct rp_reply;

/* Before a block: RP_GOES_ON, or why the path ends here.  The time is looked at now and then. */
int rp_may_go_on(const struct rp_reply *r);

/* The instruction at *ip, which moves on: RP_GOES_ON, else enum rp_end. */
int rp_do_in_c(struct rp_reply *r, uint64_t *ip);

/* Run the emitted code from context.target till it leaves.  False: a fault ended it. */
bool rp_enter(void);

/* An access missed the table: 0 when context.slow_at is our address now, else it is given up. */
int rp_miss(void);

/*
 * A signal came while code ran at ip.  True when that was emitted code: it ends, and goes on at
 * *resume.
 */
bool rp_run_interrupted(uint64_t ip, uint64_t *resume);

#endif
