/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/model/model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"

#define CONSTANT(key, value, least, most, reason) .key = (value),
#define COUNT(key, value, least, most, reason)    .key = (value),
static struct model current = {
#include "correct/model/model.def"
};

const struct model *const model = &current;

static const struct row {
	const char *key, *reason;
	double value, least, most;
	double *number;
	uint32_t *count; /* one of the two */
} rows[] = {
#define CONSTANT(key, value, least, most, reason) { #key, reason, value, least, most, &current.key, NULL },
#define COUNT(key, value, least, most, reason)    { #key, reason, value, least, most, NULL, &current.key },
#include "correct/model/model.def"
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static double now(const struct row *r)
{
	return r->number ? *r->number : *r->count;
}

static void put(const struct row *r, double value)
{
	if (r->number)
		*r->number = value;
	else
		*r->count = (uint32_t)value;
}

size_t model_n_rows(void)
{
	return N_ROWS;
}

struct model_row model_row(size_t i)
{
	const struct row *r = &rows[i];

	return (struct model_row){ r->key, r->reason, r->value, r->least, r->most, now(r) };
}

static const struct row *find(const char *key, size_t n)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (strlen(rows[i].key) == n && strncmp(rows[i].key, key, n) == 0)
			return &rows[i];
	return NULL;
}

static int no_row(const char *key, size_t n)
{
	const char *words[N_ROWS + 1] = { NULL }, *near;
	char word[64];

	for (size_t i = 0; i < N_ROWS; i++)
		words[i] = rows[i].key;
	snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word) - 1), key);
	near = cmd_suggest(word, words);
	if (near)
		return sp_fail(SP_EUSAGE, "--model: the model has no constant '%s'; did you mean '%s'?", word,
		               near);
	return sp_fail(SP_EUSAGE, "--model: the model has no constant '%s'; --model help lists them", word);
}

int model_set(const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);
	const struct row *r = find(text, n);
	double value;
	char *end;

	if (!r)
		return no_row(text, n);
	if (!equals)
		return sp_fail(SP_EUSAGE, "--model: '%s' needs a value, as in %s=%g", text, r->key, r->value);
	errno = 0;
	value = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || errno || (r->count && value != floor(value)))
		return sp_fail(SP_EUSAGE, "--model: '%s' is no %snumber, as in %s=%g", equals + 1,
		               r->count ? "whole " : "", r->key, r->value);
	if (!(value >= r->least && value <= r->most))
		return sp_fail(SP_EUSAGE, "--model: %s is from %g to %g, not %s", r->key, r->least, r->most,
		               equals + 1);
	put(r, value);
	return 0;
}

const char *model_changed(void)
{
	static char words[N_ROWS * 64];
	size_t n = 0;

	for (size_t i = 0; i < N_ROWS; i++)
		if (now(&rows[i]) != rows[i].value)
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s=%.9g", n ? ", " : "",
			                      rows[i].key, now(&rows[i]));
	return n ? words : NULL;
}

void model_reset(void)
{
	for (size_t i = 0; i < N_ROWS; i++)
		put(&rows[i], rows[i].value);
}
