/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_SIM_SETUP_H
#define SKIDPROF_PMU_SIM_SETUP_H

/*
 * What is simulated, and what its PMUs count: the cores, the events of each,
 * branch records and bursts; and the message that tells the plugin.
 */
#include "profiler/pmu/core.h"
#include "profiler/record.h"

struct sim_setup {
	struct sim_core core[WIRE_MAX_KINDS]; /* kinds of core that a thread moves between */
	uint32_t n_cores;
	char name[2 * 64 + 8];  /* theirs, for messages */
	struct sim_group group; /* of all kinds, one after the other */
	uint32_t branches;      /* depth of the record, 0: none is taken */
	double bursts_hz;
};

/* -SP_EUSAGE for what these cores can't have; sim_setup_fini it in any case. */
int sim_setup_make(const struct record_opts *opts, enum program_isa isa, struct sim_setup *out);
void sim_setup_fini(struct sim_setup *s);

/* A WIRE_CONFIG of n_bytes, malloc'd.  -SP_ENOMEM, or -SP_EFORMAT when the core files are too long for one. */
int sim_setup_message(const struct sim_setup *s, const struct record_opts *opts, struct wire_config **out,
                      size_t *n_bytes);

/* More than one set of events took turns. */
bool sim_setup_has_turns(const struct sim_setup *s);

#endif
