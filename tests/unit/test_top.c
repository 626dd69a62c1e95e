/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/top/top.h"
#include "report_fixture.h"

static const struct source_opts no_sources = { .n_dirs = 0 };
static const struct module_options modules = { .no_debuginfod = true };

static void begin(struct top *t, int height)
{
	*t = (struct top){ .p = profile_fixture(), .modules.opts = &modules, .opts = REPORT_OPTS_DEFAULT };
	t->sources = sources_new(&no_sources);
	assert_non_null(t->sources);
	assert_int_equal(top_open(t, 80, height), 0);
}

static void end(struct top *t)
{
	top_close(t);
	listing_modules_free(&t->modules);
	sources_free(t->sources);
	profile_free((struct profile *)t->p);
}

static void type(struct top *t, const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(top_press(t, *keys), 0);
}

static const char *row(const struct top *t)
{
	const struct top_page *page = top_page(t);

	return page->lines[page->n_heading + page->at];
}

static void the_row_chosen_stays_on_the_screen(void **state)
{
	struct top t;
	size_t n;

	(void)state;
	/* Title, heading, one row and the keys. */
	begin(&t, 4);
	n = top_page(&t)->n_rows;
	assert_true(n >= 3);
	assert_int_equal(top_room(&t), 1);
	for (size_t i = 0; i < 2 * n; i++) {
		assert_int_equal(top_page(&t)->first, top_page(&t)->at);
		assert_int_equal(top_page(&t)->at, i < n ? i : n - 1);
		assert_int_equal(top_press(&t, TOP_DOWN), 0);
	}
	type(&t, "g");
	assert_int_equal(top_page(&t)->at, 0);
	type(&t, "kk");
	assert_int_equal(top_page(&t)->at, 0);
	type(&t, "G");
	assert_int_equal(top_page(&t)->at, n - 1);
	/* Of a higher terminal no line is left empty that a row could have. */
	t.height = 40;
	assert_int_equal(top_press(&t, TOP_RESIZED), 0);
	assert_int_equal(top_page(&t)->first, 0);
	end(&t);
}

static void pages_lie_upon_each_other(void **state)
{
	struct top t;
	char title[100];

	(void)state;
	begin(&t, 24);
	type(&t, "/MAIN");
	assert_int_equal(top_press(&t, TOP_ENTER), 0);
	assert_non_null(strstr(row(&t), "main"));
	type(&t, "w");
	top_title(&t, title, sizeof(title));
	assert_string_equal(title, "why: main");
	assert_int_equal(top_page(&t)->n_rows, 0);
	type(&t, "?");
	assert_int_equal(t.n_pages, 3);
	type(&t, "qq");
	assert_int_equal(t.n_pages, 1);
	assert_non_null(strstr(row(&t), "main"));
	for (int i = 0; i < 2 * TOP_MAX_PAGES; i++)
		type(&t, "?");
	assert_int_equal(t.n_pages, TOP_MAX_PAGES);
	assert_non_null(strstr(t.message, "no deeper"));
	type(&t, "Q");
	assert_int_equal(t.n_pages, 0);
	end(&t);
}

static void what_a_key_cannot_do_is_said(void **state)
{
	struct top t;

	(void)state;
	begin(&t, 24);
	type(&t, "/no such word");
	assert_int_equal(top_press(&t, TOP_ENTER), 0);
	assert_non_null(strstr(t.message, "nowhere"));
	type(&t, "x");
	assert_string_equal(t.message, "? lists the keys");
	/* Who called nothing tells: a page without rows, on which no function is chosen but its own. */
	type(&t, "c");
	assert_int_equal(top_page(&t)->kind, TOP_CALLERS);
	type(&t, "q");
	type(&t, "ic");
	assert_string_equal(t.message, "no function is chosen here");
	/* A word is typed with any letters, and left without a trace. */
	type(&t, "/q");
	assert_true(t.finding);
	assert_int_equal(top_press(&t, TOP_BACK), 0);
	assert_int_equal(top_press(&t, TOP_BACK), 0);
	assert_false(t.finding);
	assert_int_equal(t.n_pages, 2);
	end(&t);
}

static void options_make_the_list_anew(void **state)
{
	struct top t;
	size_t n;

	(void)state;
	begin(&t, 24);
	n = top_page(&t)->n_rows;
	assert_non_null(strstr(top_page(&t)->lines[0], "RAW"));
	type(&t, "r");
	assert_string_equal(t.message, "counts: fixed");
	assert_null(strstr(top_page(&t)->lines[0], "RAW"));
	type(&t, "s");
	assert_string_equal(t.message, "by raw");
	assert_int_equal(top_page(&t)->n_rows, n);
	type(&t, "t");
	assert_int_equal(top_page(&t)->kind, TOP_CHILDREN);
	type(&t, "tu");
	assert_int_equal(top_page(&t)->kind, TOP_FUNCTIONS);
	assert_true(t.opts.rollup);
	end(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_row_chosen_stays_on_the_screen),
		cmocka_unit_test(pages_lie_upon_each_other),
		cmocka_unit_test(what_a_key_cannot_do_is_said),
		cmocka_unit_test(options_make_the_list_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
