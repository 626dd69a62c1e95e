/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/predict_core.h"

#include <stdio.h>

#include "profiler/pmu/core.h"

int predict_core_text(const char *core, char *name, char **text, size_t *n_bytes)
{
	struct sim_core c;
	int err = sim_core_load(core, PROGRAM_X86_64, &c);

	if (err < 0)
		return err;
	snprintf(name, sizeof(c.name), "%s", c.name);
	*text = c.text;
	*n_bytes = c.n_bytes;
	return 0;
}
