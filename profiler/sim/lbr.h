/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_LBR_H
#define SKIDPROF_SIM_LBR_H

/*
 * The branch record of one core: the last taken branches that pass its
 * filter.  As a call stack it holds the calls that have not returned.
 */
#include <stdint.h>

#include "profiler/sim/branch.h"
#include "profiler/sim/config.h"
#include "profiler/sim/wire.h"

struct sim_lbr_branch {
	uint64_t from_ip, to_ip, cycle;
	uint32_t mispredicted;
};

struct sim_lbr {
	uint32_t depth;   /* 0: records nothing */
	uint32_t filter;  /* of enum wire_filter */
	uint32_t n_valid; /* entries of the ring that hold a branch */
	bool stopped;     /* a counter has overflowed, and the interrupt has not come yet */
	uint64_t n;       /* branches recorded, less those that a call stack has dropped */
	uint64_t rng;     /* of branches that are missing */
	struct sim_lbr_branch ring[WIRE_MAX_BRANCHES];
};

void sim_lbr_init(struct sim_lbr *l, uint32_t depth, uint32_t filter, uint64_t seed);

/* A branch of that exit was taken.  By value: what was just written by parts the host is slow to read as a whole. */
void sim_lbr_add(struct sim_lbr *l, enum sim_exit exit, uint64_t from_ip, uint64_t to_ip, uint64_t cycle,
                 bool mispredicted);

/* A counter has overflowed: where the record stands still from then on (branch_freeze_overflow), it does. */
void sim_lbr_overflow(struct sim_lbr *l, const struct sim_config *config);

/* The interrupt is over, or doesn't come: such a record begins anew. */
void sim_lbr_go_on(struct sim_lbr *l);

/*
 * What an interrupt at now_cyc finds, newest first.
 *
 * out  room for WIRE_MAX_BRANCHES
 * Returns how many.
 */
uint32_t sim_lbr_read(struct sim_lbr *l, const struct sim_config *config, uint64_t now_cyc,
                      struct wire_branch *out);

#endif
