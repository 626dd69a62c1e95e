/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/assemble/cut_stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/model/model.h"
#include "profiler/base/begins.h"
#include "profiler/base/err.h"

/* Does a thread begin in it, as the C library's, the loader's, or Go's do?  main() is called by code without frame pointers. */
static bool is_entry(const struct profile *p, uint32_t func)
{
	static const char *const names[] = {
		"main", "clone", "__clone", "clone3", "__clone3", "start_thread"
	};
	static const char *const beginnings[] = {
		"_start",         "__libc_start",       "_dl_start",
		"runtime.goexit", "runtime.mstart",     "runtime.mcall",
		"runtime.rt0_go", "runtime.asmcgocall", "runtime.systemstack"
	};
	const struct profile_func *f = &p->funcs[func];
	const char *file = f->module < p->n_modules ? strrchr(p->modules[f->module].path, '/') : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(f->name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (begins(f->name, beginnings[i]))
			return true;
	/* Without symbols of the C library it is nobody's name that calls main(). */
	return f->name[0] == '[' && file && begins(file, "/libc.so");
}

static uint32_t top_of(const struct profile *p, uint32_t frame)
{
	while (p->frames[frame].parent)
		frame = p->frames[frame].parent;
	return frame;
}

/* Has the frame samples that are on a cut stack? */
static bool is_cut(const struct profile *p, uint32_t i)
{
	const struct profile_frame *f = &p->frames[i];

	return (f->raw_insn > 0 || f->raw_cyc > 0) && !is_entry(p, p->frames[top_of(p, i)].func);
}

static bool may_be_cut(const struct profile *p)
{
	return p->n_frames && p->meta.chains && strcmp(p->meta.chains, "frame pointers") == 0;
}

double cut_stacks_share(const struct profile *p)
{
	double all[2] = { 0 }, cut[2] = { 0 };
	int by;

	if (!may_be_cut(p))
		return 0;
	for (uint32_t i = 1; i < p->n_frames; i++) {
		bool is = is_cut(p, i);

		all[0] += p->frames[i].raw_cyc;
		all[1] += p->frames[i].raw_insn;
		cut[0] += is ? p->frames[i].raw_cyc : 0;
		cut[1] += is ? p->frames[i].raw_insn : 0;
	}
	by = all[1] > 0;
	return all[by] > 0 ? cut[by] / all[by] : 0;
}

int cut_stacks_bounds(const struct profile *p, const double *insn, struct inclusive *out)
{
	struct inclusive all = { 0 }, *on;
	uint32_t *last; /* frame + 1 that counted for a function last */

	if (cut_stacks_share(p) <= model->little)
		return 0;
	on = calloc(p->n_funcs + 1, sizeof(*on));
	last = calloc(p->n_funcs + 1, sizeof(*last));
	for (uint32_t i = 1; on && last && i < p->n_frames; i++) {
		if (!is_cut(p, i))
			continue;
		all.insn += insn[i];
		all.cyc += p->frames[i].raw_cyc;
		for (uint32_t at = i; at; at = p->frames[at].parent) {
			uint32_t func = p->frames[at].func;

			on[func].insn += last[func] == i + 1 ? 0 : insn[i];
			on[func].cyc += last[func] == i + 1 ? 0 : p->frames[i].raw_cyc;
			last[func] = i + 1;
		}
	}
	for (size_t f = 0; on && last && f < p->n_funcs; f++)
		if (out[f].insn > 0 || out[f].cyc > 0)
			out[f].hi += inclusive_is_of_insn(p) ? all.insn - on[f].insn : all.cyc - on[f].cyc;
	free(last);
	free(on);
	return on && last ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
}

void cut_stacks_judge(const struct profile *p, struct inclusive *out)
{
	if (cut_stacks_share(p) <= model->little)
		return;
	for (size_t f = 0; f < p->n_funcs; f++)
		if (out[f].hi - out[f].lo > model->little * out[f].hi)
			out[f].raw_insn = out[f].insn = out[f].cyc = NAN;
}
