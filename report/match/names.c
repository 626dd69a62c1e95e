/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/match/names.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "report/match/place.h"
#include "report/truth/truth.h"

/* As with instructions (match.c): more than this that the recording's files don't have is another program's. */
static const double max_unknown = 0.01;

/* A name a function goes by. */
struct alias {
	const char *name;
	size_t n; /* bytes of it that count */
	uint32_t func;
};

static int alias_order(const char *a, size_t n_a, const char *b, size_t n_b)
{
	int order = memcmp(a, b, n_a < n_b ? n_a : n_b);

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

bool names_is_stub(const char *linkage)
{
	size_t n = linkage ? strlen(linkage) : 0;

	return n > 4 && strcmp(linkage + n - 4, "@plt") == 0;
}

static int by_alias(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;
	int order = alias_order(x->name, x->n, y->name, y->n);

	return order ? order : (x->func > y->func) - (x->func < y->func);
}

/* The kinds of names, best first.  Debug information has no linkage name of a function that only its own file knows: its symbol has. */
enum alias_kind { ALIAS_LINKAGE, ALIAS_SYMBOL, ALIAS_FULL, ALIAS_NAME, ALIAS_BARE, N_ALIASES };

/* symbol: the one that its code has, or NULL. */
static void alias_of(struct profile *p, uint32_t func, const char *symbol, enum alias_kind kind,
                     struct alias *out)
{
	const struct profile_func *f = &p->funcs[func];
	const char *name = f->linkage;
	char *full = NULL;

	if (kind == ALIAS_NAME || kind == ALIAS_BARE)
		name = f->name;
	if (kind == ALIAS_SYMBOL && symbol)
		name = symbol;
	if (kind == ALIAS_FULL)
		full = module_full_name(f->linkage);
	if (kind == ALIAS_FULL && !full && symbol)
		full = module_full_name(symbol);
	if (full)
		name = profile_string(p, full);
	free(full);
	*out = (struct alias){ name, kind == ALIAS_BARE ? strcspn(name, "(") : strlen(name), func };
}

static size_t first_alias(const struct alias *aliases, size_t n, const char *name)
{
	size_t n_name = strlen(name);
	size_t lo = sorted_count(n, k, alias_order(aliases[k].name, aliases[k].n, name, n_name) < 0);

	return lo;
}

/* Give functions of that name to the truth's number t; false when none is left of that name. */
static bool take_alias(const struct alias *aliases, size_t n, const char *name, uint32_t t, uint32_t *owner)
{
	size_t i = first_alias(aliases, n, name), n_name = strlen(name);
	bool any = false;

	for (; i < n && alias_order(aliases[i].name, aliases[i].n, name, n_name) == 0; i++) {
		if (owner[aliases[i].func] != UINT32_MAX)
			continue;
		owner[aliases[i].func] = t;
		any = true;
	}
	return any;
}

void names_match(struct profile *p, const char *const *symbols, const struct truth_func *funcs, size_t n,
                 uint32_t *owner)
{
	struct alias *aliases = mem_calloc(p->n_funcs + 1, sizeof(*aliases));
	bool *done = mem_calloc(n + 1, sizeof(*done));

	for (size_t i = 0; i < p->n_funcs; i++)
		owner[i] = UINT32_MAX;
	for (int kind = 0; kind < N_ALIASES; kind++) {
		for (size_t i = 0; i < p->n_funcs; i++)
			alias_of(p, (uint32_t)i, symbols[i], (enum alias_kind)kind, &aliases[i]);
		qsort(aliases, p->n_funcs, sizeof(*aliases), by_alias);
		for (size_t i = 0; i < n; i++)
			if (!done[i])
				done[i] = take_alias(aliases, p->n_funcs, funcs[i].name, (uint32_t)i, owner);
	}
	free(aliases);
	free(done);
}

/* Symbol tables of all files of the recording. */
struct tables {
	struct place_files files;
	struct texts known; /* linkage names, names, and names without parameters */
};

static void know_one(struct tables *t, const char *name, size_t len)
{
	texts_add(&t->known, name, len);
}

/* A function under each name that a tool may give it. */
static void know(struct tables *t, const char *name, const char *linkage)
{
	char *full = module_full_name(linkage);

	know_one(t, name, SIZE_MAX);
	know_one(t, linkage, SIZE_MAX);
	know_one(t, name, strcspn(name, "("));
	if (full)
		know_one(t, full, SIZE_MAX);
	free(full);
}

static int open_tables(const struct profile *p, const struct module_options *opts, struct tables *t)
{
	int err = 0;

	for (size_t i = 0; i < p->n_mapped && err == 0; i++)
		err = place_files_add(&t->files, p->mapped[i].path, opts);
	for (size_t i = 0; i < p->n_modules && err == 0; i++)
		err = place_files_add(&t->files, p->modules[i].path, opts);
	for (size_t k = 0; k < t->files.n; k++)
		for (size_t i = 0; i < module_n_funcs(t->files.v[k]); i++)
			know(t, module_func(t->files.v[k], i)->name, module_func(t->files.v[k], i)->linkage);
	/* What the profile itself names is known whatever the files are. */
	for (size_t i = 0; i < p->n_funcs && err == 0; i++)
		know(t, p->funcs[i].name, p->funcs[i].linkage);
	return err;
}

/* The symbols of physical functions, [p->n_funcs], which are the tables'; NULL: none is known. */
static const char **symbols_of(const struct profile *p, const struct tables *t)
{
	const char **symbols = mem_calloc(p->n_funcs + 1, sizeof(*symbols));
	const struct module *file = NULL;
	uint32_t module = UINT32_MAX;

	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *in = &p->insns[i];
		long at;

		if (in->module >= p->n_modules || in->phys_func >= p->n_funcs || symbols[in->phys_func])
			continue;
		/* Instructions are sorted by module. */
		if (in->module != module) {
			module = in->module;
			file = NULL;
			for (size_t k = 0; k < t->files.n; k++)
				if (strcmp(module_path(t->files.v[k]), p->modules[module].path) == 0)
					file = t->files.v[k];
		}
		at = file ? module_func_at(file, in->vaddr) : -1;
		/* What a compiler moved out of a function is that function's (join_cold_part). */
		if (at >= 0 && !module_func(file, (size_t)at)->made_up &&
		    !strstr(module_func(file, (size_t)at)->linkage, ".cold"))
			symbols[in->phys_func] = module_func(file, (size_t)at)->linkage;
	}
	return symbols;
}

