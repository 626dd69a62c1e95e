/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "report/number.h"

static int rows_alloc(struct compare *c, size_t n)
{
	c->rows = calloc(n + 1, sizeof(*c->rows));
	c->n = 0;
	return c->rows ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu rows", n);
}

/* A row of a unit that was counted by anybody. */
static void add_row(struct compare *c, const char *name, double truth, const struct profile_count *count,
                    uint8_t status)
{
	if (!(truth > 0) && !(count->raw_insn > 0) && !(count->insn > 0))
		return;
	c->rows[c->n++] = (struct score_row){
		.name = name,
		.truth = truth,
		.raw = count->raw_insn,
		.fixed = count->insn,
		.lo = count->lo,
		.hi = count->hi,
		.cyc = count->cyc,
		.status = status,
		.ipc_truth = report_ipc(c->p, truth, count->cyc),
		.ipc_raw = report_ipc(c->p, count->raw_insn, count->raw_cyc),
		.ipc_fixed = report_ipc(c->p, count->insn, count->cyc),
	};
}

int compare_funcs(struct compare *c, const double *truth_insn, bool rolled)
{
	const struct profile *p = c->p;
	int err = rows_alloc(c, p->n_funcs);

	if (err < 0)
		return err;
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		add_row(c, f->name, truth_insn[i], rolled ? &f->rolled : &f->count,
		        rolled ? f->rolled_status : f->status);
	}
	return 0;
}

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

static int by_alias(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;
	int order = alias_order(x->name, x->n, y->name, y->n);

	return order ? order : (x->func > y->func) - (x->func < y->func);
}

/* The kinds of names, best first. */
enum alias_kind { ALIAS_LINKAGE, ALIAS_NAME, ALIAS_BARE, N_ALIASES };

static struct alias alias_of(const struct profile_func *f, uint32_t func, enum alias_kind kind)
{
	const char *name = kind == ALIAS_LINKAGE ? f->linkage : f->name;

	return (struct alias){ name, kind == ALIAS_BARE ? strcspn(name, "(") : strlen(name), func };
}

