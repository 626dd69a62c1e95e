/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of reasons: each has a sentence of its own that a report can show whole, and costs a status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "correct/infer/problem.h"

struct row {
	const char *key, *text;
	double limit;
	enum profile_status status;
};

static const struct row rows[] = {
#define REASON(key, status, limit, text) { #key, text, limit, PROFILE_##status },
#define LIMIT(key, limit)
#include "correct/judge/reasons.def"
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Sentences that belong to no solution, and may be longer. */
static bool is_of_function(const struct row *r)
{
	return strcmp(r->key, "other_run") == 0;
}

/* What is filled in is a name or a remedy of some 80 characters, or numbers. */
static void sentences_fit_where_they_are_kept(void **state)
{
	enum { REMEDY = 80, NUMBERS = 40 };
	const size_t room = sizeof(((struct solution *)NULL)->why);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		size_t more = strstr(rows[i].text, "%s") ? REMEDY : NUMBERS;

		if (!is_of_function(&rows[i]) && strlen(rows[i].text) + more >= room)
			fail_msg("%s: %zu characters", rows[i].key, strlen(rows[i].text));
	}
}

/* "weak: " stands before them, and nothing behind. */
static void sentences_go_on_from_the_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		const char *text = rows[i].text;

		if (!*text)
			continue;
		if ((text[0] >= 'A' && text[0] <= 'Z') || text[strlen(text) - 1] == '.')
			fail_msg("%s: '%s'", rows[i].key, text);
	}
}

static void no_two_reasons_say_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++)
		for (size_t k = 0; k < i; k++)
			if (*rows[i].text && strcmp(rows[i].text, rows[k].text) == 0)
				fail_msg("%s and %s", rows[k].key, rows[i].key);
}

static void every_reason_costs_something(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		if (rows[i].status == PROFILE_FIXED)
			fail_msg("%s", rows[i].key);
		if (!(rows[i].limit >= 0))
			fail_msg("%s: %g", rows[i].key, rows[i].limit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences_fit_where_they_are_kept),
		cmocka_unit_test(sentences_go_on_from_the_status),
		cmocka_unit_test(no_two_reasons_say_the_same),
		cmocka_unit_test(every_reason_costs_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
