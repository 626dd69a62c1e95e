/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/match/place.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/vec.h"

int place_files_add(struct place_files *f, const char *path, const struct module_options *opts)
{
	struct module *m = NULL;
	int err;

	for (size_t i = 0; i < f->n; i++)
		if (strcmp(module_path(f->v[i]), path) == 0)
			return 0;
	err = module_open(path, NULL, 0, opts, &m);
	if (err < 0)
		return err;
	if (module_state(m) == MODULE_OK)
		vec_add(f, m);
	else
		module_free(m);
	return 0;
}

void place_files_fini(struct place_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		module_free(f->v[i]);
	vec_fini(f);
}

/* A file that is not the one recorded has other code: what doesn't match is not opened. */
static int open_files(const struct profile *p, const struct module_options *opts, struct place_files *f)
{
	int err = 0;

	for (size_t i = 0; i < p->n_modules && err == 0; i++)
		if (!*p->modules[i].trouble)
			err = place_files_add(f, p->modules[i].path, opts);
	for (size_t i = 0; i < p->n_mapped && err == 0; i++)
		if (p->mapped[i].module < 0)
			err = place_files_add(f, p->mapped[i].path, opts);
	return err;
}

int match_place(const struct profile *p, struct truth *t, const char *path, const struct module_options *opts)
{
	struct place_files files = { 0 };
	int err;

	if (!t->n_branches && !t->n_runs)
		return 0;
	err = open_files(p, opts, &files);
	if (err == 0)
		err = t->n_branches ? place_branches(t, path, &files) : place_runs(t, path, &files);
	place_files_fini(&files);
	return err;
}
