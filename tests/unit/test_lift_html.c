/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of lift: text from binaries stays text, numbers stand where they belong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "report/lift/html.h"

static char *text_of(const char *raw)
{
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	html_text(f, raw);
	fclose(f);
	return out;
}

static void check_text(const char *raw, const char *want)
{
	char *got = text_of(raw);

	assert_string_equal(got, want);
	free(got);
}

static void names_are_escaped(void **state)
{
	(void)state;
	check_text("plain_name", "plain_name");
	check_text("std::vector<int>::at", "std::vector&lt;int&gt;::at");
	check_text("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
	check_text("a&lt;b", "a&amp;lt;b");
	check_text("\" onload='x", "&quot; onload=&#39;x");
	check_text("na\xc3\xafve", "na\xc3\xafve"); /* UTF-8 */
	check_text("\x1b[31m\xff", "\\x1b[31m\\xff");
}

struct fixture {
	struct lift l;
	struct lift_kernel kernels[2];
	struct lift_sum sums[2][1];
	struct lift_score score;
	struct tool tool;
};

/* 1000 and 2000 cycles measured; 1500 (+50%) and 1000 (-50%) predicted. */
static void init(struct fixture *x, const char *name)
{
	memset(x, 0, sizeof(*x));
	x->sums[0][0] = (struct lift_sum){ .cyc = 1500, .error = 0.5 };
	x->sums[1][0] = (struct lift_sum){ .cyc = 1000, .error = -0.5 };
	x->kernels[0] = (struct lift_kernel){ .name = name, .cyc = 1000, .n_load = 100, .sums = x->sums[0] };
	x->kernels[1] =
	        (struct lift_kernel){ .name = "second", .cyc = 2000, .n_load = 100, .sums = x->sums[1] };
	x->score = (struct lift_score){ .n_kernels = 2, .mean = 0.5, .tau = NAN, .coverage = 1 };
	snprintf(x->tool.name, sizeof(x->tool.name), "a<b");
	x->l = (struct lift){ .kernels = x->kernels,
		              .n_kernels = 2,
		              .tools = &x->tool,
		              .n_tools = 1,
		              .scores = &x->score,
		              .target.cpu = "znver5" };
}

static char *page(const struct lift *l)
{
	char path[] = "/tmp/test_lift_html.XXXXXX", *text = calloc(1, 1 << 16);
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0 && text);
	close(fd);
	assert_int_equal(lift_html(l, path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	unlink(path);
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void the_page_holds_points_boxes_and_tables_and_nothing_from_outside(void **state)
{
	struct fixture x;
	char *text;

	(void)state;
	init(&x, "<script>alert(1)</script>");
	text = page(&x.l);
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "http"));
	assert_null(strstr(text, "src="));
	assert_null(strstr(text, "a<b"));
	assert_int_equal(count(text, "<circle"), 2);
	assert_int_equal(count(text, "<rect"), 1);
	assert_non_null(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;, a&lt;b +50.0%"));
	/* Decades 1e3 to 1e4 on 560 pixels: 1000 is at the left edge, 60; 1500 is log10(1.5) * 560 = 98.6 up. */
	assert_non_null(strstr(text, "cx=\"60.0\" cy=\"461.4\""));
	/* 2000 measured: 60 + 168.6; 1000 predicted: at the bottom. */
	assert_non_null(strstr(text, "cx=\"228.6\" cy=\"560.0\""));
	/* The box from -25% to +25% of an axis of 620 pixels for -100% to 100%, 130 from the left: 362.5, 155 wide. */
	assert_non_null(strstr(text, "<rect x=\"362.5\" y=\"7.0\" width=\"155.0\""));
	free(text);
}

static void kernels_that_miss_are_not_drawn(void **state)
{
	struct fixture x;
	char *text;

	(void)state;
	init(&x, "first");
	x.kernels[0].n_miss = 20;
	text = page(&x.l);
	assert_int_equal(count(text, "<circle"), 1);
	assert_non_null(strstr(text, "class=\"out\"><td>first"));
	x.kernels[1].sums[0].error = NAN;
	free(text);
	text = page(&x.l);
	assert_non_null(strstr(text, "No kernel was measured"));
	free(text);
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
	struct fixture x;

	(void)state;
	init(&x, "first");
	assert_int_equal(lift_html(&x.l, "/nonexistent/page.html"), -SP_EIO);
	assert_non_null(strstr(sp_error_text(), "/nonexistent/page.html"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(the_page_holds_points_boxes_and_tables_and_nothing_from_outside),
		cmocka_unit_test(kernels_that_miss_are_not_drawn),
		cmocka_unit_test(a_place_that_cannot_be_written_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
