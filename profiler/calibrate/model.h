/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_MODEL_H
#define SKIDPROF_CALIBRATE_MODEL_H

/*
 * Cliffs on the simulated core: the same bytes as on the processor.  What they
 * do is traced once; any number of cores then run the trace.
 */
#include "profiler/calibrate/cliff.h"
#include "profiler/sim/config.h"

struct cliff_model;

/*
 * arena  the memory the code walks over; borrowed, also used by the processor's runs.
 * -SP_ENOMEM.
 */
int cliff_model_open(struct cliff_arena *arena, struct cliff_model **out);
void cliff_model_close(struct cliff_model *m);

/*
 * Responses of a curve whose pressures are given, on the core of config.  The
 * first call for a pressure traces it.  Their spread is 0.
 *
 * Returns 0; what cliff_emit and walk_x86 return; -SP_ENOMEM.
 */
int cliff_run_model(struct cliff_model *m, const struct sim_config *config, const struct cliff *c,
                    struct cliff_curve *curve);

#endif