static void close_tables(struct tables *t)
{
	place_files_fini(&t->files);
	texts_fini(&t->known);
}

/* "f@@VERS_1" and "f@VERS_1" are f of a version, "f'2" is f called by itself. */
static size_t plain_length(const char *name)
{
	const char *at = strchr(name, '@'), *quote = strrchr(name, '\'');
	size_t n = strlen(name);

	if (quote && quote > name && quote[1] && strspn(quote + 1, "0123456789") == strlen(quote + 1))
		n = (size_t)(quote - name);
	if (at && at > name && strncasecmp(at, "@plt", 4) != 0 && (size_t)(at - name) < n)
		n = (size_t)(at - name);
	return n;
}

static bool is_unnamed(const char *name)
{
	return strcmp(name, "???") == 0 || strncmp(name, "0x", 2) == 0 || strcmp(name, "[unknown]") == 0;
}

/* The name that the binaries prefer of several for one function. */
static const char *preferred(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < t->files.n; i++) {
		long f = module_func_named(t->files.v[i], name);

		if (f >= 0)
			return module_func(t->files.v[i], (size_t)f)->linkage;
	}
	return name;
}

static bool has_function(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (strcmp(p->funcs[i].linkage, name) == 0)
			return true;
	return false;
}

/*
 * "f.cold" and "f(int) [clone .cold]" are what a compiler moved out of f: by debug information it is f's, and then no
 * function of the profile has that name.
 */
