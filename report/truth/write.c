/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing exact counts in callgrind's format: see "Callgrind Format Specification" in valgrind's manual. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/tidy.h"
#include "report/truth/emit.h"

struct emit {
	FILE *f;
	const struct truth *t;
	struct module *module;     /* of the object being written */
	struct texts files, funcs; /* a name is written once and numbered, from 1 */
	long func;                 /* index in the module of the function being written */
	bool begun;                /* a function of this object has been begun */
	const char *func_file;     /* its fl= */
	const char *file;          /* what lines refer to now */
	bool *named;               /* [n_objects] its path has been written */
};

static int put_name(struct emit *e, const char *key, const char *text, struct texts *names)
{
	size_t n_known = names->v.n;
	long i = texts_number(names, text, strlen(text));

	if (i < 0)
		return (int)i;
	fprintf(e->f, "%s=(%ld)", key, i + 1);
	if ((size_t)i < n_known)
		fputc('\n', e->f);
	else
		fprintf(e->f, " %s\n", text);
	return 0;
}

/* Of the function that holds vaddr; the module keeps them. */
static void name_func(struct module *m, uint64_t vaddr, const char **name, const char **file)
{
	struct module_inlining inlinings[MODULE_MAX_INLININGS];
	size_t n = m ? module_inlinings(m, vaddr, inlinings) : 0;
	long func = m && n == 0 ? module_func_at(m, vaddr) : -1;

	*file = n && inlinings[n - 1].file ? inlinings[n - 1].file : "???";
	*name = n && inlinings[n - 1].name ? inlinings[n - 1].name
	        : func >= 0                ? module_func(m, (size_t)func)->name
	                                   : "???";
}

/* fl= and fn= of the function that holds vaddr. */
static int begin_func(struct emit *e, uint64_t vaddr)
{
	const char *file, *name;
	int err;

	name_func(e->module, vaddr, &name, &file);
	e->func_file = e->file = file;
	err = put_name(e, "\nfl", file, &e->files);
	e->begun = true;
	return err < 0 ? err : put_name(e, "fn", name, &e->funcs);
}

/* An inlined function's lines are in another file: fi= enters it, fe= comes back. */
static int change_file(struct emit *e, const char *file)
{
	e->file = file;
	return put_name(e, strcmp(file, e->func_file) == 0 ? "fe" : "fi", file, &e->files);
}

/* Costs in the order of "events:"; zeros at the end are left away.  Without caches there is only Ir. */
static void put_costs(const struct emit *e, uint64_t n, uint64_t n_load, uint64_t n_miss)
{
	fprintf(e->f, "%ju", (uintmax_t)n);
	if (e->t->total_miss && n_load)
		fprintf(e->f, n_miss ? " %ju %ju" : " %ju", (uintmax_t)n_load, (uintmax_t)n_miss);
	fputc('\n', e->f);
}

static int put_insn(struct emit *e, const struct truth_insn *insn)
{
	const char *file = NULL;
	unsigned line = 0;
	long func = -1;
	int err = 0;

	if (e->module) {
		func = module_func_at(e->module, insn->vaddr);
		module_line(e->module, insn->vaddr, &file, &line);
	}
	if (!e->begun || func != e->func) {
		e->func = func;
		err = begin_func(e, insn->vaddr);
	}
	/* Without a line the file stays as it is, and the line is 0: unknown. */
	if (err == 0 && file && strcmp(file, e->file) != 0)
		err = change_file(e, file);
	fprintf(e->f, "0x%jx %u ", (uintmax_t)insn->vaddr, file ? line : 0);
	put_costs(e, insn->n, insn->n_load, insn->n_miss);
	return err;
}

/* A line end in a file name or argument would begin a line of its own. */
static void put_text(FILE *f, const char *key, const char *text)
{
	fputs(key, f);
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, f);
	fputc('\n', f);
}

static void put_header(struct emit *e)
{
	const struct truth *t = e->t;

	fputs("# callgrind format\nversion: 1\n", e->f);
	put_text(e->f, "creator: ", t->creator);
	put_text(e->f, "cmd: ", t->cmdline);
	fputs("part: 1\n\ndesc: Counts: every instruction executed in user mode, exact\n", e->f);
	for (size_t i = 0; i < t->n_objects; i++) {
		if (!*t->build_ids[i])
			continue;
		fprintf(e->f, "desc: Build id: %s ", t->build_ids[i]);
		put_text(e->f, "", t->objects[i]);
	}
	fprintf(e->f, "\npositions: instr line\nevents: %s\nsummary: ", t->total_miss ? "Ir Dr D1mr" : "Ir");
	put_costs(e, t->total, t->total_load, t->total_miss);
}

enum { PROGRESS_INSNS = 1024 };

/* Objects are few and numbered: theirs need no tree. */
static void put_object(struct emit *e, const char *key, uint32_t object)
{
	fprintf(e->f, "%s=(%u)%s", key, object + 1, e->named[object] ? "\n" : " ");
	if (!e->named[object])
		put_text(e->f, "", e->t->objects[object]);
	e->named[object] = true;
}

