/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profiler/base/err.h"
#include "report/diff.h"
#include "tests/unit/report_fixture.h"

/* Two profiles of the fixture; the caller changes the second before diff_make(). */
static struct diff two_sides(void)
{
	struct diff d = { 0 };

	d.a = (struct diff_side){ calloc(4, sizeof(struct profile *)), 1 };
	d.b = (struct diff_side){ calloc(4, sizeof(struct profile *)), 1 };
	d.a.profiles[0] = profile_fixture();
	d.b.profiles[0] = profile_fixture();
	return d;
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->n_rows; i++)
		if (!strcmp(d->rows[i].name, name))
			return &d->rows[i];
	fail_msg("no row of %s", name);
	return NULL;
}

static void move(struct profile_count *c, double by)
{
	c->insn += by;
	c->lo += by;
	c->hi += by;
}

static void the_same_twice_can_not_be_told_apart(void **state)
{
	struct diff d = two_sides();

	(void)state;
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 3);
	for (size_t i = 0; i < d.n_rows; i++)
		for (int m = 0; m < DIFF_N_MEASURES; m++)
			assert_int_equal(d.rows[i].m[m].word, DIFF_CANT_TELL);
	assert_float_equal(d.total.m[DIFF_INSN].change, 0, 1e-12);
	diff_fini(&d);
}

/* The largest function of a profile into a library. */
static void into_library(struct profile *p, const char *program, const char *library)
{
	p->modules = realloc(p->modules, 2 * sizeof(*p->modules));
	p->modules[0] = (struct profile_module){ program, "", "" };
	p->modules[1] = (struct profile_module){ library, "", "" };
	p->n_modules = 2;
	p->funcs[0].module = 1;
}

static void most_of_what_ran_may_be_in_a_library(void **state)
{
	struct diff d = two_sides();

	(void)state;
	into_library(d.a.profiles[0], "/a/app", "/lib/libx.so.6.0.30");
	into_library(d.b.profiles[0], "/b/app.new", "/lib/libx-2.so.6");
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 3);
	for (size_t i = 0; i < d.n_rows; i++)
		assert_false(d.rows[i].gone || d.rows[i].new_there);
	diff_fini(&d);
}

/*
 * dot() is known to 20,000 either way, and to one sample of 1,000: a variance of (20,000 / 1.6449)^2 + 1,000^2 on each side.
 * 1.6449 standard deviations of the difference are 28,379.
 */
static void a_difference_has_the_noise_of_both_sides(void **state)
{
	struct diff d = two_sides();
	const struct diff_number *n;

	(void)state;
	move(&d.b.profiles[0]->funcs[0].count, 28000);
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	n = &row_of(&d, "dot(int, int)")->m[DIFF_INSN];
	assert_float_equal(n->delta, 28000, 1e-6);
	assert_float_equal(n->delta_hi - n->delta, 28379, 1);
	assert_float_equal(n->change, 28000.0 / 1200000, 1e-9);
	assert_int_equal(n->word, DIFF_CANT_TELL);
	diff_fini(&d);

	/* Outside the interval of its row alone, but of seven or more numbers compared one is, often. */
	d = two_sides();
	move(&d.b.profiles[0]->funcs[0].count, 29000);
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_true(row_of(&d, "dot(int, int)")->m[DIFF_INSN].delta_lo > 0);
	assert_int_equal(row_of(&d, "dot(int, int)")->m[DIFF_INSN].word, DIFF_CANT_TELL);
	diff_fini(&d);

	/* Four standard deviations, by chance one in 16,000, are enough among 12. */
	d = two_sides();
	move(&d.b.profiles[0]->funcs[0].count, 4 * 28379 / 1.6449);
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_true(d.n_compared >= 3 && d.n_compared <= 12);
	assert_int_equal(row_of(&d, "dot(int, int)")->m[DIFF_INSN].word, DIFF_MORE);
	assert_string_equal(d.rows[0].name, "dot(int, int)");
	diff_fini(&d);
}

/* main: 0.4% of the instructions, 65% of the cycles. */
static void what_takes_time_is_no_small_row(void **state)
{
	struct diff d = two_sides();
	const struct diff_row *r;

	(void)state;
	d.a.profiles[0]->funcs[1].count.insn = d.b.profiles[0]->funcs[1].count.insn = 5000;
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	r = row_of(&d, "main");
	assert_float_equal(r->share, 5000.0 / 1305000, 1e-9);
	assert_float_equal(r->weight, 1900000.0 / 2902018, 1e-9);
	r = row_of(&d, "setup");
	assert_float_equal(r->weight, r->share, 1e-12);
	diff_fini(&d);
}

