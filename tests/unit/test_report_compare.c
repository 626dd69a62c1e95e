/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "report/compare.h"
#include "tests/unit/report_fixture.h"

static char *compare_text(const struct compare *c, enum report_format format, size_t limit)
{
	char *text = NULL;
	size_t size;
	struct term term = { .f = open_memstream(&text, &size) };

	assert_int_equal(compare_print(c, format, limit, &term), 0);
	fclose(term.f);
	return text;
}

static const struct score_row *row_named(const struct compare *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rows[i].name, name) == 0)
			return &c->rows[i];
	return NULL;
}

static const double funcs_truth[] = { 1210000, 690000, 100000 };

/*
 * Truth 1,210,000 690,000 100,000 (2,000,000); raw 500,000 1,400,000 100,000; fixed 1,200,000 700,000 100,000.
 * eps raw 1/2 (|.25-.605| + |.7-.345| + 0) = 0.355; fixed 1/2 (0.005 + 0.005) = 0.005.
 * errors raw -.586777, 1.028986, 0: mean .538587; fixed -.008264, .014493, 0: mean .007586, worst .014493.
 */
static void functions_are_held_against_the_truth(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t.callgrind", .creator = "me" };
	json_t *doc, *row;
	char *text;

	(void)state;
	assert_int_equal(compare_funcs(&c, funcs_truth, false), 0);
	compare_finish(&c);
	text = compare_text(&c, REPORT_JSON, 0);
	doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	assert_float_equal(json_number_value(json_object_get(doc, "eps_raw")), 0.355, 1e-9);
	assert_float_equal(json_number_value(json_object_get(doc, "eps_fixed")), 0.005, 1e-9);
	assert_float_equal(json_number_value(json_object_get(doc, "mean_err_raw")), 0.538587, 1e-6);
	assert_float_equal(json_number_value(json_object_get(doc, "mean_err_fixed")), 0.007586, 1e-6);
	assert_float_equal(json_number_value(json_object_get(doc, "worst_err_raw")), 1.028986, 1e-6);
	assert_float_equal(json_number_value(json_object_get(doc, "worst_err_fixed")), 0.014493, 1e-6);
	/* Both intervals hold the truth; setup has none. */
	assert_float_equal(json_number_value(json_object_get(doc, "inside_share")), 1, 1e-12);
	row = json_array_get(json_object_get(doc, "functions"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "dot(int, int)");
	assert_float_equal(json_number_value(json_object_get(row, "truth")), 1210000, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "raw")), 500000, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "fixed")), 1200000, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "lo")), 1180000, 1e-9);
	assert_float_equal(json_number_value(json_object_get(row, "hi")), 1220000, 1e-9);
	assert_string_equal(json_string_value(json_object_get(row, "status")), "fixed");
	assert_float_equal(json_number_value(json_object_get(row, "raw_err")), -0.586777, 1e-6);
	assert_float_equal(json_number_value(json_object_get(row, "fixed_err")), -0.008264, 1e-6);
	assert_true(json_is_true(json_object_get(row, "inside")));
	row = json_array_get(json_object_get(doc, "functions"), 2);
	assert_true(json_is_null(json_object_get(row, "lo")) && json_is_null(json_object_get(row, "inside")));
	json_decref(doc);
	free(text);
	compare_fini(&c);
	profile_free(p);
}

/* setup has nothing by either; main has 0.8% of the truth, and 65% of the cycles: no error of it counts, but it is seen. */
static void what_takes_time_is_shown_though_it_ran_little(void **state)
{
	static const double truth[] = { 992000, 8000, 0 };
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "" };
	char *text;

	(void)state;
	assert_int_equal(compare_funcs(&c, truth, false), 0);
	compare_finish(&c);
	assert_int_equal(c.score.n_scored, 1);
	text = compare_text(&c, REPORT_TEXT, 0);
	assert_non_null(strstr(text, " dot(int, int)\n"));
	assert_non_null(strstr(text, " main\n"));
	assert_null(strstr(text, " setup\n"));
	assert_non_null(strstr(text, "# 1 more function is not shown;"));
	free(text);
	compare_fini(&c);
	profile_free(p);
}