static size_t first_alias(const struct alias *aliases, size_t n, const char *name)
{
	size_t lo = 0, hi = n, n_name = strlen(name);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (alias_order(aliases[mid].name, aliases[mid].n, name, n_name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
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

static int by_truth_name(const void *a, const void *b)
{
	const struct truth_func *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* A copy of the truth's functions, one of each name. */
static int merge_names(const struct truth *t, struct truth_func **out, size_t *n)
{
	struct truth_func *v = malloc((t->n_funcs + 1) * sizeof(*v));
	size_t k = 0;

	if (!v)
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", t->n_funcs);
	if (t->n_funcs)
		memcpy(v, t->funcs, t->n_funcs * sizeof(*v));
	qsort(v, t->n_funcs, sizeof(*v), by_truth_name);
	for (size_t i = 0; i < t->n_funcs; i++) {
		if (k && strcmp(v[k - 1].name, v[i].name) == 0)
			v[k - 1].n_insn += v[i].n_insn;
		else
			v[k++] = v[i];
	}
	*out = v;
	*n = k;
	return 0;
}

/* owner[n_funcs]: which of the truth's functions each is, UINT32_MAX = none. */
static int match_names(const struct profile *p, const struct truth_func *funcs, size_t n, uint32_t *owner)
{
	struct alias *aliases = calloc(p->n_funcs + 1, sizeof(*aliases));
	bool *done = calloc(n + 1, sizeof(*done));

	if (!aliases || !done) {
		free(aliases);
		free(done);
		return sp_fail(SP_ENOMEM, "out of memory for %zu functions", p->n_funcs);
	}
	for (size_t i = 0; i < p->n_funcs; i++)
		owner[i] = UINT32_MAX;
	for (int kind = 0; kind < N_ALIASES; kind++) {
		for (size_t i = 0; i < p->n_funcs; i++)
			aliases[i] = alias_of(&p->funcs[i], (uint32_t)i, (enum alias_kind)kind);
		qsort(aliases, p->n_funcs, sizeof(*aliases), by_alias);
		for (size_t i = 0; i < n; i++)
			if (!done[i])
				done[i] = take_alias(aliases, p->n_funcs, funcs[i].name, (uint32_t)i, owner);
	}
	free(aliases);
	free(done);
	return 0;
}

/* Add up functions of one name.  Their intervals add at worst. */
static void add_count(struct profile_count *sum, const struct profile_count *x)
{
	bool has = isfinite(x->lo);

	sum->raw_insn += x->raw_insn;
	sum->raw_cyc += x->raw_cyc;
	sum->insn += x->insn;
	sum->cyc += x->cyc;
	sum->lo += has ? x->lo : x->insn;
	sum->hi += has ? x->hi : x->insn;
}

static void add_named_rows(struct compare *c, const struct truth_func *funcs, size_t n, const uint32_t *owner,
                           struct profile_count *sums)
{
	const struct profile *p = c->p;
	uint8_t *status = (uint8_t *)(sums + n);

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		if (owner[i] == UINT32_MAX) {
			add_row(c, f->name, 0, &f->rolled, f->rolled_status);
			continue;
		}
		add_count(&sums[owner[i]], &f->rolled);
		if (f->rolled_status > status[owner[i]])
			status[owner[i]] = f->rolled_status;
	}
	for (size_t i = 0; i < n; i++) {
		if (!(sums[i].hi > sums[i].lo))
			sums[i].lo = sums[i].hi = NAN;
		add_row(c, funcs[i].name, (double)funcs[i].n_insn, &sums[i], status[i]);
	}
}

int compare_names(struct compare *c, const struct truth *t)
{
	uint32_t *owner = calloc(c->p->n_funcs + 1, sizeof(*owner));
	struct profile_count *sums = NULL;
	struct truth_func *funcs = NULL;
	size_t n = 0;
	int err = owner ? merge_names(t, &funcs, &n) : sp_fail(SP_ENOMEM, "out of memory");

	if (err < 0)
		goto out;
	/* The truth's names outlive it in the rows. */
	for (size_t i = 0; i < n; i++) {
		funcs[i].name = (char *)profile_string(c->p, funcs[i].name);
		if (!funcs[i].name) {
			err = -SP_ENOMEM;
			goto out;
		}
	}
	sums = calloc(n + 1, sizeof(*sums) + 1);
	if (!sums)
		err = sp_fail(SP_ENOMEM, "out of memory for %zu functions", n);
	if (err == 0)
		err = match_names(c->p, funcs, n, owner);
	if (err == 0)
		err = rows_alloc(c, c->p->n_funcs + n);
	if (err == 0)
		add_named_rows(c, funcs, n, owner, sums);
out:
	free(sums);
	free(funcs);
	free(owner);
	return err;
}

/* One line or one instruction. */
static int add_unit(struct compare *c, const uint32_t *insns, size_t n, const double *truth_insn)
{
	const struct profile_insn *first = &c->p->insns[insns[0]];
	struct profile_count sum = { 0 };
	char name[PLACE_MAX + 32], place[PLACE_MAX];
	double truth = 0, mean;
	uint8_t status = 0;
	const char *kept;
	int err;

	for (size_t i = 0; i < n; i++) {
		const struct profile_insn *insn = &c->p->insns[insns[i]];

		add_count(&sum, &insn->count);
		truth += truth_insn[insns[i]];
		if (insn->status > status)
			status = insn->status;
	}
	err = profile_interval(c->p, insns, n, &mean, &sum.lo, &sum.hi);
	if (err < 0)
		return err;
	lines_place(c->p, first, place);
	if (c->by == BY_INSN)
		snprintf(name, sizeof(name), "%s+0x%" PRIx64, place, first->vaddr);
	else if (first->file || first->func >= c->p->n_funcs)
		snprintf(name, sizeof(name), "%s", place);
	else
		snprintf(name, sizeof(name), "%.60s:?", c->p->funcs[first->func].name);
	kept = profile_string(c->p, name);
	if (!kept)
		return -SP_ENOMEM;
	add_row(c, kept, truth, &sum, profile_judge(status, &sum));
	return 0;
}

int compare_insns(struct compare *c, const double *truth_insn, double total)
{
	const struct profile *p = c->p;
	uint32_t *insns = calloc(p->n_insns + 1, sizeof(*insns));
	double seen = 0;
	int err = insns ? rows_alloc(c, p->n_insns + 1) : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t i = 0; err == 0 && i < p->n_insns; i++) {
		insns[i] = (uint32_t)i;
		seen += truth_insn[i];
	}
	if (err == 0 && c->by == BY_LINE)
		lines_sort(p, insns, p->n_insns);
	for (size_t i = 0, j; err == 0 && i < p->n_insns; i = j) {
		j = c->by == BY_LINE ? lines_end(p, insns, i, p->n_insns) : i + 1;
		err = add_unit(c, insns + i, j - i, truth_insn);
	}
	if (err == 0)
		add_row(c, "(without samples, in no region)", total - seen,
		        &(struct profile_count){ .lo = NAN, .hi = NAN }, PROFILE_RAW);
	free(insns);
	return err;
}

/* Largest truth first; what never ran, by what was claimed of it. */
static int by_truth(const void *a, const void *b)
{
	const struct score_row *x = a, *y = b;

	if (x->truth != y->truth)
		return x->truth > y->truth ? -1 : 1;
	if (x->raw != y->raw)
		return x->raw > y->raw ? -1 : 1;
	return strcmp(x->name, y->name);
}

void compare_finish(struct compare *c)
{
	compare_score(c->rows, c->n, c->min_share, &c->score);
	qsort(c->rows, c->n, sizeof(*c->rows), by_truth);
}

void compare_fini(struct compare *c)
{
	free(c->rows);
	c->rows = NULL;
	c->n = 0;
}