/* What was corrected on one side only differs by what that corrects. */
static void raw_counts_are_not_held_against_corrected_ones(void **state)
{
	struct diff d = two_sides();

	(void)state;
	d.b.profiles[0]->funcs[0].count = (struct profile_count){ .insn = 1e7, .lo = NAN, .hi = NAN };
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(row_of(&d, "dot(int, int)")->m[DIFF_INSN].word, DIFF_CANT_TELL);
	d.a.profiles[0]->funcs[0].count.lo = d.a.profiles[0]->funcs[0].count.hi = NAN;
	diff_unmake(&d);
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(row_of(&d, "dot(int, int)")->m[DIFF_INSN].word, DIFF_MORE);
	diff_fini(&d);
}

/* Of forty rows that are asked about, each has a fortieth of the chance. */
static void a_pattern_of_many_rows_fails_no_more_often(void **state)
{
	struct diff d = two_sides();
	const struct diff_row *past[1];
	struct diff_limit l;

	(void)state;
	move(&d.b.profiles[0]->funcs[0].count, 40000);
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(diff_limit_parse("dot: instructions > 0%", &l), 0);
	assert_int_equal(diff_limit_rows(&d, &l), 1);
	assert_int_equal(diff_limit_check(&d, &l, 0.1, past, 1), 1);
	assert_int_equal(diff_limit_check(&d, &l, 0.1 / 40, past, 1), 0);
	diff_fini(&d);
}

/* 2,018 cycles are two samples of 1,009: sqrt(2 * 2 * 1,009^2) either way, times 1.6449. */
static void samples_are_counted_as_such(void **state)
{
	struct diff d = two_sides();
	const struct diff_number *n;

	(void)state;
	assert_int_equal(diff_make(&d, DIFF_CYC), 0);
	n = &row_of(&d, "setup")->m[DIFF_CYC];
	assert_float_equal(n->delta_hi, 1.6449 * 2 * 1009, 1);
	diff_fini(&d);
}

static void what_is_unreliable_is_never_sure(void **state)
{
	struct diff d = two_sides();

	(void)state;
	move(&d.b.profiles[0]->funcs[0].count, 1e6);
	d.b.profiles[0]->funcs[0].status = PROFILE_UNRELIABLE;
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(row_of(&d, "dot(int, int)")->m[DIFF_INSN].word, DIFF_CANT_TELL);
	diff_fini(&d);
}

/* Of several, how they scatter counts: 1.2, 1.3 and 1.4 M against as many of 1.2 M. */
static void runs_that_differ_widen_the_interval(void **state)
{
	struct diff d = two_sides();
	const struct diff_number *n;

	(void)state;
	for (size_t i = 1; i < 3; i++) {
		d.a.profiles[d.a.n++] = profile_fixture();
		d.b.profiles[d.b.n++] = profile_fixture();
		move(&d.b.profiles[i]->funcs[0].count, 1e5 * (double)i);
	}
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	n = &row_of(&d, "dot(int, int)")->m[DIFF_INSN];
	assert_float_equal(n->delta, 100000, 1e-6);
	/* Both sides' runs scatter alike: (0 + 2e10) / 4 a run, of which means of three are compared; t of 4 at 95% is 2.132. */
	assert_float_equal(n->delta_hi - n->delta, 2.1318 * sqrt(5e9 * (1.0 / 3 + 1.0 / 3)), 10);
	assert_int_equal(n->word, DIFF_CANT_TELL);
	diff_fini(&d);
}

