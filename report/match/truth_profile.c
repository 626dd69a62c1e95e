/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile of exact counts alone: instructions of functions and lines, without cycles and without a recording. */
#include <math.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "report/assemble/func_index.h"
#include "report/assemble/listing.h"
#include "report/match/join.h"

static void add_modules(struct profile *p, const struct truth *t)
{
	p->modules = mem_calloc(t->n_objects + 1, sizeof(*p->modules));
	for (size_t i = 0; i < t->n_objects; i++) {
		const char *id = t->build_ids && t->build_ids[i] ? t->build_ids[i] : "";

		p->modules[i] = (struct profile_module){ profile_string(p, t->objects[i]),
			                                 profile_string(p, id), "" };
	}
	p->n_modules = t->n_objects;
}

static void add_insn(struct profile *p, struct func_index *funcs, struct module *m,
                     const struct truth_insn *t)
{
	struct profile_insn *insn = &p->insns[p->n_insns];
	const char *file = NULL;
	unsigned line = 0;
	long number;

	*insn = (struct profile_insn){ .vaddr = t->vaddr,
		                       .module = t->object,
		                       .region = -1,
		                       .block = UINT32_MAX,
		                       .status = PROFILE_FIXED,
		                       .text = "",
		                       .count = { .insn = (double)t->n, .lo = NAN, .hi = NAN } };
	func_index_find(funcs, t->object, m, t->vaddr, &insn->func, &insn->phys_func);
	module_line(m, t->vaddr, &file, &line);
	number = func_index_file(funcs, file, module_file_dir(m, file));
	insn->file = (uint32_t)number;
	insn->line = line;
	p->n_insns++;
	p->funcs[insn->func].count.insn += (double)t->n;
	p->funcs[insn->phys_func].rolled.insn += (double)t->n;
}

static int add_object(struct profile *p, struct func_index *funcs, const struct truth *t, size_t first,
                      size_t end, const struct module_options *opts, bool texts)
{
	struct module *m = NULL;
	size_t had = p->n_insns;
	int err = module_open(t->objects[t->insns[first].object], NULL, 0, opts, &m);

	if (err < 0)
		return err;
	if (module_state(m) != MODULE_OK)
		p->modules[t->insns[first].object].trouble = profile_string(p, module_why(m));
	for (size_t i = first; i < end; i++)
		add_insn(p, funcs, m, &t->insns[i]);
	if (texts)
		listing_fill_texts(p, m, had, p->n_insns);
	module_free(m);
	return 0;
}

static int fill(struct profile *p, struct func_index *funcs, const struct truth *t,
                const struct module_options *opts, bool texts)
{
	int err = 0;

	add_modules(p, t);
	p->insns = mem_calloc(t->n_insns + 1, sizeof(*p->insns));
	for (size_t i = 0, j; i < t->n_insns && err == 0; i = j) {
		for (j = i; j < t->n_insns && t->insns[j].object == t->insns[i].object; j++)
			;
		err = add_object(p, funcs, t, i, j, opts, texts);
	}
	for (size_t f = 0; f < p->n_funcs; f++) {
		p->funcs[f].status = p->funcs[f].rolled_status = PROFILE_FIXED;
		p->funcs[f].evidence = p->funcs[f].rolled_evidence = PROFILE_BY_TRUTH;
		p->funcs[f].calls.n = NAN;
	}
	return err;
}

int match_profile(const struct truth *t, const char *path, const struct module_options *opts, bool texts,
                  struct profile **out)
{
	struct profile *p = mem_calloc(1, sizeof(*p));
	struct func_index *funcs = NULL;
	int err;

	if (!t->n_insns) {
		profile_free(p);
		if (t->n_branches || t->n_runs)
			return sp_fail(SP_ENOTSUP, "%s: %s, which names no file: only a recording tells it",
			               path, t->format);
		return sp_fail(SP_ENOTSUP,
		               "%s: counts by function only; counts by instruction are needed, as "
		               "'skidprof truth' writes them",
		               path);
	}
	p->meta = (struct profile_meta){
		.insn_event = -1, .cyc_event = -1, .method = "truth", .truth_why = "", .cyc_per_event = 1
	};
	p->meta.input = p->meta.truth = profile_string(p, path);
	p->meta.cmdline = profile_string(p, t->cmdline);
	p->meta.pmu = p->meta.hostname = p->meta.cpudesc = "";
	func_index_new(p, &funcs);
	err = fill(p, funcs, t, opts, texts);
	func_index_free(funcs);
	if (err < 0) {
		profile_free(p);
		return err;
	}
	*out = p;
	return 0;
}
