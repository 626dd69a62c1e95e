/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that have one name: overloads, instances of a template, and local ones of several files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/binary/module.h"
#include "report/assemble/assemble_impl.h"
#include "report/assemble/names.h"

/* "17h0123456789abcdefE": what ends a name of Rust's first mangling; so many of its letters tell enough. */
enum { RUST_HASH = 20, SHOWN_HASH = 9 };

static const char *told(const struct profile_func *f)
{
	return f->full ? f->full : f->name;
}

static int by_name(const void *a, const void *b)
{
	const struct profile_func *x = *(const struct profile_func *const *)a,
	                          *y = *(const struct profile_func *const *)b;
	int order = strcmp(told(x), told(y));

	return order ? order : (x > y) - (x < y);
}

/* "f" and "f [there]" -> "f [mark]": a mark that does not tell enough gives way to the next. */
static void set_mark(struct profile *p, struct profile_func *f, const char *mark)
{
	const char *name = told(f);
	size_t n = strlen(name);
	char *full;

	if (!mark || !*mark)
		return;
	if (f->full && name[n - 1] == ']')
		while (n && strncmp(name + n, " [", 2) != 0)
			n--;
	n = n ? n : strlen(name);
	/* "[vdso]" has its brackets. */
	full = mem_printf(*mark == '[' ? "%.*s %s" : "%.*s [%s]", (int)n, name, mark);
	f->full = profile_string(p, full);
	free(full);
}

/* ---- what tells them apart, the most telling first ---- */

/* The functions of one name: sorted[0..n). */
struct namesakes {
	struct profile *p;
	struct profile_func **sorted;
	size_t n;
	size_t first;          /* p->funcs before that have the names they had */
	const uint64_t *entry; /* [n_funcs] of its own code, 0 = all of it is inlined; NULL = not known */
};

/* "ns::f(int)", what the linker's name stands for; else where it was declared. */
static void mark_declaration(const struct namesakes *s, struct profile_func *f)
{
	struct profile *p = s->p;
	char *full = f->linkage ? module_full_name(f->linkage) : NULL, place[256];
	const char *file = f->file < p->n_files ? p->files[f->file] : "", *slash = strrchr(file, '/');
	bool differs = full && strcmp(full, f->name) != 0;

	if (differs)
		f->full = profile_string(p, full);
	free(full);
	if (differs)
		return;
	snprintf(place, sizeof(place), "%.200s:%u", slash ? slash + 1 : file, f->line);
	set_mark(p, f, f->line && *file ? place : NULL);
}

/* Closures may stand on one line. */
static void mark_column(const struct namesakes *s, struct profile_func *f)
{
	struct profile *p = s->p;
	const char *file = f->file < p->n_files ? p->files[f->file] : "", *slash = strrchr(file, '/');
	char place[256];
	bool differ = false;

	for (size_t i = 1; i < s->n; i++)
		differ |= s->sorted[i]->column != s->sorted[0]->column;
	snprintf(place, sizeof(place), "%.200s:%u:%u", slash ? slash + 1 : file, f->line, f->column);
	set_mark(p, f, differ && *file ? place : NULL);
}

/* The path of a function's module, "" where all of the name are in one. */
static const char *path_that_tells(const struct namesakes *s, const struct profile_func *f)
{
	const struct profile *p = s->p;
	bool differ = false;

	for (size_t i = 1; i < s->n; i++)
		differ |= s->sorted[i]->module != s->sorted[0]->module;
	if (!differ)
		return "";
	if (f->module < p->n_modules)
		return p->modules[f->module].path;
	return f->module - p->n_modules < p->n_unsampled ? p->unsampled[f->module - p->n_modules] : "";
}

static void mark_module(const struct namesakes *s, struct profile_func *f)
{
	const char *path = path_that_tells(s, f), *slash = strrchr(path, '/');

	set_mark(s->p, f, slash ? slash + 1 : path);
}

/* Modules of one name in two directories. */
static void mark_path(const struct namesakes *s, struct profile_func *f)
{
	set_mark(s->p, f, path_that_tells(s, f));
}

/* Where its code is; what has none by itself has a name for the linker alone, which ends in a number of its own in Rust. */
static void mark_code(const struct namesakes *s, struct profile_func *f)
{
	struct profile *p = s->p;
	uint64_t entry = s->entry ? s->entry[f - p->funcs] : 0;
	size_t n = strlen(f->linkage);
	char mark[32];

	if (entry) {
		snprintf(mark, sizeof(mark), "0x%" PRIx64, entry);
		set_mark(p, f, mark);
		return;
	}
	if (n < RUST_HASH || strncmp(f->linkage + n - RUST_HASH, "17h", 3) != 0) {
		set_mark(p, f, f->linkage);
		return;
	}
	snprintf(mark, sizeof(mark), "%.*s", SHOWN_HASH, f->linkage + n - RUST_HASH + 2);
	set_mark(p, f, mark);
}

/* Mark all functions that others are called like. */
static void tell_apart(const struct namesakes *all,
                       void (*mark)(const struct namesakes *, struct profile_func *))
{
	struct profile_func **sorted = all->sorted;

	if (all->n)
		qsort(sorted, all->n, sizeof(struct profile_func *), by_name);
	for (size_t i = 0, end; i < all->n; i = end) {
		struct namesakes same = *all;
		const char *name = told(sorted[i]);

		for (end = i + 1; end < all->n && strcmp(told(sorted[end]), name) == 0;)
			end++;
		same.sorted = sorted + i;
		same.n = end - i;
		for (size_t k = i; k < end && same.n > 1; k++)
			if (sorted[k] >= all->p->funcs + all->first)
				mark(&same, sorted[k]);
	}
}

static void find_entries(const struct assembly *a, uint64_t *entry)
{
	const struct profile *p = a->p;

	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];
		const struct module *m =
		        insn->module < a->w->rec->n_modules ? a->w->rec->modules[insn->module] : NULL;
		long at = m && !entry[insn->phys_func] ? module_func_at(m, insn->vaddr) : -1;

		if (at >= 0)
			entry[insn->phys_func] = module_func(m, (size_t)at)->vaddr;
	}
}

static void set_aliases(const struct assembly *a, struct profile_func *f)
{
	struct module *m = f->module < a->w->rec->n_modules ? a->w->rec->modules[f->module] : NULL;
	const char *aliases = m ? module_aliases(m, f->linkage) : NULL;

	if (!aliases)
		return;
	f->aliases = profile_string(a->p, aliases);
}

void names_tell_apart(struct profile *p, size_t first, const uint64_t *entry)
{
	static void (*const marks[])(const struct namesakes *,
	                             struct profile_func *) = { mark_declaration, mark_column, mark_module,
		                                                mark_path, mark_code };
	struct profile_func **sorted = mem_calloc(p->n_funcs + 1, sizeof(*sorted));
	const struct namesakes all = { p, sorted, p->n_funcs, first, entry };

	for (size_t i = 0; i < p->n_funcs; i++)
		sorted[i] = &p->funcs[i];
	for (size_t i = 0; first < p->n_funcs && i < sizeof(marks) / sizeof(marks[0]); i++)
		tell_apart(&all, marks[i]);
	free(sorted);
}

void assemble_names(struct assembly *a)
{
	uint64_t *entry = mem_calloc(a->p->n_funcs + 1, sizeof(*entry));

	for (size_t i = 0; i < a->p->n_funcs; i++)
		set_aliases(a, &a->p->funcs[i]);
	find_entries(a, entry);
	names_tell_apart(a->p, 0, entry);
	free(entry);
}