/* ob= and fn= of what calls: it has been written before as a function with its own costs, or nobody calls. */
static int begin_caller(struct emit *e, const struct truth_call *c, struct module *const *modules)
{
	int err;

	fputc('\n', e->f);
	if (c->from_object == TRUTH_NONE) {
		fprintf(e->f, "ob=(%zu) " TRUTH_THREADS "\n", e->t->n_objects + 1);
		err = put_name(e, "fl", "???", &e->files);
		return err < 0 ? err : put_name(e, "fn", TRUTH_THREADS, &e->funcs);
	}
	put_object(e, "ob", c->from_object);
	e->module = modules[c->from_object];
	return begin_func(e, c->from_vaddr);
}

static int put_call(struct emit *e, const struct truth_call *c, struct module *m)
{
	const char *file, *name;
	int err;

	name_func(m, c->to_vaddr, &name, &file);
	put_object(e, "cob", c->to_object);
	err = put_name(e, "cfi", file, &e->files);
	if (err == 0)
		err = put_name(e, "cfn", name, &e->funcs);
	fprintf(e->f, "calls=%ju 0x%jx 0\n0x%jx 0 %ju\n", (uintmax_t)c->n, (uintmax_t)c->to_vaddr,
	        (uintmax_t)(c->from_object == TRUTH_NONE ? 0 : c->from_vaddr), (uintmax_t)c->n_insn);
	return err;
}

/* Sorted by who calls. */
static int put_calls(struct emit *e, struct module *const *modules)
{
	const struct truth *t = e->t;
	int err = 0;

	for (size_t i = 0; i < t->n_calls && err == 0; i++) {
		const struct truth_call *c = &t->calls[i];

		if (i == 0 || c[-1].from_object != c->from_object || c[-1].from_vaddr != c->from_vaddr)
			err = begin_caller(e, c, modules);
		if (err == 0)
			err = put_call(e, c, modules[c->to_object]);
	}
	return err;
}

static int put_objects(struct emit *e, struct module *const *modules)
{
	const struct truth *t = e->t;
	uint32_t object = 0;
	int err = 0;

	for (size_t i = 0; i < t->n_insns && err == 0; i++) {
		if (i == 0 || t->insns[i].object != object) {
			object = t->insns[i].object;
			e->module = modules[object];
			e->begun = false;
			fputc('\n', e->f);
			put_object(e, "ob", object);
		}
		err = put_insn(e, &t->insns[i]);
		if (i % PROGRESS_INSNS == 0)
			sp_progress("writing exact counts", i, t->n_insns);
	}
	sp_progress_end();
	if (err == 0)
		err = put_calls(e, modules);
	fputs("\ntotals: ", e->f);
	put_costs(e, t->total, t->total_load, t->total_miss);
	return err;
}

/* A new file beside path, so that the rename stays in one file system. */
static int open_beside(const char *path, char **tmp, FILE **f)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	*tmp = mem_printf("%s.XXXXXX", path);
	fd = mkostemp(*tmp, O_CLOEXEC);
	if (fd < 0)
		return sp_fail_errno("%s: cannot be written; choose another place with -o", path);
	/* mkostemp makes it private; a result is as readable as any file of the user's. */
	fchmod(fd, 0666 & ~mask);
	*f = fdopen(fd, "w");
	if (*f)
		return 0;
	close(fd);
	unlink(*tmp);
	return sp_fail(SP_ENOMEM, "out of memory");
}

static int close_renamed(const char *path, const char *tmp, FILE *f, int err)
{
	bool failed = ferror(f);

	if (fclose(f) != 0)
		failed = true;
	if (err == 0 && failed)
		err = sp_fail_errno("%s: the exact counts could not be written; make room, or choose another "
		                    "place with -o",
		                    path);
	if (err == 0 && rename(tmp, path) < 0)
		err = sp_fail_errno("%s: the exact counts are in %s", path, tmp);
	else if (err < 0)
		unlink(tmp);
	return err;
}

int truth_emit(const char *path, const struct truth *t, struct module *const *modules)
{
	struct emit e = { .t = t, .named = mem_calloc(t->n_objects + 1, sizeof(*e.named)) };
	char *tmp = NULL;
	int err, tidy;

	/* Devices and pipes can't be renamed over: "-o /dev/stdout" is meant as it stands. */
	struct stat st;
	bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode);

	if (special) {
		e.f = fopen(path, "we");
		err = e.f ? 0 : sp_fail_errno("%s", path);
	} else {
		err = open_beside(path, &tmp, &e.f);
	}
	if (err < 0)
		goto out;
	tidy = special ? -1 : tidy_path(tmp);
	put_header(&e);
	err = put_objects(&e, modules);
	if (!special)
		err = close_renamed(path, tmp, e.f, err);
	else if (fclose(e.f) != 0 && err == 0)
		err = sp_fail_errno("%s: the exact counts could not be written; choose another place with -o",
		                    path);
	tidy_path_done(tidy);
out:
	texts_fini(&e.files);
	texts_fini(&e.funcs);
	free(e.named);
	free(tmp);
	return err;
}