/* main's rolled counts hold dot's: 1,900,000 against dot and main together. */
static void rolled_up_functions_have_their_inlined_ones(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "" };
	const double truth[] = { 0, 1900000, 100000 };

	(void)state;
	assert_int_equal(compare_funcs(&c, truth, true), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 2);
	assert_null(row_named(&c, "dot(int, int)"));
	assert_float_equal(row_named(&c, "main")->fixed_err, 0, 1e-12);
	assert_float_equal(c.score.eps_fixed, 0, 1e-12);
	compare_fini(&c);
	profile_free(p);
}

static int by_names(struct compare *c, const struct truth *t)
{
	const struct module_options opts = { .no_debuginfod = true };
	struct names_join j;
	int err = match_names(c->p, t, "t", &opts, &j);

	if (err == 0)
		err = compare_names(c, &j);
	match_names_fini(&j);
	return err;
}

/* By linkage name, with its parameters, by bare name, twice the same; what the profile lacks gets 0. */
static void a_truth_by_name_finds_its_functions(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "" };
	struct truth_func funcs[] = { { (char *)"main", TRUTH_NONE, 1000000 },
		                      { (char *)"main", TRUTH_NONE, 900000 },
		                      { (char *)"never_sampled", TRUTH_NONE, 15000 },
		                      { (char *)"_Z3dotii", TRUTH_NONE, 7 } };
	const struct truth t = { .funcs = funcs, .n_funcs = 4 };

	(void)state;
	p->funcs[0].rolled = (struct profile_count){ 5, 5, 7, 6, 8, 5 };
	assert_int_equal(by_names(&c, &t), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 4);
	assert_float_equal(row_named(&c, "main")->truth, 1900000, 1e-9);
	assert_float_equal(row_named(&c, "main")->fixed, 1900000, 1e-9);
	assert_float_equal(row_named(&c, "main")->lo, 1850000, 1e-9);
	assert_float_equal(row_named(&c, "_Z3dotii")->fixed, 7, 1e-9);
	assert_float_equal(row_named(&c, "never_sampled")->fixed_err, -1, 1e-12);
	assert_float_equal(row_named(&c, "setup")->truth, 0, 1e-12);
	assert_true(isnan(row_named(&c, "setup")->raw_err));
	compare_fini(&c);

	funcs[3].name = (char *)"dot(int, int)";
	assert_int_equal(by_names(&c, &t), 0);
	compare_finish(&c);
	assert_float_equal(row_named(&c, "dot(int, int)")->fixed, 7, 1e-9);
	compare_fini(&c);

	funcs[3].name = (char *)"dot";
	assert_int_equal(by_names(&c, &t), 0);
	compare_finish(&c);
	assert_float_equal(row_named(&c, "dot")->fixed, 7, 1e-9);
	compare_fini(&c);
	profile_free(p);
}

/* Two static functions of one name: the truth's count is of both. */
static void functions_of_one_name_are_one_row_for_a_truth_by_name(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "" };
	struct truth_func funcs[] = { { (char *)"main", TRUTH_NONE, 2000000 } };
	const struct truth t = { .funcs = funcs, .n_funcs = 1 };

	(void)state;
	p->funcs[2].name = p->funcs[2].linkage = "main";
	assert_int_equal(by_names(&c, &t), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 1);
	assert_float_equal(c.rows[0].raw, 2000000, 1e-9);
	/* main's interval, and setup's 100,000 without one */
	assert_float_equal(c.rows[0].lo, 1950000, 1e-9);
	assert_float_equal(c.rows[0].hi, 2050000, 1e-9);
	/* The worse of both: main with what is inlined into it is fixed. */
	assert_int_equal(c.rows[0].status, PROFILE_RAW);
	compare_fini(&c);
	profile_free(p);
}