/* Of 1,000,000 cycles in each of two runs, with 1,009 a sample, the noise is 45,000; time may differ by any amount besides. */
static void of_one_run_of_real_time_nothing_is_sure(void **state)
{
	struct diff d = two_sides();
	const struct diff_number *n;
	struct diff_limit l;

	(void)state;
	d.a.profiles[0]->meta.pmu = d.b.profiles[0]->meta.pmu = "clock";
	d.a.profiles[0]->funcs[0].count.cyc = 1e6;
	d.b.profiles[0]->funcs[0].count.cyc = 2e6;
	assert_int_equal(diff_make(&d, DIFF_CYC), 0);
	n = &row_of(&d, "dot(int, int)")->m[DIFF_CYC];
	assert_int_equal(n->word, DIFF_CANT_TELL);
	assert_true(isnan(n->lo) && isnan(n->delta_hi));
	assert_float_equal(n->change, 1, 1e-9);
	assert_non_null(strstr(diff_noise_note(&d), "from run to run"));
	assert_int_equal(diff_limit_parse("cycles > 5%", &l), 0);
	assert_int_equal(diff_limit_check(&d, &l, 0.1, NULL, 0), 0);
	/* Instructions are the same in every run of the same work. */
	assert_true(isfinite(row_of(&d, "dot(int, int)")->m[DIFF_INSN].delta_lo));
	assert_null(diff_insn_note(&d));
	diff_unmake(&d);
	/* Where they were not counted, exact counts are the way to them. */
	d.b.profiles[0]->meta.relative = true;
	assert_int_equal(diff_make(&d, DIFF_CYC), 0);
	assert_non_null(strstr(diff_insn_note(&d), "skidprof truth"));
	diff_fini(&d);
}

/* Runs of 1.00, 1.02 and .98 M on one side tell how the one of 1.5 M on the other may scatter: sd 20,000 * sqrt(1 / 3 + 1). */
static void runs_of_one_side_tell_of_the_other_s(void **state)
{
	struct diff d = two_sides();
	const struct diff_number *n;

	(void)state;
	d.a.profiles[d.a.n++] = profile_fixture();
	d.a.profiles[d.a.n++] = profile_fixture();
	for (size_t i = 0; i < 3; i++) {
		d.a.profiles[i]->meta.pmu = "clock";
		d.a.profiles[i]->funcs[0].count.cyc = 1e6 + (i == 1 ? 2e4 : i == 2 ? -2e4 : 0);
		/* So finely sampled that the noise of samples is none. */
		d.a.profiles[i]->meta.cyc_per_event = 1e-6;
	}
	d.b.profiles[0]->meta.pmu = "clock";
	d.b.profiles[0]->meta.cyc_per_event = 1e-6;
	d.b.profiles[0]->funcs[0].count.cyc = 1.5e6;
	assert_int_equal(diff_make(&d, DIFF_CYC), 0);
	n = &row_of(&d, "dot(int, int)")->m[DIFF_CYC];
	assert_int_equal(n->n_free, 2);
	assert_float_equal(n->sd, 2e4 * sqrt(1.0 / 3 + 1), 1);
	assert_int_equal(n->word, DIFF_MORE);
	assert_null(diff_noise_note(&d));
	diff_fini(&d);
}

static void a_new_name_at_the_same_place_is_the_same_function(void **state)
{
	struct diff d = two_sides();
	const struct diff_row *r;

	(void)state;
	d.b.profiles[0]->funcs[0].name = "scalar(int, int)";
	d.b.profiles[0]->funcs[0].linkage = "_Z6scalarii";
	d.b.profiles[0]->funcs[0].line = 19;
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 3);
	r = row_of(&d, "scalar(int, int)");
	assert_string_equal(r->old_name, "dot(int, int)");
	assert_float_equal(r->m[DIFF_INSN].delta, 0, 1e-9);
	diff_fini(&d);

	/* Two in its place are none that could be told. */
	d = two_sides();
	d.b.profiles[0]->funcs[0].name = d.b.profiles[0]->funcs[0].linkage = "one";
	d.b.profiles[0]->funcs[2] = d.b.profiles[0]->funcs[0];
	d.b.profiles[0]->funcs[2].name = d.b.profiles[0]->funcs[2].linkage = "two";
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 5);
	assert_true(row_of(&d, "dot(int, int)")->gone);
	assert_true(row_of(&d, "one")->new_there);
	diff_fini(&d);
}

/* Other parameters, another name as linked: the only one of that name on either side. */
static void parameters_may_change(void **state)
{
	struct diff d = two_sides();

	(void)state;
	d.b.profiles[0]->funcs[0].name = "dot(long, long)";
	d.b.profiles[0]->funcs[0].linkage = "_Z3dotll";
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 3);
	assert_null(row_of(&d, "dot(long, long)")->old_name);
	diff_fini(&d);
}

static void lines_are_paired_by_their_place_in_their_function(void **state)
{
	struct diff d = two_sides();
	const struct diff_row *r;

	(void)state;
	d.lines = true;
	/* All of the file has moved down by ten lines. */
	for (size_t i = 0; i < 3; i++)
		d.b.profiles[0]->insns[i].line += 10;
	for (size_t i = 0; i < 2; i++)
		d.b.profiles[0]->funcs[i].line += 10;
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(d.n_rows, 3);
	r = row_of(&d, "dot(int, int)");
	assert_int_equal(r->line, 28);
	assert_float_equal(r->m[DIFF_INSN].a, 1200000, 1e-6);
	assert_float_equal(r->m[DIFF_INSN].b, 1200000, 1e-6);
	assert_float_equal(r->m[DIFF_EXEC].b, 600000, 1e-6);
	diff_fini(&d);
}

