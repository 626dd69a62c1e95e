/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PERIOD_H
#define SKIDPROF_PMU_PERIOD_H

/* What a processor's event is sampled every so often costs in truth: said, not refused. */
#include <stdint.h>

void period_judge(uint64_t period);

#endif