/*
 * Line 18 holds two instructions: truth 605,000 each, fixed 600,000 each.
 * 5,000 ran where nothing was sampled: a row of its own, missed by raw and fixed.
 */
static void lines_and_instructions_are_compared_too(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .by = BY_LINE, .min_share = 0.01, .truth = "t", .creator = "" };
	const double truth[] = { 605000, 605000, 690000, 100000 };

	(void)state;
	assert_int_equal(compare_insns(&c, truth, 2005000, false), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 4);
	assert_string_equal(c.rows[0].name, "app.c:18");
	assert_float_equal(c.rows[0].truth, 1210000, 1e-9);
	assert_float_equal(c.rows[0].fixed, 1200000, 1e-9);
	/* block 0 twice: draws 600,000 and 610,000, so 1,200,000 + 20,000 times 0.05 and 0.95 */
	assert_float_equal(c.rows[0].lo, 1201000, 1e-6);
	assert_float_equal(c.rows[0].hi, 1219000, 1e-6);
	assert_float_equal(row_named(&c, "(without samples, in no region)")->truth, 5000, 1e-9);
	assert_non_null(row_named(&c, "setup:?"));
	compare_fini(&c);

	c.by = BY_INSN;
	assert_int_equal(compare_insns(&c, truth, 2005000, false), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 5);
	assert_non_null(row_named(&c, "app.c:18+0x401136"));
	assert_non_null(row_named(&c, "app.c:18+0x40113a"));
	compare_fini(&c);
	profile_free(p);
}

/*
 * No instructions were counted.  The region's time is dot's to 1,000,000 of 2,900,000, bursts say 1,200,000 to 1,220,000 of its
 * 1,900,000 instructions; by the truth these are 1,210,000 and 690,000.  setup, of 100,000, is in no region.
 */
static void shares_of_regions_are_compared_where_nothing_was_counted(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "me" };
	const double truth[] = { 605000, 605000, 690000, 100000 };
	char *text;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	assert_int_equal(compare_parts(&c, truth, 2000000, false), 0);
	compare_finish(&c);
	assert_int_equal(c.n, 2);
	assert_float_equal(row_named(&c, "dot(int, int)")->truth, 1210000, 1e-6);
	assert_float_equal(row_named(&c, "dot(int, int)")->raw, 1900000.0 * 10 / 29, 1e-6);
	assert_float_equal(row_named(&c, "dot(int, int)")->fixed, 1210000, 1e-6);
	assert_float_equal(row_named(&c, "main")->lo, 690500, 1e-6);
	/* Draws of main are of 690,000 and 700,000. */
	assert_int_equal(c.score.n_inside, 1);
	assert_float_equal(c.outside, 0.05, 1e-12);
	text = compare_text(&c, REPORT_TEXT, 0);
	assert_non_null(strstr(text, "# 5.00% of the truth's instructions have no row: they ran outside the "
	                             "regions that were corrected\n"));
	assert_null(strstr(text, "SHARE is of the time"));
	free(text);
	compare_fini(&c);
	profile_free(p);
}

/*
 * A second region, of which bursts say 90 and 110 of 100, has 3,000,000 by the truth, and is dot's.  It adds to dot's first; it is unreliable,
 * and has more than a twentieth of dot.
 */