static void conditions_are_read(void **state)
{
	static const char *const bad[] = { "",     "instructions", "instructions > ", "instructions > 2",
		                           "> 2%", "x > 2%",       "cycles > 2%x",    "main: > 2%" };
	struct diff_limit l;

	(void)state;
	assert_int_equal(diff_limit_parse("instructions > 2%", &l), 0);
	assert_int_equal(l.measure, DIFF_INSN);
	assert_float_equal(l.change, 0.02, 1e-12);
	assert_false(l.below);
	assert_string_equal(l.function, "");
	assert_int_equal(diff_limit_parse("ns::Vec::dot: IPC<-5%", &l), 0);
	assert_string_equal(l.function, "ns::Vec::dot");
	assert_int_equal(l.measure, DIFF_IPC);
	assert_true(l.below);
	assert_float_equal(l.change, -0.05, 1e-12);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(diff_limit_parse(bad[i], &l), -SP_EUSAGE);
}

/* The whole interval must be past a limit. */
static void a_limit_is_past_when_it_is_sure(void **state)
{
	struct diff d = two_sides();
	const struct diff_row *past[1];
	struct diff_limit l;

	(void)state;
	move(&d.b.profiles[0]->funcs[0].count, 60000); /* 5%, known to 2.4% */
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	assert_int_equal(diff_limit_parse("dot: instructions > 2%", &l), 0);
	assert_int_equal(diff_limit_check(&d, &l, 0.1, past, 1), 1);
	assert_string_equal(past[0]->name, "dot(int, int)");
	assert_int_equal(diff_limit_parse("dot: instructions > 3%", &l), 0);
	assert_int_equal(diff_limit_check(&d, &l, 0.1, past, 1), 0);
	assert_int_equal(diff_limit_parse("main: instructions > 2%", &l), 0);
	assert_int_equal(diff_limit_check(&d, &l, 0.1, past, 1), 0);
	diff_fini(&d);
}

static char *text_of(const struct diff *d, enum report_format format)
{
	struct diff_opts o = { .format = format };
	char *text = NULL;
	size_t size;
	struct term term = { .f = open_memstream(&text, &size) };

	assert_int_equal(diff_print(d, &o, &term), 0);
	fclose(term.f);
	return text;
}

static void hostile_names_are_made_safe(void **state)
{
	struct diff d = two_sides();
	char *text;

	(void)state;
	d.b.profiles[0]->funcs[0].name = d.b.profiles[0]->funcs[0].linkage = "e\033[2Jvil";
	assert_int_equal(diff_make(&d, DIFF_INSN), 0);
	text = text_of(&d, REPORT_TEXT);
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "e\\x1b[2Jvil (was dot(int, int))"));
	free(text);
	text = text_of(&d, REPORT_JSON);
	assert_null(strchr(text, '\033'));
	free(text);
	diff_fini(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_of_what_ran_may_be_in_a_library),
		cmocka_unit_test(the_same_twice_can_not_be_told_apart),
		cmocka_unit_test(a_difference_has_the_noise_of_both_sides),
		cmocka_unit_test(what_takes_time_is_no_small_row),
		cmocka_unit_test(raw_counts_are_not_held_against_corrected_ones),
		cmocka_unit_test(a_pattern_of_many_rows_fails_no_more_often),
		cmocka_unit_test(samples_are_counted_as_such),
		cmocka_unit_test(what_is_unreliable_is_never_sure),
		cmocka_unit_test(runs_that_differ_widen_the_interval),
		cmocka_unit_test(of_one_run_of_real_time_nothing_is_sure),
		cmocka_unit_test(runs_of_one_side_tell_of_the_other_s),
		cmocka_unit_test(a_new_name_at_the_same_place_is_the_same_function),
		cmocka_unit_test(parameters_may_change),
		cmocka_unit_test(lines_are_paired_by_their_place_in_their_function),
		cmocka_unit_test(conditions_are_read),
		cmocka_unit_test(a_limit_is_past_when_it_is_sure),
		cmocka_unit_test(hostile_names_are_made_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
