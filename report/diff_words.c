/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which differences are sure, of all that are compared, and which of them are past a limit. */
#include <ctype.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/diff.h"

/*
 * A listing in ten of two recordings that do not differ may say that they do: a third of that for the whole program, for large
 * rows and for small ones, whose number shall not hide what is large.
 */
static const double alarm_of_part = 0.1 / 3;

/* How often chance makes as much of a difference, or more, where there is none. */
static double chance_of(const struct diff_number *n)
{
	double x = fabs(n->delta) / n->sd;

	if (!(n->delta < 0) && !(n->delta > 0))
		return 1;
	return 2 * (n->n_free ? gsl_cdf_tdist_Q(x, n->n_free) : gsl_cdf_ugaussian_Q(x));
}

double diff_half(const struct diff_number *n, double alarm)
{
	/* Of few runs their scatter is not well known: Student's t. */
	return n->sd *
	       (n->n_free ? gsl_cdf_tdist_Qinv(alarm / 2, n->n_free) : gsl_cdf_ugaussian_Qinv(alarm / 2));
}

struct tested {
	struct diff_number *n;
	double chance;
};

static int by_chance(const void *a, const void *b)
{
	const struct tested *x = a, *y = b;

	return (x->chance > y->chance) - (x->chance < y->chance);
}

/*
 * Benjamini and Hochberg: of the words that are said alarm are wrong in the mean, and where nothing differs any is said in alarm
 * of all cases.
 */
static void say_words(struct tested *all, size_t n, double alarm)
{
	size_t n_sure = 0;

	qsort(all, n, sizeof(*all), by_chance);
	for (size_t i = 0; i < n; i++)
		if (all[i].chance <= alarm * (double)(i + 1) / (double)n)
			n_sure = i + 1;
	for (size_t i = 0; i < n_sure; i++)
		all[i].n->word = all[i].n->delta > 0 ? DIFF_MORE : DIFF_FEWER;
}

static size_t add_row(struct diff_row *r, struct tested *to)
{
	size_t n = 0;

	for (int m = 0; m < DIFF_N_MEASURES; m++) {
		/* Of exact counts on both sides equal ones are known to be equal. */
		r->m[m].word =
		        r->m[m].delta == 0 && r->m[m].sd == 0 && r->m[m].a > 0 ? DIFF_SAME : DIFF_CANT_TELL;
		/* Of what no scatter is known nothing is sure. */
		if (!isnan(r->m[m].delta) && !isnan(r->m[m].sd) && !r->m[m].unsure)
			to[n++] = (struct tested){ &r->m[m], chance_of(&r->m[m]) };
	}
	return n;
}

int diff_words(struct diff *d)
{
	struct tested *all = calloc((d->n_rows + 1) * DIFF_N_MEASURES, sizeof(*all));
	size_t n;

	if (!all)
		return sp_fail(SP_ENOMEM, "out of memory for %zu rows", d->n_rows);
	d->n_compared = 0;
	say_words(all, add_row(&d->total, all), alarm_of_part);
	for (int small = 0; small < 2; small++) {
		n = 0;
		for (size_t i = 0; i < d->n_rows; i++)
			if ((d->rows[i].weight < d->min_share) == small)
				n += add_row(&d->rows[i], all + n);
		if (n)
			say_words(all, n, alarm_of_part);
		d->n_compared += n;
	}
	free(all);
	return 0;
}

static const char *const measure_names[] = { "instructions", "cycles", "ipc", "executions", "events", NULL };

const char *diff_word_text(enum diff_word w)
{
	static const char *const words[] = { "can't tell", "more", "fewer", "same" };

	return words[w];
}

const char *diff_measure_name(enum diff_measure m)
{
	return measure_names[m];
}

