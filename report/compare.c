/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "profiler/base/err.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"
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
		.ipc_truth = truth > 0 ? report_ipc(c->p, truth, count->cyc) : NAN,
		.ipc_raw = report_ipc(c->p, count->raw_insn, count->raw_cyc),
		.ipc_fixed = report_ipc(c->p, count->insn, count->cyc),
	};
}

/* Of a file that is another build on the other side. */
static bool incomparable(const struct compare *c, uint32_t module)
{
	return c->incomparable && module < c->p->n_modules && c->incomparable[module];
}

int compare_funcs(struct compare *c, const double *truth_insn, bool rolled)
{
	const struct profile *p = c->p;
	int err = rows_alloc(c, p->n_funcs);

	if (err < 0)
		return err;
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		if (incomparable(c, f->module) || (c->gap && c->gap[i]))
			continue;
		add_row(c, f->name, truth_insn[i], rolled ? &f->rolled : &f->count,
		        rolled ? f->rolled_status : f->status);
		if (c->n && c->rows[c->n - 1].name == f->name)
			c->rows[c->n - 1].full = f->full;
	}
	return 0;
}

/* Exact instructions, corrected ones, and cycles. */
struct part_sum {
	double truth, insn, cyc;
};

static void add_region_sums(const struct profile *p, const double *truth_insn, struct part_sum *of_region)
{
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (insn->region < 0)
			continue;
		of_region[insn->region].truth += truth_insn[i];
		of_region[insn->region].insn += insn->count.insn;
		of_region[insn->region].cyc += insn->count.cyc;
	}
}

/* Shares of it can be compared: where it was not solved nothing of it is corrected. */
static bool has_shares(int32_t region, const struct part_sum *of_region)
{
	return region >= 0 && of_region[region].truth > 0 && of_region[region].cyc > 0 &&
	       of_region[region].insn > 0;
}

/*
 * One function's insns[n], each in a region: shares of regions, times what the truth has of these.  A report's status is of the
 * region where most of it ran: here further ones count, too.
 */
static void add_part_row(struct compare *c, const struct profile_func *f, bool rolled, const uint32_t *insns,
                         size_t n, const double *truth_insn, const struct part_sum *of_region)
{
	const struct profile *p = c->p;
	struct profile_count count = { 0 };
	double *weights = mem_calloc(n + 1, sizeof(*weights)), truth = 0, most = 0, unreliable = 0;
	uint8_t status = rolled ? f->rolled_status : f->status;
	size_t had = c->n;

	for (size_t i = 0; i < n; i++) {
		const struct profile_insn *insn = &p->insns[insns[i]];
		const struct part_sum *of = &of_region[insn->region];

		weights[i] = of->truth / p->regions[insn->region].insn;
		truth += truth_insn[insns[i]];
		most += i && insn->region == p->insns[insns[i - 1]].region ? 0 : of->truth;
		count.raw_insn += insn->count.cyc / of->cyc * of->truth;
		if (p->regions[insn->region].status == PROFILE_UNRELIABLE)
			unreliable += weights[i] * insn->count.insn;
	}
	profile_weighted_interval(p, insns, weights, n, &count.insn, &count.lo, &count.hi);
	free(weights);
	/* Totals of draws differ, a share is no more than all; and what is in doubt is taken off. */
	if (isfinite(count.hi)) {
		count.lo = fmax(count.lo, 0);
		count.hi = fmin(count.hi, fmax(count.insn, most));
	}
	if (unreliable > reason_limit_in_unreliable * count.insn)
		status = PROFILE_UNRELIABLE;
	add_row(c, f->name, truth, &count, profile_judge(status, &count));
	if (c->n > had)
		c->rows[had].full = f->full;
}

/* Of functions, own or physical ones. */
struct by_func {
	const struct compare *c;
	bool rolled;
};

static uint32_t func_of(const struct compare *c, uint32_t insn, bool rolled)
{
	return rolled ? c->p->insns[insn].phys_func : c->p->insns[insn].func;
}

