/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recorder's counts, by file and offset, as a truth file. */
#include <stdlib.h>
#include <string.h>

#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "report/truth/build.h"
#include "report/truth/counts.h"
#include "report/truth/emit.h"

#ifndef SKIDPROF_VERSION
#define SKIDPROF_VERSION "unknown"
#endif

static int take_command(struct truth_build *b, int argc, char **argv)
{
	char *words = NULL;
	size_t n;
	FILE *f = mem_have(open_memstream(&words, &n));

	for (int i = 0; i < argc; i++)
		fprintf(f, "%s%s", i ? " " : "", argv[i]);
	if (fclose(f) != 0)
		return sp_fail(SP_ENOMEM, "out of memory");
	truth_build_text(b, &b->cmdline, words);
	free(words);
	return 0;
}

static int open_modules(const struct record_counts *c, struct truth_build *b, struct module **modules)
{
	const struct module_options opts = { 0 };
	int err = 0;

	for (size_t i = 0; i < c->n_files && err == 0; i++) {
		uint32_t object;

		truth_build_object(b, c->files[i], &object);
		if (c->files[i][0] == '/')
			err = module_open(c->files[i], NULL, 0, &opts, &modules[i]);
		if (err < 0 || !modules[i])
			continue;
		if (module_state(modules[i]) != MODULE_OK)
			sp_warn("%s: its instructions are written without function and line, by file "
			        "offset",
			        module_why(modules[i]));
		truth_build_id(b, object, module_build_id(modules[i]));
	}
	return err;
}

static void add_insns(const struct record_counts *c, struct truth_build *b, struct module *const *modules)
{
	uint32_t object;

	for (size_t i = 0; i < c->n; i++) {
		const struct record_count *x = &c->v[i];
		uint64_t vaddr;

		if (!modules[x->file] || !module_vaddr(modules[x->file], x->off, &vaddr))
			vaddr = x->off;
		vec_add(&b->insns, (struct truth_insn){ x->file, vaddr, x->n, x->n_load, x->n_miss });
	}
	if (c->n_unmapped) {
		truth_build_object(b, TRUTH_ANONYMOUS, &object);
		vec_add(&b->insns, (struct truth_insn){ object, 0, c->n_unmapped });
	}
}

static uint32_t object_of(struct truth_build *b, uint32_t file)
{
	uint32_t object = file;

	if (file == RECORD_NO_FILE)
		truth_build_object(b, TRUTH_ANONYMOUS, &object);
	return object;
}

/* Where the function begins that holds what was called: symbols that the recorder took for functions may be parts of one. */
static uint64_t begin_of(struct module *m, uint64_t off)
{
	uint64_t vaddr;
	long func;

	if (!m || !module_vaddr(m, off, &vaddr))
		return off;
	func = module_func_at(m, vaddr);
	return func < 0 ? vaddr : module_func(m, (size_t)func)->vaddr;
}

static void add_calls(const struct record_counts *c, struct truth_build *b, struct module *const *modules)
{
	for (size_t i = 0; i < c->n_calls; i++) {
		const struct record_call *x = &c->calls[i];
		struct truth_call call = { .from_object = TRUTH_NONE, .n = x->n, .n_insn = x->n_insn };

		if (!x->begins) {
			call.from_object = object_of(b, x->caller_file);
			call.from_vaddr = x->caller_file == RECORD_NO_FILE
			                          ? 0
			                          : begin_of(modules[x->caller_file], x->caller_off);
		}
		call.to_object = object_of(b, x->callee_file);
		call.to_vaddr = x->callee_file == RECORD_NO_FILE
		                        ? 0
		                        : begin_of(modules[x->callee_file], x->callee_off);
		vec_add(&b->calls, call);
	}
}

int truth_write_counts(const char *path, const struct record_counts *counts, int argc, char **argv)
{
	/* One more than there are files: code outside any has an object of its own, without a module. */
	struct module **modules = mem_calloc(counts->n_files + 1, sizeof(*modules));
	struct truth_build b = { 0 };
	struct truth *t = NULL;
	int err;

	b.creator = "skidprof " SKIDPROF_VERSION;
	err = take_command(&b, argc, argv);
	if (err == 0)
		err = open_modules(counts, &b, modules);
	if (err == 0)
		add_insns(counts, &b, modules);
	if (err == 0)
		add_calls(counts, &b, modules);
	if (err == 0)
		err = truth_build_finish(&b, &t);
	if (err == 0)
		err = truth_emit(path, t, modules);
	truth_free(t);
	truth_build_fini(&b);
	for (size_t i = 0; i < counts->n_files; i++)
		module_free(modules[i]);
	free(modules);
	return err;
}