int diff_measure_parse(const char *option, const char *word, enum diff_measure *out)
{
	const char *near;

	for (int i = 0; measure_names[i]; i++) {
		if (strcasecmp(word, measure_names[i]) == 0) {
			*out = (enum diff_measure)i;
			return 0;
		}
	}
	near = cmd_suggest(word, measure_names);
	return sp_fail(SP_EUSAGE, "%s: no '%s'%s%s%s; it is instructions, cycles, ipc, executions or events",
	               option, word, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

enum diff_measure diff_main_measure(const struct diff *d)
{
	return d->has[DIFF_INSN] ? DIFF_INSN : d->has[DIFF_CYC] ? DIFF_CYC : DIFF_OTHER;
}

int diff_limit_parse(const char *text, struct diff_limit *out)
{
	const char *op = text + strcspn(text, "<>"), *start = text, *colon = NULL;
	char word[64];
	size_t n;
	char *end;
	int err;

	*out = (struct diff_limit){ 0 };
	/* The last ": " before the sign ends a function's name, which may have colons. */
	for (const char *c = text; c < op; c++)
		if (*c == ':' && (c[1] == ' ' || isalpha((unsigned char)c[1])) && c > text && c[-1] != ':')
			colon = c;
	if (colon) {
		if ((size_t)(colon - text) >= sizeof(out->function))
			return sp_fail(SP_EUSAGE, "--fail-on: the name of a function is too long");
		memcpy(out->function, text, (size_t)(colon - text));
		start = colon + 1;
	}
	start += strspn(start, " ");
	n = (size_t)(op - start);
	while (n && start[n - 1] == ' ')
		n--;
	if (!*op || !n || n >= sizeof(word))
		return sp_fail(SP_EUSAGE,
		               "--fail-on: '%s' is not like 'instructions > 2%%' or 'main: cycles > 5%%'",
		               text);
	memcpy(word, start, n);
	word[n] = '\0';
	err = diff_measure_parse("--fail-on", word, &out->measure);
	if (err < 0)
		return err;
	out->below = *op == '<';
	out->change = strtod(op + 1, &end) / 100;
	end += *end == '%';
	end += strspn(end, " ");
	if (end == op + 1 || *end || !isfinite(out->change) || end[-1] != '%')
		return sp_fail(SP_EUSAGE,
		               "--fail-on: '%s': a percentage of change is needed, as in '%s %c 2%%'", text,
		               word, *op);
	return 0;
}

/* Now or before. */
static bool is_named(const struct diff_row *r, const struct diff_limit *l)
{
	const struct profile_func now = { .name = r->name, .linkage = "" },
	                          before = { .name = r->old_name, .linkage = "" };

	return report_matches(&now, l->function) || (r->old_name && report_matches(&before, l->function));
}

static bool is_asked(const struct diff_row *r, const struct diff_limit *l)
{
	return is_named(r, l) && r->status != PROFILE_UNRELIABLE && !isnan(r->m[l->measure].delta);
}

const char *diff_limit_unknown(const struct diff *d, const struct diff_limit *l)
{
	const struct diff_number *all = &d->total.m[l->measure];
	bool named = !*l->function, known = named && !isnan(all->delta);

	for (size_t i = 0; i < d->n_rows && *l->function; i++) {
		named |= is_named(&d->rows[i], l);
		known |= is_named(&d->rows[i], l) && !isnan(d->rows[i].m[l->measure].delta);
	}
	if (!named)
		return "neither side has a function of that name";
	if (!known)
		return "that is not known on both sides";
	if (isnan(all->sd) && !isnan(all->delta))
		return "how much that differs from run to run one recording of each side doesn't tell; give "
		       "three of each or more (-a, -b)";
	return *l->function && !diff_limit_rows(d, l) ? "that is unreliable on one side or both" : NULL;
}

size_t diff_limit_rows(const struct diff *d, const struct diff_limit *l)
{
	size_t n = !*l->function;

	for (size_t i = 0; i < d->n_rows && *l->function; i++)
		n += is_asked(&d->rows[i], l);
	return n;
}

static bool is_past(const struct diff_row *r, const struct diff_limit *l, double alarm)
{
	const struct diff_number *n = &r->m[l->measure];
	double half = diff_half(n, alarm);

	if (isnan(n->delta))
		return false;
	/* Of none, any that is sure is more than every percentage. */
	if (!(n->a > 0))
		return !l->below && n->delta - half > 0;
	return l->below ? n->delta + half < l->change * n->a : n->delta - half > l->change * n->a;
}

size_t diff_limit_check(const struct diff *d, const struct diff_limit *l, double alarm,
                        const struct diff_row **past, size_t max)
{
	size_t n = 0;

	if (!*l->function) {
		if (is_past(&d->total, l, alarm) && max)
			past[n++] = &d->total;
		return n;
	}
	for (size_t i = 0; i < d->n_rows; i++) {
		if (!is_asked(&d->rows[i], l) || !is_past(&d->rows[i], l, alarm))
			continue;
		if (n < max)
			past[n] = &d->rows[i];
		n++;
	}
	return n;
}