/* Each function's by region. */
static int order_by_func(const void *a, const void *b, void *arg)
{
	const struct by_func *by = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int32_t r = by->c->p->insns[i].region, s = by->c->p->insns[j].region;
	int order = order_pairs(func_of(by->c, i, by->rolled), (uint32_t)r, func_of(by->c, j, by->rolled),
	                        (uint32_t)s);

	return order ? order : (i > j) - (i < j);
}

int compare_parts(struct compare *c, const double *truth_insn, double total, bool rolled)
{
	const struct profile *p = c->p;
	struct part_sum *of_region = mem_calloc(p->n_regions + 1, sizeof(*of_region));
	uint32_t *insns = mem_calloc(p->n_insns + 1, sizeof(*insns));
	double inside = 0;
	size_t n = 0;
	int err = rows_alloc(c, p->n_funcs);

	add_region_sums(p, truth_insn, of_region);
	for (size_t i = 0; err == 0 && i < p->n_insns; i++) {
		uint32_t f = func_of(c, (uint32_t)i, rolled);

		if (f < p->n_funcs && has_shares(p->insns[i].region, of_region) &&
		    !incomparable(c, p->funcs[f].module) && !(c->gap && c->gap[f]))
			insns[n++] = (uint32_t)i;
	}
	qsort_r(insns, n, sizeof(*insns), order_by_func, &(struct by_func){ c, rolled });
	for (size_t i = 0, end; i < n; i = end) {
		uint32_t f = func_of(c, insns[i], rolled);

		for (end = i + 1; end < n && func_of(c, insns[end], rolled) == f;)
			end++;
		add_part_row(c, &p->funcs[f], rolled, insns + i, end - i, truth_insn, of_region);
	}
	for (size_t i = 0; i < c->n; i++)
		inside += c->rows[i].truth;
	c->parts = true;
	c->outside = total > 0 ? fmax(1 - inside / total, 0) : NAN;
	free(of_region);
	free(insns);
	return err;
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

/* A function without a symbol, "[libm.so.6+0x1234]" or "[unknown]": tools write "???", or an address. */
static bool is_made_up(const char *name)
{
	return name[0] == '[';
}

static void add_named_rows(struct compare *c, const struct truth_func *funcs, size_t n, const uint32_t *owner,
                           struct profile_count *sums)
{
	const struct profile *p = c->p;
	/* What no sample fell in was not corrected. */
	uint8_t *status = memset(sums + n, PROFILE_RAW, n);
	bool *sampled = (bool *)(status + n);

	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct profile_func *f = &p->funcs[i];

		if (owner[i] == UINT32_MAX) {
			/* Of what a list does not have, and of what the tool could not name, nothing is known. */
			if (incomparable(c, f->module) || c->partial || is_made_up(f->name))
				continue;
			add_row(c, f->name, 0, &f->rolled, f->rolled_status);
			continue;
		}
		add_count(&sums[owner[i]], &f->rolled);
		if (!sampled[owner[i]] || f->rolled_status > status[owner[i]])
			status[owner[i]] = f->rolled_status;
		sampled[owner[i]] = true;
	}
	for (size_t i = 0; i < n; i++) {
		if (!(sums[i].hi > sums[i].lo))
			sums[i].lo = sums[i].hi = NAN;
		add_row(c, funcs[i].name, (double)funcs[i].n_insn, &sums[i], status[i]);
	}
}

int compare_names(struct compare *c, const struct names_join *j)
{
	struct profile_count *sums = calloc(j->n + 1, sizeof(*sums) + 2);
	int err = sums ? rows_alloc(c, c->p->n_funcs + j->n)
	               : sp_fail(SP_ENOMEM, "out of memory for %zu functions", j->n);

	if (err == 0)
		add_named_rows(c, j->funcs, j->n, j->owner, sums);
	free(sums);
	return err;
}

