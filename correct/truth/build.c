/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/truth/build.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		sp_fail(SP_ENOMEM, "out of memory");
	return copy;
}

void truth_build_fini(struct truth_build *b)
{
	for (size_t i = 0; i < b->objects.n; i++)
		free(b->objects.v[i]);
	for (size_t i = 0; i < b->build_ids.n; i++)
		free(b->build_ids.v[i]);
	for (size_t i = 0; i < b->funcs.n; i++)
		free(b->funcs.v[i].name);
	vec_fini(&b->objects);
	vec_fini(&b->build_ids);
	vec_fini(&b->insns);
	vec_fini(&b->funcs);
	free(b->creator);
	free(b->cmdline);
	memset(b, 0, sizeof(*b));
}

int truth_build_object(struct truth_build *b, const char *path, uint32_t *object)
{
	char *copy, *id;

	/* A program maps tens of objects, and the one named last is the likeliest. */
	for (size_t i = b->objects.n; i-- > 0;) {
		if (strcmp(b->objects.v[i], path) == 0) {
			*object = (uint32_t)i;
			return 0;
		}
	}
	if (vec_reserve(&b->objects, b->objects.n + 1) < 0 ||
	    vec_reserve(&b->build_ids, b->objects.n + 1) < 0)
		return -SP_ENOMEM;
	copy = copy_text(path);
	id = copy_text("");
	if (!copy || !id) {
		free(copy);
		free(id);
		return -SP_ENOMEM;
	}
	*object = (uint32_t)b->objects.n;
	b->objects.v[b->objects.n++] = copy;
	b->build_ids.v[b->build_ids.n++] = id;
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

int truth_build_insn(struct truth_build *b, const struct truth_insn *insn)
{
	return vec_push(&b->insns, *insn);
}

int truth_build_func(struct truth_build *b, const char *name, uint64_t n_insn)
{
	char *copy = copy_text(name);

	if (!copy)
		return -SP_ENOMEM;
	if (vec_push(&b->funcs, (struct truth_func){ copy, n_insn }) < 0) {
		free(copy);
		return -SP_ENOMEM;
	}
	return 0;
}

static int compare_insns(const void *a, const void *b)
{
	const struct truth_insn *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int compare_funcs(const void *a, const void *b)
{
	const struct truth_func *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void add_insn(struct truth_insn *sum, const struct truth_insn *x)
{
	sum->n += x->n;
	sum->n_load += x->n_load;
	sum->n_miss += x->n_miss;
}

static void sum_insns(struct truth_build *b)
{
	size_t n = 0;

	if (b->insns.n)
		qsort(b->insns.v, b->insns.n, sizeof(*b->insns.v), compare_insns);
	for (size_t i = 0; i < b->insns.n; i++) {
		if (n && compare_insns(&b->insns.v[n - 1], &b->insns.v[i]) == 0)
			add_insn(&b->insns.v[n - 1], &b->insns.v[i]);
		else
			b->insns.v[n++] = b->insns.v[i];
	}
	b->insns.n = n;
}

static void sum_funcs(struct truth_build *b)
{
	size_t n = 0;

	if (b->funcs.n)
		qsort(b->funcs.v, b->funcs.n, sizeof(*b->funcs.v), compare_funcs);
	for (size_t i = 0; i < b->funcs.n; i++) {
		if (n && compare_funcs(&b->funcs.v[n - 1], &b->funcs.v[i]) == 0) {
			b->funcs.v[n - 1].n_insn += b->funcs.v[i].n_insn;
			free(b->funcs.v[i].name);
		} else {
			b->funcs.v[n++] = b->funcs.v[i];
		}
	}
	b->funcs.n = n;
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
	sum_insns(b);
	sum_funcs(b);
	*t = (struct truth){ .objects = b->objects.v,
		             .build_ids = b->build_ids.v,
		             .n_objects = b->objects.n,
		             .insns = b->insns.v,
		             .n_insns = b->insns.n,
		             .funcs = b->funcs.v,
		             .n_funcs = b->funcs.n,
		             .creator = b->creator,
		             .cmdline = b->cmdline };
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; i < t->n_insns; i++) {
		t->total += t->insns[i].n;
		t->total_load += t->insns[i].n_load;
		t->total_miss += t->insns[i].n_miss;
	}
	for (size_t i = 0; i < t->n_funcs; i++)
		t->total += t->funcs[i].n_insn;
	*out = t;
	return 0;
fail:
	truth_build_fini(b);
	return -SP_ENOMEM;
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_objects; i++) {
		free(t->objects[i]);
		free(t->build_ids[i]);
	}
	for (size_t i = 0; i < t->n_funcs; i++)
		free(t->funcs[i].name);
	free(t->objects);
	free(t->build_ids);
	free(t->insns);
	free(t->funcs);
	free(t->creator);
	free(t->cmdline);
	free(t);
}
