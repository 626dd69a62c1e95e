/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ran how often: from a corrected profile, or exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/binary/module.h"
#include "report/assemble/assemble.h"
#include "report/lift/lift.h"
#include "report/match/place.h"
#include "report/truth/truth.h"

static int alloc_modules(struct lift *l, size_t n)
{
	l->modules = calloc(n + 1, sizeof(*l->modules));
	l->profile_module = calloc(n + 1, sizeof(*l->profile_module));
	if (!l->modules || !l->profile_module)
		return sp_fail(SP_ENOMEM, "out of memory for %zu modules", n);
	l->n_modules = n;
	return 0;
}

/* The same binary is measured and analysed, or nothing is said. */
static int check_build(const struct module *m, const char *build_id, const char *who)
{
	if (module_state(m) != MODULE_OK || !build_id || !*build_id || !*module_build_id(m))
		return 0;
	if (strcmp(build_id, module_build_id(m)) == 0)
		return 0;
	return sp_fail(SP_EDOUBT,
	               "%s: its build id is %s, that of the %s %s: not the binary that ran; measure it again",
	               module_path(m), module_build_id(m), who, build_id);
}

static int open_truth_modules(const struct lift_opts *o, struct lift *l)
{
	const struct truth *t = l->truth;
	int err = alloc_modules(l, t->n_objects);

	for (size_t i = 0; i < l->n_modules && err == 0; i++) {
		err = module_open(t->objects[i], NULL, 0, &o->correct.modules, &l->modules[i]);
		if (err == 0)
			err = check_build(l->modules[i], t->build_ids ? t->build_ids[i] : "", "exact counts");
		l->profile_module[i] = -1;
		for (size_t k = 0; l->profile && k < l->profile->n_modules; k++)
			if (strcmp(l->profile->modules[k].path, t->objects[i]) == 0)
				l->profile_module[i] = (int32_t)k;
		if (err == 0 && l->profile_module[i] >= 0)
			err = check_build(l->modules[i], l->profile->modules[l->profile_module[i]].build_id,
			                  "recording");
	}
	return err;
}

static int open_profile_modules(const struct lift_opts *o, struct lift *l)
{
	const struct profile *p = l->profile;
	int err = alloc_modules(l, p->n_modules);

	for (size_t i = 0; i < l->n_modules && err == 0; i++) {
		err = module_open(p->modules[i].path, NULL, 0, &o->correct.modules, &l->modules[i]);
		l->profile_module[i] = (int32_t)i;
		/* A file the correction could not use is no file for us either: its counts are raw. */
		if (err == 0 && !*p->modules[i].trouble)
			err = check_build(l->modules[i], p->modules[i].build_id, "recording");
	}
	return err;
}

static int count_truth(const struct truth *t, struct lift_counts *out)
{
	out->v = calloc(t->n_insns + 1, sizeof(*out->v));
	if (!out->v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu instructions", t->n_insns);
	out->n = t->n_insns;
	for (size_t i = 0; i < t->n_insns; i++)
		out->v[i] = (struct lift_insn){ .module = t->insns[i].object,
			                        .vaddr = t->insns[i].vaddr,
			                        .n = (double)t->insns[i].n,
			                        .n_load = (double)t->insns[i].n_load,
			                        .n_miss = (double)t->insns[i].n_miss,
			                        .status = PROFILE_FIXED };
	return 0;
}

static int count_profile(const struct profile *p, struct lift_counts *out)
{
	out->v = calloc(p->n_insns + 1, sizeof(*out->v));
	if (!out->v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu instructions", p->n_insns);
	out->n = p->n_insns;
	for (size_t i = 0; i < p->n_insns; i++)
		out->v[i] = (struct lift_insn){ .module = p->insns[i].module,
			                        .vaddr = p->insns[i].vaddr,
			                        .n = p->insns[i].count.insn,
			                        .status = p->insns[i].status };
	return 0;
}

static int read_truth(const struct lift_opts *o, struct lift *l, struct lift_counts *out)
{
	int err = truth_read(o->truth, &l->truth);

	/* Branches and runs need the recording's files. */
	if (err == 0 && l->profile)
		err = match_place(l->profile, l->truth, o->truth, &o->correct.modules);
	if (err == 0 && !l->truth->n_insns && (l->truth->n_branches || l->truth->n_runs))
		err = sp_fail(SP_ENOTSUP,
		              "%s: %s, which names no file; give a recording of the program with -i",
		              o->truth, l->truth->format);
	if (err == 0 && !l->truth->n_insns)
		err = sp_fail(SP_ENOTSUP,
		              "%s: counts by function only; lift needs counts by instruction, as 'skidprof "
		              "truth' writes them",
		              o->truth);
	if (err == 0)
		err = open_truth_modules(o, l);
	return err < 0 ? err : count_truth(l->truth, out);
}

int lift_read(const struct lift_opts *o, struct lift *l, struct lift_counts *out)
{
	int err = 0;

	l->exact = o->truth != NULL;
	if (o->input_given || !o->truth)
		err = assemble_profile(&o->correct, &l->profile);
	if (err == 0 && o->truth)
		return read_truth(o, l, out);
	l->relative = err == 0 && l->profile->meta.relative;
	if (err == 0 && l->profile->meta.insn_event < 0 && !l->relative)
		err = sp_fail(SP_ENOTSUP,
		              "%s: neither an instructions event nor bursts were recorded: how often blocks "
		              "ran is not known; record with -e cycles,instructions or with --bursts, or "
		              "count with --truth",
		              o->correct.input);
	if (err == 0)
		err = open_profile_modules(o, l);
	if (err == 0)
		err = count_profile(l->profile, out);
	return err == 0 && l->relative ? lift_keep_regions(l, out) : err;
}

static size_t first_at(const struct profile *p, uint32_t module, uint64_t vaddr)
{
	size_t lo = 0, hi = p->n_insns;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct profile_insn *x = &p->insns[mid];

		if (x->module < module || (x->module == module && x->vaddr < vaddr))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t lift_profile_insns(const struct lift *l, uint32_t module, uint64_t vaddr, uint64_t end_vaddr,
                          size_t *first)
{
	int32_t m = l->profile_module[module];

	*first = 0;
	if (!l->profile || m < 0)
		return 0;
	*first = first_at(l->profile, (uint32_t)m, vaddr);
	return first_at(l->profile, (uint32_t)m, end_vaddr) - *first;
}