static void a_function_of_several_regions_has_their_sum(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t", .creator = "me" };
	const double truth[] = { 605000, 605000, 690000, 3000000 };
	const struct score_row *dot;

	(void)state;
	p->meta.insn_event = -1;
	p->meta.relative = true;
	p->regions = realloc(p->regions, 2 * sizeof(*p->regions));
	p->regions[1] = (struct profile_region){ .name = "setup",
		                                 .insn = 100,
		                                 .cyc = 2018,
		                                 .n_blocks = 1,
		                                 .n_draws = 2,
		                                 .status = PROFILE_UNRELIABLE,
		                                 .why = "" };
	p->regions[1].draws = calloc(2, sizeof(float));
	p->regions[1].draws[0] = 90;
	p->regions[1].draws[1] = 110;
	p->n_regions = 2;
	p->insns[3].func = 0;
	p->insns[3].region = 1;
	p->insns[3].block = 0;
	p->insns[3].count = (struct profile_count){ .insn = 100, .cyc = 2018 };
	assert_int_equal(compare_parts(&c, truth, 4900000, false), 0);
	compare_finish(&c);
	dot = row_named(&c, "dot(int, int)");
	assert_float_equal(dot->truth, 1210000 + 3000000, 1e-6);
	assert_float_equal(dot->fixed, 1210000 + 3000000, 1e-6);
	assert_float_equal(dot->raw, 1900000.0 * 10 / 29 + 3000000, 1e-6);
	assert_true(dot->lo >= 1200000 + 2700000 && dot->lo < dot->fixed);
	/* Of the second region no draw has more than all. */
	assert_true(dot->hi > dot->fixed && dot->hi <= 1220000 + 3300000);
	assert_int_equal(dot->status, PROFILE_UNRELIABLE);
	assert_float_equal(c.outside, 0, 1e-12);
	compare_fini(&c);
	profile_free(p);
}

/* No region has shares to compare: the reason of the largest is said. */
static void where_nothing_can_be_compared_it_is_said_why(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .parts = true };

	(void)state;
	p->regions[0].status = PROFILE_UNRELIABLE;
	p->regions[0].why = "too large to be solved: 1486 blocks";
	assert_int_equal(compare_nothing(&c), -SP_ENOTSUP);
	assert_non_null(strstr(sp_error_text(), "nothing can be compared"));
	assert_non_null(strstr(sp_error_text(), "is unreliable: too large to be solved: 1486 blocks"));
	p->regions[0].why = "";
	assert_int_equal(compare_nothing(&c), -SP_ENOTSUP);
	assert_non_null(strstr(sp_error_text(), "no hot loop"));
	profile_free(p);
}

static void the_text_ends_with_the_score(void **state)
{
	struct profile *p = profile_fixture();
	struct compare c = { .p = p, .min_share = 0.01, .truth = "t.callgrind", .creator = "me" };
	char *text;

	(void)state;
	assert_int_equal(compare_funcs(&c, funcs_truth, false), 0);
	compare_finish(&c);
	text = compare_text(&c, REPORT_TEXT, 0);
	assert_non_null(strstr(text, "# truth t.callgrind, counted by me: 2,000,000 instructions"));
	assert_non_null(strstr(text, "-58.7%    -0.83%"));
	assert_non_null(
	        strstr(text, "instructions attributed to the wrong function (eps)          35.5%     0.50%"));
	assert_non_null(
	        strstr(text, "their 90% intervals that hold the truth                                2/2"));
	free(text);
	text = compare_text(&c, REPORT_CSV, 0);
	assert_int_equal(strncmp(text, "name,truth_share,truth,raw,fixed,lo,hi,inside,raw_err,fixed_err,",
	                         64),
	                 0);
	free(text);
	text = compare_text(&c, REPORT_TEXT, 1);
	assert_non_null(strstr(text, "# 2 more functions are not shown"));
	free(text);
	compare_fini(&c);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_held_against_the_truth),
		cmocka_unit_test(what_takes_time_is_shown_though_it_ran_little),
		cmocka_unit_test(rolled_up_functions_have_their_inlined_ones),
		cmocka_unit_test(a_truth_by_name_finds_its_functions),
		cmocka_unit_test(functions_of_one_name_are_one_row_for_a_truth_by_name),
		cmocka_unit_test(lines_and_instructions_are_compared_too),
		cmocka_unit_test(shares_of_regions_are_compared_where_nothing_was_counted),
		cmocka_unit_test(a_function_of_several_regions_has_their_sum),
		cmocka_unit_test(where_nothing_can_be_compared_it_is_said_why),
		cmocka_unit_test(the_text_ends_with_the_score),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
