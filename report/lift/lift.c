/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/lift.h"

#include <stdlib.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "report/truth/truth.h"

int lift_run(const struct lift_opts *o, struct lift *l)
{
	struct lift_counts counts = { 0 };
	int err;

	*l = (struct lift){ .argv = o->argv };
	err = lift_read(o, l, &counts);
	if (err == 0)
		err = lift_cut(o, &counts, l);
	if (err == 0)
		err = lift_find_target(o, l);
	/* Before tools that leave a process running: measuring waits for all children. */
	if (err == 0 && o->measure)
		err = lift_measure(l);
	if (err == 0)
		err = tools_open(o->tools, o->n_tools, &l->target, &l->tools, &l->n_tools);
	/* A tool that was asked for and needs to know has failed; one of those that are merely there was left out. */
	if (err == 0 && !*l->cpu && o->n_tools == 0)
		sp_warn("which core the code ran on is not known ('%s'): --cpu NAME tells, by LLVM's name",
		        l->cpudesc);
	if (err == 0)
		err = lift_predict(l, o->no_cache);
	if (err == 0)
		err = lift_sum_up(l);
	free(counts.v);
	return err;
}

void lift_free(struct lift *l)
{
	for (size_t i = 0; i < l->n_kernels; i++)
		free(l->kernels[i].sums);
	for (size_t i = 0; i < l->n_modules; i++)
		module_free(l->modules[i]);
	tools_close(l->tools, l->n_tools);
	free(l->modules);
	free(l->profile_module);
	free(l->kernels);
	free(l->blocks);
	free(l->predictions);
	free(l->scores);
	profile_free(l->profile);
	truth_free(l->truth);
	*l = (struct lift){ 0 };
}