/* One line or instruction, or a function of that name, and its exact count. */
static int add_counted(struct compare *c, const uint32_t *insns, size_t n, const char *given, double truth)
{
	const struct profile_insn *first = &c->p->insns[insns[0]];
	struct profile_count sum = { 0 };
	char name[PLACE_MAX + 32], place[PLACE_MAX];
	struct profile_worst worst = { 0 };
	double mean;
	const char *kept;

	for (size_t i = 0; i < n; i++) {
		const struct profile_insn *insn = &c->p->insns[insns[i]];

		add_count(&sum, &insn->count);
		profile_worst_add(&worst, c->p, insn);
	}
	profile_interval(c->p, insns, n, &mean, &sum.lo, &sum.hi);
	lines_place(c->p, first, place);
	if (c->by == BY_INSN)
		snprintf(name, sizeof(name), "%s+0x%" PRIx64, place, first->vaddr);
	else if (first->file || first->func >= c->p->n_funcs)
		snprintf(name, sizeof(name), "%s", place);
	else
		snprintf(name, sizeof(name), "%.60s:?", c->p->funcs[first->func].name);
	kept = given ? given : profile_string(c->p, name);
	if (!kept)
		return -SP_ENOMEM;
	add_row(c, kept, truth, &sum, profile_judge(profile_worst_status(&worst), &sum));
	return 0;
}

static int add_unit(struct compare *c, const uint32_t *insns, size_t n, const char *name,
                    const double *truth_insn)
{
	double truth = 0;

	for (size_t i = 0; i < n; i++)
		truth += truth_insn[insns[i]];
	return add_counted(c, insns, n, name, truth);
}

static size_t unit_end(const struct compare *c, const uint32_t *insns, size_t i, size_t n, bool rolled)
{
	size_t j = i + 1;

	if (c->by == BY_LINE)
		return lines_end(c->p, insns, i, n);
	while (c->by == BY_FUNCTION && j < n && func_of(c, insns[j], rolled) == func_of(c, insns[i], rolled))
		j++;
	return j;
}

int compare_insns(struct compare *c, const double *truth_insn, double total, bool rolled)
{
	const struct profile *p = c->p;
	uint32_t *insns = calloc(p->n_insns + 1, sizeof(*insns));
	double seen = 0;
	size_t n = 0;
	int err = insns ? rows_alloc(c, p->n_insns + 1) : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t i = 0; err == 0 && i < p->n_insns; i++) {
		const struct profile_insn *insn = &p->insns[i];

		if (incomparable(c, insn->module) || (c->listed && !c->listed[i]) ||
		    (c->gap && insn->phys_func < p->n_funcs && c->gap[insn->phys_func]))
			continue;
		insns[n++] = (uint32_t)i;
		seen += truth_insn[i];
	}
	if (err == 0 && c->by == BY_LINE)
		lines_sort(p, insns, n);
	if (err == 0 && c->by == BY_FUNCTION)
		qsort_r(insns, n, sizeof(*insns), order_by_func, &(struct by_func){ c, rolled });
	for (size_t i = 0, j; err == 0 && i < n; i = j) {
		const char *name = NULL;

		j = unit_end(c, insns, i, n, rolled);
		if (c->by == BY_FUNCTION && func_of(c, insns[i], rolled) < p->n_funcs)
			name = p->funcs[func_of(c, insns[i], rolled)].name;
		err = add_unit(c, insns + i, j - i, name, truth_insn);
	}
	if (err == 0)
		add_row(c, "(without samples, in no region)", total - seen > 0 ? total - seen : 0,
		        &(struct profile_count){ .lo = NAN, .hi = NAN }, PROFILE_RAW);
	free(insns);
	return err;
}

/* The last n parts of a path are the same in both: how many? */
static size_t same_tail(const char *a, const char *b)
{
	size_t n_a = strlen(a), n_b = strlen(b), n = 0;

	while (n_a && n_b && a[n_a - 1] == b[n_b - 1]) {
		n_a--, n_b--;
		n += a[n_a] == '/';
	}
	return n + ((n_a == 0 || a[n_a - 1] == '/') && (n_b == 0 || b[n_b - 1] == '/') && (n_a || n_b || !n));
}

/* Tools write paths each in their own way: the file with the longest end in common. */
static uint32_t file_of(const struct profile *p, const char *path)
{
	uint32_t best = 0;
	size_t most = 0;

	for (uint32_t i = 1; i < p->n_files; i++) {
		size_t n = strcmp(p->files[i], path) == 0 ? SIZE_MAX : same_tail(p->files[i], path);

		if (n > most) {
			most = n;
			best = i;
		}
	}
	return best;
}

