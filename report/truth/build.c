/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/truth/build.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/sum_up.h"

#include <stdlib.h>
#include <string.h>

static void fini_texts(struct texts *texts)
{
	for (size_t i = 0; i < TRUTH_TEXTS; i++)
		texts_fini(&texts[i]);
}

void truth_build_fini(struct truth_build *b)
{
	fini_texts(b->texts);
	vec_fini(&b->build_ids);
	vec_fini(&b->insns);
	vec_fini(&b->calls);
	vec_fini(&b->funcs);
	vec_fini(&b->lines);
	vec_fini(&b->branches);
	vec_fini(&b->runs);
	memset(b, 0, sizeof(*b));
}

void truth_build_number(struct truth_build *b, enum truth_texts kind, const char *text, uint32_t *number)
{
	*number = (uint32_t)texts_number(&b->texts[kind], text, strlen(text));
}

void truth_build_object(struct truth_build *b, const char *path, uint32_t *object)
{
	truth_build_number(b, TRUTH_OBJECTS, path, object);
	if (*object >= b->build_ids.n)
		vec_add(&b->build_ids, "");
}

void truth_build_id(struct truth_build *b, uint32_t object, const char *hex)
{
	truth_build_text(b, &b->build_ids.v[object], hex);
}

void truth_build_task(struct truth_task *t, uint32_t number)
{
	t->others |= t->first && t->first != number;
	t->first = number;
}

void truth_build_text(struct truth_build *b, const char **field, const char *text)
{
	*field = texts_add(&b->texts[TRUTH_OTHERS], text, strlen(text));
}

void truth_build_func(struct truth_build *b, const char *name, uint32_t object, uint64_t n_insn)
{
	const char *kept = texts_add(&b->texts[TRUTH_SYMBOLS], name, strlen(name));

	vec_add(&b->funcs, (struct truth_func){ kept, object, n_insn });
}

static int compare_insns(const void *a, const void *b)
{
	const struct truth_insn *x = a, *y = b;

	return order_pairs(x->object, x->vaddr, y->object, y->vaddr);
}

static int compare_calls(const void *a, const void *b)
{
	const struct truth_call *x = a, *y = b;
	int order = order_pairs(x->from_object, x->from_vaddr, y->from_object, y->from_vaddr);

	return order ? order : order_pairs(x->to_object, x->to_vaddr, y->to_object, y->to_vaddr);
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

static void add_insn(void *to, const void *from)
{
	struct truth_insn *sum = to;
	const struct truth_insn *x = from;

	sum->n += x->n;
	sum->n_load += x->n_load;
	sum->n_miss += x->n_miss;
}

static void add_call(void *to, const void *from)
{
	struct truth_call *sum = to;
	const struct truth_call *x = from;

	sum->n += x->n;
	sum->n_insn += x->n_insn;
}

static void add_func(void *to, const void *from)
{
	((struct truth_func *)to)->n_insn += ((const struct truth_func *)from)->n_insn;
}

static void add_line(void *to, const void *from)
{
	((struct truth_line *)to)->n_insn += ((const struct truth_line *)from)->n_insn;
}

static void hand_over(struct truth_build *b, struct truth *t)
{
	*t = (struct truth){ .objects = b->texts[TRUTH_OBJECTS].v.v,
		             .build_ids = b->build_ids.v,
		             .n_objects = b->texts[TRUTH_OBJECTS].v.n,
		             .insns = b->insns.v,
		             .n_insns = b->insns.n,
		             .calls = b->calls.v,
		             .n_calls = b->calls.n,
		             .funcs = b->funcs.v,
		             .n_funcs = b->funcs.n,
		             .files = b->texts[TRUTH_FILES].v.v,
		             .n_files = b->texts[TRUTH_FILES].v.n,
		             .lines = b->lines.v,
		             .n_lines = b->lines.n,
		             .symbols = b->texts[TRUTH_SYMBOLS].v.v,
		             .n_symbols = b->texts[TRUTH_SYMBOLS].v.n,
		             .branches = b->branches.v,
		             .n_branches = b->branches.n,
		             .runs = b->runs.v,
		             .n_runs = b->runs.n,
		             .creator = b->creator ? b->creator : "",
		             .cmdline = b->cmdline ? b->cmdline : "",
		             .format = b->format ? b->format : "",
		             .partial = b->partial,
		             .process = b->process.others ? 0 : b->process.first,
		             .thread = b->process.others || b->thread.others ? 0 : b->thread.first,
		             .moves_plt = b->moves_plt };
	memcpy(t->texts, b->texts, sizeof(t->texts));
	/* From here on they are only read by number. */
	for (size_t i = 0; i < TRUTH_TEXTS; i++)
		pairs_fini(&t->texts[i].index);
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
	struct truth *t = mem_calloc(1, sizeof(*t));

	b->insns.n = sum_up(b->insns.v, b->insns.n, sizeof(*b->insns.v), compare_insns, add_insn);
	b->calls.n = sum_up(b->calls.v, b->calls.n, sizeof(*b->calls.v), compare_calls, add_call);
	b->funcs.n = sum_up(b->funcs.v, b->funcs.n, sizeof(*b->funcs.v), compare_funcs, add_func);
	b->lines.n = sum_up(b->lines.v, b->lines.n, sizeof(*b->lines.v), compare_lines, add_line);
	hand_over(b, t);
	if (!add_totals(t)) {
		truth_free(t);
		return sp_fail(SP_EFORMAT, "exact counts add up to more than can be: they are damaged");
	}
	*out = t;
	return 0;
}

int truth_build_move(struct truth_build *b, struct truth *t)
{
	struct truth *placed = NULL;
	int err = truth_build_finish(b, &placed);

	if (err < 0)
		return err;
	truth_free(t->placed);
	t->placed = placed;
	t->n_funcs = 0;
	t->objects = placed->objects;
	t->n_objects = placed->n_objects;
	free(t->build_ids);
	t->build_ids = placed->build_ids;
	placed->build_ids = NULL;
	free(t->insns);
	t->insns = placed->insns;
	placed->insns = NULL;
	t->n_insns = placed->n_insns;
	t->total = placed->total;
	return 0;
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	truth_free(t->placed);
	fini_texts(t->texts);
	free(t->build_ids);
	free(t->insns);
	free(t->calls);
	free(t->funcs);
	free(t->lines);
	free(t->branches);
	free(t->runs);
	free(t->gaps);
	free(t);
}
