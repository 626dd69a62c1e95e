/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profiler/sim/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_config c;

	if (sim_config_parse((const char *)data, size, &c) < 0)
		return 0;
	/* What is accepted must be safe to build a core of. */
	if (!c.n_skid_bins || c.n_skid_bins > SIM_MAX_SKID_BINS || c.rob > SIM_MAX_ROB || !c.rob)
		abort();
	return 0;
}