static void join_cold_part(const struct profile *p, char *name)
{
	char *at = strstr(name, " [clone .cold");

	if (!at)
		at = strstr(name, ".cold");
	if (at && at > name && !has_function(p, name))
		*at = '\0';
}

static const char *resolve(struct profile *p, const struct tables *t, const char *name, bool *known)
{
	char *plain = mem_strndup(name, plain_length(name));
	const char *found;

	join_cold_part(p, plain);
	/* What calls main: valgrind gives it one name on all systems. */
	found = preferred(t, strcmp(plain, "(below main)") == 0 ? "__libc_start_call_main" : plain);
	*known = found != plain || strcmp(plain, "(below main)") == 0 || texts_find(&t->known, plain) >= 0;
	found = profile_string(p, found);
	free(plain);
	return found;
}

static int by_name(const void *a, const void *b)
{
	const struct truth_func *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void merge(struct names_join *j)
{
	size_t k = 0;

	qsort(j->funcs, j->n, sizeof(*j->funcs), by_name);
	for (size_t i = 0; i < j->n; i++) {
		if (k && strcmp(j->funcs[k - 1].name, j->funcs[i].name) == 0)
			j->funcs[k - 1].n_insn += j->funcs[i].n_insn;
		else
			j->funcs[k++] = j->funcs[i];
	}
	j->n = k;
}

/* Functions with a name the recording's files have; fails when too many have none. */
static int take_names(struct profile *p, const struct truth *t, const char *path, const struct tables *tables,
                      const struct match *m, struct names_join *j)
{
	double named = 0, unknown = 0, most = 0;
	const char *worst = "";

	for (size_t i = 0; i < t->n_funcs; i++) {
		const struct truth_func *f = &t->funcs[i];
		double n = (double)f->n_insn;
		bool known;
		const char *name;

		if (f->object != TRUTH_NONE && m->objects[f->object].how == MATCH_ANOTHER)
			continue;
		if (is_unnamed(f->name)) {
			j->unnamed += n;
			continue;
		}
		name = resolve(p, tables, f->name, &known);
		named += n;
		unknown += known ? 0 : n;
		if (!known && n > most) {
			most = n;
			worst = f->name;
		}
		j->funcs[j->n++] = (struct truth_func){ name, f->object, f->n_insn };
	}
	if (unknown > max_unknown * named)
		return sp_fail(
		        SP_ENOENT,
		        "%s: %.1f%% of its instructions are of functions that no file of the recording "
		        "has, most of them of '%.100s': counts of another program than %.200s",
		        path, 100 * unknown / named, worst,
		        p->meta.cmdline && *p->meta.cmdline ? p->meta.cmdline : "the recorded one");
	return 0;
}

int match_names(struct profile *p, const struct truth *t, const char *path, const struct module_options *opts,
                struct names_join *out)
{
	struct tables tables = { 0 };
	struct match match = { 0 };
	struct names_join j = { 0 };
	int err = match_objects(p, t, path, opts, &match);

	if (err == 0)
		err = open_tables(p, opts, &tables);
	j.funcs = mem_calloc(t->n_funcs + 1, sizeof(*j.funcs));
	j.owner = mem_calloc(p->n_funcs + 1, sizeof(*j.owner));
	if (err == 0)
		err = take_names(p, t, path, &tables, &match, &j);
	if (err == 0) {
		const char **symbols = symbols_of(p, &tables);

		merge(&j);
		names_match(p, symbols, j.funcs, j.n, j.owner);
		free(symbols);
	}
	j.incomparable = match.incomparable;
	j.another = match.another;
	match.incomparable = NULL;
	match_fini(&match);
	close_tables(&tables);
	if (err < 0)
		match_names_fini(&j);
	*out = j;
	return err;
}

void match_names_fini(struct names_join *j)
{
	free(j->funcs);
	free(j->owner);
	free(j->incomparable);
	memset(j, 0, sizeof(*j));
}