/* Instructions of the truth by (file of the profile, line). */
struct line_counts {
	struct pairs index;
	VEC(double) n;
};

static int count_lines(const struct compare *c, const struct truth *t, struct line_counts *out)
{
	uint32_t *file = calloc(t->n_files + 1, sizeof(*file));
	int err = file ? 0 : sp_fail(SP_ENOMEM, "out of memory for %zu files", t->n_files);

	for (size_t i = 0; err == 0 && i < t->n_files; i++)
		file[i] = file_of(c->p, t->files[i]);
	for (size_t i = 0; err == 0 && i < t->n_lines; i++) {
		const struct truth_line *l = &t->lines[i];
		long k;

		if (!l->line || !file[l->file])
			continue;
		k = pairs_number(&out->index, file[l->file], l->line);
		if (k < 0 || ((size_t)k == out->n.n && vec_push(&out->n, 0) < 0))
			err = -SP_ENOMEM;
		else
			out->n.v[k] += (double)l->n_insn;
	}
	free(file);
	return err;
}

static int add_lines(struct compare *c, const struct line_counts *counts, uint32_t *insns, size_t n,
                     double *seen)
{
	int err = 0;

	lines_sort(c->p, insns, n);
	for (size_t i = 0, j; err == 0 && i < n; i = j) {
		const struct profile_insn *first = &c->p->insns[insns[i]];
		long k = pairs_find(&counts->index, first->file, first->line);
		double truth = k < 0 || !counts->n.v ? 0 : counts->n.v[k];

		j = lines_end(c->p, insns, i, n);
		/* What a line without a number ran is no line's count. */
		if (!first->file || !first->line)
			continue;
		*seen += truth;
		err = add_counted(c, insns + i, j - i, NULL, truth);
	}
	return err;
}

int compare_lines(struct compare *c, const struct truth *t, const struct names_join *j)
{
	uint32_t *insns = calloc(c->p->n_insns + 1, sizeof(*insns));
	struct line_counts counts = { 0 };
	double seen = 0, left = (double)t->total - j->another;
	size_t n = 0;
	int err = insns ? rows_alloc(c, c->p->n_insns + 1) : sp_fail(SP_ENOMEM, "out of memory");

	for (size_t i = 0; err == 0 && i < c->p->n_insns; i++)
		if (!incomparable(c, c->p->insns[i].module))
			insns[n++] = (uint32_t)i;
	if (err == 0)
		err = count_lines(c, t, &counts);
	if (err == 0)
		err = add_lines(c, &counts, insns, n, &seen);
	for (size_t i = 0; i < t->n_lines; i++)
		if (!t->lines[i].line)
			left -= (double)t->lines[i].n_insn;
	if (err == 0)
		add_row(c, "(without samples, in no region)", left > seen ? left - seen : 0,
		        &(struct profile_count){ .lo = NAN, .hi = NAN }, PROFILE_RAW);
	pairs_fini(&counts.index);
	vec_fini(&counts.n);
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

int compare_nothing(const struct compare *c)
{
	const struct profile_region *most = NULL;
	char name[100], why[600];

	for (size_t i = 0; i < c->p->n_regions; i++) {
		const struct profile_region *r = &c->p->regions[i];

		if (r->why && *r->why && (!most || r->cyc > most->cyc))
			most = r;
	}
	if (!most)
		return sp_fail(SP_ENOTSUP, "nothing can be compared: instructions were not counted, and "
		                           "there is no hot loop of which "
		                           "bursts could tell the shares");
	text_safe(most->name ? most->name : "?", name, sizeof(name));
	text_safe(most->why, why, sizeof(why));
	return sp_fail(SP_ENOTSUP,
	               "nothing can be compared: instructions were not counted, and bursts tell the shares "
	               "of no region. "
	               " The largest, %s, is %s: %s",
	               name, profile_status_word(most->status), why);
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
