/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/truth/build.h"
#include "profiler/base/order.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		sp_fail(SP_ENOMEM, "out of memory");
	return copy;
}

static void free_texts(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void truth_texts_fini(struct truth_texts *t)
{
	free_texts(t->v.v, t->v.n);
	pairs_fini(&t->index);
	memset(t, 0, sizeof(*t));
}

void truth_build_fini(struct truth_build *b)
{
	truth_texts_fini(&b->objects);
	truth_texts_fini(&b->files);
	truth_texts_fini(&b->symbols);
	free_texts(b->build_ids.v, b->build_ids.n);
	for (size_t i = 0; i < b->funcs.n; i++)
		free(b->funcs.v[i].name);
	vec_fini(&b->insns);
	vec_fini(&b->funcs);
	vec_fini(&b->lines);
	vec_fini(&b->branches);
	vec_fini(&b->runs);
	free(b->creator);
	free(b->cmdline);
	memset(b, 0, sizeof(*b));
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

/* Texts of one hash are numbered apart: same is how many there are before it. */
static long find_text(const struct truth_texts *t, const char *text, uint64_t *hash, uint64_t *same)
{
	long i;

	*hash = hash_text(text);
	for (*same = 0; (i = pairs_find(&t->index, *hash, *same)) >= 0; (*same)++)
		if (strcmp(t->v.v[i], text) == 0)
			return i;
	return -1;
}

long truth_texts_find(const struct truth_texts *t, const char *text)
{
	uint64_t hash, same;

	return find_text(t, text, &hash, &same);
}

int truth_texts_number(struct truth_texts *t, const char *text, uint32_t *number)
{
	uint64_t hash, same;
	char *copy;
	long i = find_text(t, text, &hash, &same);

	if (i >= 0) {
		*number = (uint32_t)i;
		return 0;
	}
	if (vec_reserve(&t->v, t->v.n + 1) < 0)
		return -SP_ENOMEM;
	copy = copy_text(text);
	if (!copy || pairs_number(&t->index, hash, same) < 0) {
		free(copy);
		return -SP_ENOMEM;
	}
	*number = (uint32_t)t->v.n;
	t->v.v[t->v.n++] = copy;
	return 0;
}

int truth_build_object(struct truth_build *b, const char *path, uint32_t *object)
{
	char *id;

	if (truth_texts_number(&b->objects, path, object) < 0)
		return -SP_ENOMEM;
	if (*object < b->build_ids.n)
		return 0;
	id = copy_text("");
	if (!id)
		return -SP_ENOMEM;
	if (vec_push(&b->build_ids, id) < 0) {
		free(id);
		return -SP_ENOMEM;
	}
	return 0;
}

int truth_build_id(struct truth_build *b, uint32_t object, const char *hex)
{
	return truth_build_text(&b->build_ids.v[object], hex);
}

int truth_build_text(char **field, const char *text)
{
	char *copy = copy_text(text);

	if (!copy)
		return -SP_ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

int truth_build_func(struct truth_build *b, const char *name, uint32_t object, uint64_t n_insn)
{
	char *copy = copy_text(name);

	if (!copy)
		return -SP_ENOMEM;
	if (vec_push(&b->funcs, (struct truth_func){ copy, object, n_insn }) < 0) {
		free(copy);
		return -SP_ENOMEM;
	}
	return 0;
}

static int compare_insns(const void *a, const void *b)
{
	const struct truth_insn *x = a, *y = b;

	return order_pairs(x->object, x->vaddr, y->object, y->vaddr);
}

static int compare_funcs(const void *a, const void *b)
{
	const struct truth_func *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->object > y->object) - (x->object < y->object);
}

static int compare_lines(const void *a, const void *b)
{
	const struct truth_line *x = a, *y = b;
	int order = order_pairs(x->file, x->line, y->file, y->line);

	return order ? order : (x->object > y->object) - (x->object < y->object);
}

static void add_insn(void *to, void *from)
{
	struct truth_insn *sum = to, *x = from;

	sum->n += x->n;
	sum->n_load += x->n_load;
	sum->n_miss += x->n_miss;
}

static void add_func(void *to, void *from)
{
	struct truth_func *sum = to, *x = from;

	sum->n_insn += x->n_insn;
	free(x->name);
}

static void add_line(void *to, void *from)
{
	((struct truth_line *)to)->n_insn += ((struct truth_line *)from)->n_insn;
}

/* Sorted, and those that are the same added up; returns how many are left. */
static size_t sum_up(void *v, size_t n, size_t size, int (*compare)(const void *, const void *),
                     void (*add)(void *to, void *from))
{
	char *first = v, *last = NULL;

	if (n)
		qsort(v, n, size, compare);
	for (size_t i = 0; i < n; i++) {
		char *x = first + i * size;

		if (last && compare(last, x) == 0) {
			add(last, x);
			continue;
		}
		last = last ? last + size : first;
		memmove(last, x, size);
	}
	return last ? (size_t)(last - first) / size + 1 : 0;
}

static void hand_over(struct truth_build *b, struct truth *t)
{
	*t = (struct truth){ .objects = b->objects.v.v,
		             .build_ids = b->build_ids.v,
		             .n_objects = b->objects.v.n,
		             .insns = b->insns.v,
		             .n_insns = b->insns.n,
		             .funcs = b->funcs.v,
		             .n_funcs = b->funcs.n,
		             .files = b->files.v.v,
		             .n_files = b->files.v.n,
		             .lines = b->lines.v,
		             .n_lines = b->lines.n,
		             .symbols = b->symbols.v.v,
		             .n_symbols = b->symbols.v.n,
		             .branches = b->branches.v,
		             .n_branches = b->branches.n,
		             .runs = b->runs.v,
		             .n_runs = b->runs.n,
		             .creator = b->creator,
		             .cmdline = b->cmdline,
		             .format = b->format ? b->format : "",
		             .partial = b->partial,
		             .moves_plt = b->moves_plt };
	pairs_fini(&b->objects.index);
	pairs_fini(&b->files.index);
	pairs_fini(&b->symbols.index);
	memset(b, 0, sizeof(*b));
}

static bool add_total(uint64_t *sum, uint64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum) && *sum <= INT64_MAX;
}

static bool add_totals(struct truth *t)
{
	bool good = true;

	for (size_t i = 0; i < t->n_insns && good; i++) {
		good = add_total(&t->total, t->insns[i].n);
		t->total_load += t->insns[i].n_load;
		t->total_miss += t->insns[i].n_miss;
	}
	for (size_t i = 0; i < t->n_funcs && good; i++)
		good = add_total(&t->total, t->funcs[i].n_insn);
	return good;
}

int truth_build_finish(struct truth_build *b, struct truth **out)
{
	struct truth *t = NULL;

	if ((!b->creator && truth_build_text(&b->creator, "") < 0) ||
	    (!b->cmdline && truth_build_text(&b->cmdline, "") < 0))
		goto fail;
	t = calloc(1, sizeof(*t));
	if (!t) {
		sp_fail(SP_ENOMEM, "out of memory");
		goto fail;
	}
	b->insns.n = sum_up(b->insns.v, b->insns.n, sizeof(*b->insns.v), compare_insns, add_insn);
	b->funcs.n = sum_up(b->funcs.v, b->funcs.n, sizeof(*b->funcs.v), compare_funcs, add_func);
	b->lines.n = sum_up(b->lines.v, b->lines.n, sizeof(*b->lines.v), compare_lines, add_line);
	hand_over(b, t);
	if (!add_totals(t)) {
		truth_free(t);
		return sp_fail(SP_EFORMAT, "exact counts add up to more than can be: they are damaged");
	}
	*out = t;
	return 0;
fail:
	truth_build_fini(b);
	return -SP_ENOMEM;
}

int truth_build_move(struct truth_build *b, struct truth *t)
{
	struct truth *placed = NULL;
	int err = truth_build_finish(b, &placed);

	if (err < 0)
		return err;
	free_texts(t->objects, t->n_objects);
	free_texts(t->build_ids, t->n_objects);
	free(t->insns);
	for (size_t i = 0; i < t->n_funcs; i++)
		free(t->funcs[i].name);
	t->n_funcs = 0;
	t->objects = placed->objects;
	t->build_ids = placed->build_ids;
	t->n_objects = placed->n_objects;
	t->insns = placed->insns;
	t->n_insns = placed->n_insns;
	t->total = placed->total;
	placed->objects = placed->build_ids = NULL;
	placed->insns = NULL;
	placed->n_objects = placed->n_insns = 0;
	truth_free(placed);
	return 0;
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	free_texts(t->objects, t->n_objects);
	free_texts(t->build_ids, t->n_objects);
	free_texts(t->files, t->n_files);
	free_texts(t->symbols, t->n_symbols);
	for (size_t i = 0; i < t->n_funcs; i++)
		free(t->funcs[i].name);
	free(t->insns);
	free(t->funcs);
	free(t->lines);
	free(t->branches);
	free(t->runs);
	free(t->gaps);
	free(t->creator);
	free(t->cmdline);
	free(t);
}
