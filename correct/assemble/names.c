/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that have one name: overloads, instances of a template, and local ones of several files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/assemble/assemble_impl.h"
#include "correct/binary/module.h"
#include "profiler/base/err.h"

static int by_name(const void *a, const void *b)
{
	const struct profile_func *x = *(const struct profile_func *const *)a,
	                          *y = *(const struct profile_func *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x > y) - (x < y);
}

/* "ns::f(int)", what the linker's name stands for; else where it was declared. */
static int set_full(struct profile *p, struct profile_func *f)
{
	char *full = f->linkage ? module_full_name(f->linkage) : NULL;
	const char *file = f->file < p->n_files ? p->files[f->file] : "", *slash = strrchr(file, '/');

	if (full && strcmp(full, f->name) == 0) {
		free(full);
		full = NULL;
	}
	if (!full && f->line && *file &&
	    asprintf(&full, "%s [%s:%u]", f->name, slash ? slash + 1 : file, f->line) < 0)
		return sp_fail(SP_ENOMEM, "out of memory");
	if (!full)
		return 0;
	f->full = profile_string(p, full);
	free(full);
	return f->full ? 0 : -SP_ENOMEM;
}

static int set_aliases(const struct assembly *a, struct profile_func *f)
{
	struct module *m = f->module < a->w->rec->n_modules ? a->w->rec->modules[f->module] : NULL;
	const char *aliases = m ? module_aliases(m, f->linkage) : NULL;

	if (!aliases)
		return 0;
	f->aliases = profile_string(a->p, aliases);
	return f->aliases ? 0 : -SP_ENOMEM;
}

int assemble_names(struct assembly *a)
{
	struct profile *p = a->p;
	struct profile_func **sorted = calloc(p->n_funcs + 1, sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	for (size_t i = 0; i < p->n_funcs; i++) {
		sorted[i] = &p->funcs[i];
		if (err == 0)
			err = set_aliases(a, &p->funcs[i]);
	}
	if (p->n_funcs)
		qsort(sorted, p->n_funcs, sizeof(struct profile_func *), by_name);
	for (size_t i = 0, end; i < p->n_funcs && err == 0; i = end) {
		for (end = i + 1; end < p->n_funcs && strcmp(sorted[end]->name, sorted[i]->name) == 0;)
			end++;
		for (size_t k = i; k < end && end - i > 1 && err == 0; k++)
			err = set_full(p, sorted[k]);
	}
	free(sorted);
	return err;
}
